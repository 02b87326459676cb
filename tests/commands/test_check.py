"""Plugins that cheat or break in one way each: refused before training, and named by `ablate check`."""

import textwrap
from pathlib import Path

import pytest

from ablate.base.errors import StudyError
from ablate.study.prepare import prepare

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
"""
LINE = 1 + HEAD.splitlines().index('@register("{slot}", "bad")')
BASES = {
    "mixer": "Mixer", "norm": "Norm", "activation": "Activation", "feedforward": "FeedForward",
    "position": "Position", "score": "ScaledDot", "value": "Full", "weighting": "Softmax",
}  # fmt: skip
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
        "weighting", "fused = False\n" + forward("a.softmax(-1).mean(0, True).expand_as(a)", "a"), "`batch`: example",
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
    file.write_text(HEAD.format(slot=slot, base=BASES[slot]) + textwrap.indent(body, "    "))
    return file


@pytest.mark.parametrize(("slot", "body", "told"), PARTS.values(), ids=PARTS)
def test_a_part_that_cheats_is_refused_with_its_line(slot, body, told, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    written(tmp_path, slot, body)
    study = tmp_path / "s.yaml"
    study.write_text(STUDY.format(path=PATHS.get(slot, slot)))
    with pytest.raises(StudyError) as caught:
        prepare(study)
    (problem,) = caught.value.problems
    assert told in problem.rule
    assert f"(bad.py:{LINE + (4 if 'NameError' in told else 0)})" in problem.rule
    assert problem.line == 6
