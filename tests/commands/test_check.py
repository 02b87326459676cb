"""Plugins that cheat or break in one way each: refused before training, and named by `ablate check`."""

import re
import textwrap
from pathlib import Path

import pytest
from harness import ablate_here, prepare

from ablate.base.errors import StudyError
from ablate.base.registry import CATALOGUE
from ablate.commands._task_contract import check_task
from ablate.models.reference import settings_for

CATALOGUE.load_builtin()
HEAD = """
import random
import numpy as np
import torch
from torch import nn
from ablate import register
from ablate.components.activations import Activation
from ablate.components.feedforward import FeedForward
from ablate.components.mixer import Mixer
from ablate.components.norms import Norm
from ablate.components.positions import Position
from ablate.components.scores import ScaledDot
from ablate.components.values import Full
from ablate.components.weightings import Softmax

@register("{slot}", "bad")
class Bad({base}):
    '''Does not do what it says.'''
    {states}
"""
LINE = 1 + HEAD.splitlines().index('@register("{slot}", "bad")')
BASES = {
    "mixer": "Mixer", "norm": "Norm", "activation": "Activation", "feedforward": "FeedForward",
    "position": "Position", "score": "ScaledDot", "value": "Full", "weighting": "Softmax",
}  # fmt: skip
STATES = {
    "mixer": "causal = padding = any_length = True; attends = False",
    "norm": "neutral = reads_batch = False",
    "activation": "neutral = gated = False",
    "feedforward": "",
    "position": "neutral = any_length = inside_attention = False",
    "score": "joins_widths = False",
    "value": "reads_keys = False",
    "weighting": "fused = False; reads_scores = True",
}
PATHS = {
    "activation": "feedforward.activation",
    "score": "mixer.score",
    "value": "mixer.value",
    "weighting": "mixer.weighting",
}


def forward(result: str, names: str = "x, position, mask=None") -> str:
    return f"def forward(self, {names}):\n    return {result}\n"


WITH_GAIN = """def __init__(self, config, sizes):
    super().__init__(config, sizes)
    self.weight = nn.Parameter(torch.empty(()))
def initialise(self, draw):
    self.weight.zero_()
"""
COUNTS = (
    forward("x.roll(self.count(), 2)")
    + "calls = 0\ndef count(self):\n    self.calls += 1\n    return self.calls\n"
)
LAST = (
    forward("x + self.swap(x)")
    + "last = 0\ndef swap(self, x):\n    self.last, last = x.flip(2), self.last\n    return last\n"
)
PARTS = {
    "next token": ("mixer", forward("x.roll(-1, 1)"), "declares causal, but output 0 depends on input 1"),
    "backward sum": ("mixer", forward("x.flip(1).cumsum(1).flip(1)"), "declares causal"),
    "sees ahead once it has learned": ("mixer", WITH_GAIN + forward("self.weight * x.roll(-1, 1)"), "declares causal"),
    "sees ahead without a gradient": ("mixer", forward("x + x.roll(-1, 1).detach()"), "declares causal"),
    "sees ahead when evaluated": ("mixer", forward("x if self.training else x.roll(-1, 1)"), "declares causal"),
    "mean of the batch": ("mixer", forward("x.mean(0, keepdim=True).expand_as(x)"), "`batch`: example"),
    "mean of the batch in training": ("feedforward", forward("x - x.mean(0) * self.training", "x"), "in training"),
    "statistic of the batch when evaluated": (
        "norm", "reads_batch = True\n" + forward("(x - x.mean(0)) / x.std(0)", "x, real=None"), "`batch`: example",
    ),
    "norm over positions": ("norm", forward("x - x.mean(1, keepdim=True)", "x, real=None"), "`causal`: output"),
    "random when evaluated": ("activation", forward("x + torch.randn(())", "x, gate=None"), "`repeat`: two calls"),
    "random of numpy": ("mixer", forward("x * np.random.rand()"), "`repeat`: two calls"),
    "counts its calls": ("mixer", COUNTS, "`repeat`: two calls"),
    "remembers the last call": ("mixer", LAST, "`repeat`: two calls"),
    "a parameter that nothing reads": ("mixer", WITH_GAIN + forward("x"), "`gradient`: parameter weight has none"),
    "not a number": ("activation", forward("x.sqrt()", "x, gate=None"), "`finite`: outputs are nan"),
    "one position for all": ("mixer", forward("x[:, :1]"), "`shape`: torch.float32"),
    "half precision": ("feedforward", forward("x.half()", "x"), "becomes torch.float16"),
    "shape of a score": (
        "score", "inner = lambda self, q, k: None\n" + "logits = lambda self, q, k: q.sum(-1)\n", "`shape`: the model",
    ),
    "score of the next key": (
        "score", "def inner(self, q, k):\n    return q, k.roll(-1, 2), 1.0\n", "`causal`: output",
    ),
    "value of all positions": ("value", forward("self.projection(x.cumsum(1).flip(1))", "x"), "`causal`: output"),
    "weights of others": (
        "weighting", forward("a.softmax(-1).mean(0, True).expand_as(a)", "a"), "`batch`: example",
    ),
    "embeds the mean": ("position", "embed = lambda self, x, start=0: x + x.mean(1, True)\n", "`causal`: output"),
    "raises": ("mixer", forward("x @ nothing"), "NameError: name 'nothing' is not defined"),
}  # fmt: skip
STUDY = """
name: s
plugins: [bad.py]
task: {{name: recall, vocab_size: 16, seq_len: 5}}
model: {{d_model: 16, topology: decoder}}
factors: {{model.{path}: [bad]}}
"""


def written(folder: Path, slot: str, body: str) -> Path:
    file = folder / "bad.py"
    file.write_text(
        HEAD.format(slot=slot, base=BASES[slot], states=STATES[slot]) + textwrap.indent(body, "    ")
    )
    return file


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize(("slot", "body", "told"), PARTS.values(), ids=PARTS)
def test_a_part_that_cheats_is_refused_with_its_line(slot, body, told, tmp_path, monkeypatch):
    """Before training, and by `ablate check`."""
    monkeypatch.chdir(tmp_path)
    lines = written(tmp_path, slot, body).read_text().splitlines()
    study = tmp_path / "s.yaml"
    study.write_text(STUDY.format(path=PATHS.get(slot, slot)))
    with pytest.raises(StudyError) as caught:
        prepare(study)
    (problem,) = caught.value.problems
    called = [number for number, text in enumerate(lines, 1) if "def forward" in text]
    line = f"(bad.py:{max(called, default=LINE) + ('NameError' in told)})"
    assert told in problem.rule
    assert line in problem.rule
    assert problem.line == 6
    done = ablate_here("check", "bad.py", cwd=tmp_path)
    assert done.returncode == 2
    assert any(told in text and line in text for text in done.stdout.splitlines())


@pytest.mark.slow
def test_a_study_asks_a_part_for_what_it_needs_alone(tmp_path):
    """A mixer that knows neither padding nor later positions, in an encoder; one sound model is probed once."""
    written(tmp_path, "mixer", forward("x - x.mean(1, True)"))
    study = tmp_path / "s.yaml"
    study.write_text(STUDY.format(path="mixer").replace("decoder", "encoder"))
    assert len(prepare(study).variants) == 2
    assert ablate_here("check", "bad.py", cwd=tmp_path).returncode == 2


def test_a_part_that_states_a_word_is_refused_with_its_line(tmp_path, monkeypatch):
    """A text is true for Python, also where it says `off`."""
    monkeypatch.chdir(tmp_path)
    written(tmp_path, "activation", 'gated = "off"\n' + forward("x.relu()", "x"))
    study = tmp_path / "s.yaml"
    study.write_text(STUDY.format(path=PATHS["activation"]))
    rule = f"bad breaks the rule `states`: `gated` is 'off', and must be True or False (bad.py:{LINE})"
    with pytest.raises(StudyError, match=re.escape(rule)):
        prepare(study)


def test_of_two_parts_the_one_that_is_new_is_suspected(tmp_path, monkeypatch):
    """Each in a file of its own; the baseline's, which comes first in the alphabet, is sound."""
    monkeypatch.chdir(tmp_path)
    written(tmp_path, "mixer", forward("x.roll(1, 2)")).rename(tmp_path / "all.py")
    (tmp_path / "all.py").write_text((tmp_path / "all.py").read_text().replace('"bad"', '"all"'))
    written(tmp_path, "norm", forward("x - x.mean(1, True)", "x, real=None"))
    study = tmp_path / "s.yaml"
    given = STUDY.format(path="norm").replace("[bad.py]", "[all.py, bad.py]")
    study.write_text(given.replace("topology", "mixer: all, position: none, topology"))
    with pytest.raises(
        StudyError, match=rf"norm\[0\]: bad breaks the rule `causal`: .* \(bad.py:{LINE + 4}\)"
    ):
        prepare(study)


@pytest.mark.slow
def test_built_in_parts_are_not_probed_before_a_run(tmp_path, monkeypatch):
    monkeypatch.setattr("ablate.models.contract.build_model", None)
    study = tmp_path / "s.yaml"
    study.write_text(STUDY.format(path="norm").replace("bad]", "rms]").replace("plugins: [bad.py]\n", ""))
    assert len(prepare(study).variants) == 2


TASK = """
import numpy as np
import torch
from ablate import register
from ablate.core.metric import Metric, Sampling
from ablate.core.signature import Signature
from ablate.tasks.generated import Generated
from ablate.tasks.task import Batch, Classification

@register("task", "bad")
class Bad(Generated, Classification):
    class Config(Generated.Config):
        test_size: int = 300
    outcome = "graded"
    def __init__(self, config):
        self.config = config
        self.signature = Signature(6, 4, vocab_size=5)
        self.set_metrics(num_classes=4, num_test=config.test_size, solved=0.9)
        self.set_support(5**6)
    def examples(self, generator, count):
        tokens = torch.from_numpy(generator.integers(5, size=(count, 6)))
        return Batch(tokens, tokens[:, 0] % 4)
"""


def first(line: str) -> tuple[str, str]:
    """A line before those of the class."""
    return "    outcome", f"    {line}\n    outcome"


def last(line: str) -> tuple[str, str]:
    """A line at the end of the constructor."""
    return "5**6)", f"5**6)\n        {line}"


TASKS = {
    "one seed for all": (
        *first("train_batches = lambda self, seed, *a: Generated.train_batches(self, 0, *a)"), "`seeds`",
    ),
    "no seed": ("generator.integers", "np.random.default_rng().integers", "`repeat`"),
    "tests on what it trains on": (
        *first("split = lambda self, seed, name, device: next(self.train_batches(seed, 300, device))"), "`apart`",
    ),
    "targets beyond the outputs": (" % 4)", ")", "`fits`: no model"),
    "tokens beyond the vocabulary": ("vocab_size=5", "vocab_size=3", "`fits`: no model"),
    "shorter than it says": ("Signature(6", "Signature(5", "`fits`: no model"),
    "other metrics": (*last("self.metrics = {'f1': Metric('max')}"), "`measure`"),
    "fewer test examples": (*last("self.sampling = Sampling('fresh', 3000)"), "`measure`"),
    "floor above the ceiling": (*last("self.metrics['loss'] = Metric('max', floor=1, ceiling=0)"), "`solved`"),
    "nothing that is solved": ("solved=0.9", "solved=None", "`solved`"),
    "no outcome": ('    outcome = "graded"\n', "", "must declare `outcome`"),
    "a setting that it lacks": ("config.test_size", "config.size", "`builds`"),
}  # fmt: skip
TASK_LINE = 1 + TASK.splitlines().index('@register("task", "bad")')
WORKLOADS = {
    "no seed": ("x = numpy_stream(", "import random\n        x = random.random() * numpy_stream(", "`repeat`"),
    "one seed for all": ("numpy_stream(trial.seed,", "numpy_stream(0,", "`seeds`"),
    "a metric that no trial has": ('metrics = {"loss"', 'metrics = {"los"', "`metrics`"),
    "raises": ("x -= training", "x -= 1 / 0 + training", "ZeroDivisionError"),
}  # fmt: skip
PARABOLA = (Path(__file__).parents[1] / "parabola.py").read_text().replace('"parabola"', '"bad"')
WORKLOAD_LINE = 1 + PARABOLA.splitlines().index('@register("workload", "bad")')
OTHERS = [("task", TASK, TASK_LINE, *case) for case in TASKS.values()]
OTHERS += [("workload", PARABOLA, WORKLOAD_LINE, *case) for case in WORKLOADS.values()]


@pytest.mark.parametrize(("slot", "text", "line", "old", "new", "told"), OTHERS, ids=[*TASKS, *WORKLOADS])
def test_a_task_or_workload_that_cheats_is_named_with_its_line(slot, text, line, old, new, told, tmp_path):
    assert old in text
    changed = text.replace(old, new).replace("graded", "all_or_nothing" if "None" in new else "graded")
    (tmp_path / "bad.py").write_text(changed)
    done = ablate_here("check", "bad.py", cwd=tmp_path)
    assert done.returncode == 2
    assert any(told in found and f"(bad.py:{line})" in found for found in done.stdout.splitlines()), (
        done.stdout
    )


@pytest.mark.parametrize(("slot", "text"), [("task", TASK), ("workload", PARABOLA)])
def test_a_sound_plugin_has_a_line_for_each_rule(slot, text, tmp_path):
    (tmp_path / "bad.py").write_text(text)
    done = ablate_here("check", "bad.py", cwd=tmp_path)
    assert done.returncode == 0
    assert len(done.stdout.splitlines()) == {"task": 6, "workload": 3}[slot]
    assert all(
        found.startswith(f"{slot} bad ") and found.endswith(" holds") for found in done.stdout.splitlines()
    )


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize("name", CATALOGUE.names("task"))
def test_built_in_tasks_pass(name):
    if settings_for(CATALOGUE.get("task", name).Config):
        pytest.skip("it reads a user's file")
    assert {rule: text for rule, text in check_task(CATALOGUE.get("task", name)).items() if text} == {}
