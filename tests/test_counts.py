"""What a run does beside its trials, as counts: they hold on a busy machine, where times would be noise."""

import subprocess
import sys
from pathlib import Path

import pytest
from harness import prepare

from ablate.training.optimizers import AdamW

STUDY = """
name: small
task: {name: recall, vocab_size: 16, seq_len: 5, num_pairs: 2, validation_size: 64, test_size: 64}
model: {d_model: 16, num_layers: 1, mixer: {num_heads: 2}}
training: {steps: 3, batch_size: 8}
factors: {model.norm: [rms]}
seeds: 2
"""
SHIPPED = sorted((Path(__file__).parents[1] / "studies").glob("*.yaml"))
BUILT_IN = [path for path in SHIPPED if "\nworkload:" not in path.read_text()]
IMPORTED = Path(__file__).with_name("imported_before_training.txt")
ASK = """
import sys
BARE = {*sys.modules}  # Some systems load code of their own with every interpreter.
from ablate.cli import main
from ablate.core.events import Started
from ablate.execution.progress import Display

def heard(display, event):
    if isinstance(event, Started):
        print(*({*sys.modules} - BARE), file=open("modules.txt", "w"))
        raise KeyboardInterrupt

Display.__call__ = heard
main(["run", "study.yaml", "--jobs", "2"])
"""


@pytest.mark.slow
def test_the_steps_of_a_run_are_those_of_its_trials(run, monkeypatch):
    steps, step = [], AdamW.step
    monkeypatch.setattr(AdamW, "step", lambda self, *given: steps.append(self) or step(self, *given))
    run(STUDY)
    assert len(steps) == 2 * 2 * 3


@pytest.mark.slow
def test_evaluation_forwards_at_most_a_quarter_of_what_is_trained():
    """On every shipped study of built-in models; of that of budgets in its longest training."""
    for study in map(prepare, BUILT_IN):
        tasks = ["s400"] if study.config.name == "budgets" else study.tasks
        for described in (study.describe(variant)[task] for variant in study.variants for task in tasks):
            assert 0 < 4 * described.forwarded <= described.examples, study.path


@pytest.mark.slow
def test_the_driver_imports_what_is_listed_before_the_first_step(write, tracking):
    folder = write(STUDY).parent
    command = [sys.executable, "-c", ASK]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 130, done.stderr
    modules = set((folder / "modules.txt").read_text().split())
    assert not modules & {"torch._dynamo", "sympy"}, "they come with operations on the meta device"
    packages = {name.partition(".")[0] for name in modules} - sys.stdlib_module_names - {"ablate", "__main__"}
    new = {name for name in packages if name[0] != "_"} - set(IMPORTED.read_text().split())
    assert not new, (
        f"`ablate run` imports {', '.join(sorted(new))} before its first step. Import them where they are used; "
        f"if every run needs them, add them to {IMPORTED.name}, and say why in the commit."
    )
