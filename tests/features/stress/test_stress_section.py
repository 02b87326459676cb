"""A stress grid that cannot be is refused with its line, before anything trains."""

from collections.abc import Callable
from pathlib import Path

import pytest
from harness import problems

from ablate.study.document import read_document
from ablate.study.experiment import facts_of
from ablate.study.prepare import prepare, resolved_text

STUDY = """\
name: stress
task: recall
model: {d_model: 8, num_layers: 1, mixer: {num_heads: 2}}
factors: {model.norm: [batch]}
"""


@pytest.mark.parametrize(
    ("more", "line", "where"),
    [
        ("factors: {training.lr: [1e-2]}", 4, "factors.training.lr"),
        ("variants: {fast: {training.lr: 1e-2}}", 4, "variants.fast.training.lr"),
        ("variants: {fast: {training: {lr: 1e-2, steps: 7}}}", 4, "variants.fast"),
    ],
)
def test_what_is_stressed_cannot_be_compared(
    write: Callable[..., Path], more: str, line: int, where: str
) -> None:
    text = STUDY.replace("factors: {model.norm: [batch]}", more)
    (problem,) = problems(write(text + "stress: {training.lr: [1e-3, 1e-2, 1e-1]}\n"))
    assert problem.startswith(f"line {line}: {where}: is what `stress` trains every variant over"), problem
    assert "or compare training.lr without `stress`" in problem


def test_a_grid_is_read_in_order_and_survives_the_resolved_study(write: Callable[..., Path]) -> None:
    path = write(STUDY + "stress: {training.lr: [5, 1, 2]}\n")
    experiment = prepare(path)
    assert facts_of(experiment).features["stress"] == {"training.lr": [1.0, 2.0, 5.0]}
    again = write(resolved_text(experiment, path.parent), "again.yaml")
    assert prepare(again).study.stress == experiment.study.stress
    changed = prepare(path, sets=["stress.training.lr=[1e-4, 1e-3, 1e-2]"])
    assert changed.study.stress == {"training.lr": [1e-4, 1e-3, 1e-2]}
    plain = prepare(write(STUDY, "plain.yaml"))
    text = resolved_text(plain, path.parent)
    assert "stress" not in read_document(write(text, "resolved.yaml")).data
