"""A stress grid that cannot be is refused with its line, before anything trains."""

from collections.abc import Callable
from pathlib import Path

import pytest
from harness import TOY_STUDY, problems

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
    ("stress", "expected"),
    [
        (
            "{training.lr: [1e-3, 1e-2]}",
            "stress.training.lr: has too few values; given [0.001, 0.01]; allowed: at",
        ),
        ("{training.lr: [1e-3, 0, 1e-2]}", "stress.training.lr[1]: must be a number above 0; given 0"),
        ("{training.lr: [1e-3, fast, 1e-2]}", "stress.training.lr[1]: must be a number above 0; given"),
        ("{training.lr: [1e-3, .inf, 1e-2]}", "stress.training.lr[1]: must be a finite number; given inf"),
        ("{training.lr: [1e-3, true, 1e-2]}", "stress.training.lr[1]: must be a number above 0; given True"),
        ("{training.lr: [1, 1e-3, 1e-2]}", "stress.training.lr: is uneven on a log scale, from 0.01 to 1 at"),
        ("{training.lr: [1e-3, 1, 0.001, 2]}", "stress.training.lr: lists 0.001 twice"),
        ("{training.lr: 1e-3}", "stress.training.lr: must be a list; given 0.001"),
        ("[1e-3, 1e-2, 1e-1]", "stress: must be a mapping; given"),
        ("{training.lr: [1, 2, 3], training.weight_decay: [1, 2, 3]}", "stress: has more than one path"),
        ("{training.lrr: [1, 2, 3]}", "stress.training.lrr: cannot be stressed: only the learning rate can"),
        ("{training.steps: [1, 2, 3]}", "stress.training.steps: cannot be stressed: only the learning rate"),
    ],
)
def test_a_grid_that_is_none(write: Callable[..., Path], stress: str, expected: str) -> None:
    (problem,) = problems(write(STUDY + f"stress: {stress}\n"))
    assert problem.startswith(f"line 5: {expected}"), problem


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


def test_a_claim_is_not_blamed_for_a_grid_that_cannot_be(write: Callable[..., Path]) -> None:
    claims = "claims: [baseline beats placebo on lr_sensitivity]\nplacebo: on\n"
    (problem,) = problems(write(STUDY + claims + "stress: {training.lrr: [1e-3, 1e-2, 1e-1]}\n"))
    assert "stress.training.lrr: cannot be stressed" in problem


def test_a_workload_without_a_rate_cannot_be_stressed(write: Callable[..., Path]) -> None:
    (problem,) = problems(write(TOY_STUDY + "stress: {training.lr: [1, 2, 3]}\n"))
    assert (
        "stress.training.lr: cannot be stressed: only the learning rate can, of which toy names no path"
        in problem
    )


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
