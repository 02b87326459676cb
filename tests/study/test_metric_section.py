"""Further metrics and aggregates in a study: what is refused, with its line."""

from collections.abc import Callable
from pathlib import Path

import pytest
from harness import TOY_STUDY

from ablate.base.errors import StudyError
from ablate.study.facts import facts_of
from ablate.study.prepare import prepare

TWO = TOY_STUDY.replace("task: {name: coin}", "tasks: [{name: coin}, {name: die}]")


@pytest.mark.parametrize(
    ("metric", "study", "said"),
    [
        ("{also: [gain]}", TWO, "also.gain: no such metric; given 'gain'; allowed: accuracy, loss"),
        ("{also: {accuracy: 0.1}}", TWO, "also.accuracy: is the primary metric"),
        ("{also: {loss: 0}}", TWO, "also.loss: must be greater than 0"),
        ("{aggregate: range}", TOY_STUDY, "aggregate: averages over tasks, and the study has one"),
        (
            "{aggregate: range}",
            TWO,
            "aggregate: cannot take the range of accuracy on coin, die, which has none",
        ),
        ("{aggregate: {coin: 1}}", TWO, "aggregate: has no unit for die"),
        ("{aggregate: {coin: 1, dye: 2}}", TWO, "aggregate.dye: is no task of the study"),
        ("{aggregate: {coin: 1, die: -2}}", TWO, "metric.aggregate.die: must be greater than 0"),
        (
            "{aggregate: mean}",
            TWO,
            "metric.aggregate: is no unit of differences; given 'mean'; allowed: range, or",
        ),
    ],
)
def test_refused(write: Callable[..., Path], metric: str, study: str, said: str) -> None:
    with pytest.raises(StudyError) as error:
        prepare(write(f"{study}metric: {metric}\n"))
    assert said in str(error.value), error.value


def test_kept(write: Callable[..., Path]) -> None:
    given = "metric: {at: last, also: [loss], aggregate: {coin: 1, die: 0.5}}\n"
    facts = facts_of(prepare(write(TWO + given)))
    assert facts.judged == {"accuracy": None, "loss": None}
    assert facts.units == {"coin": 1.0, "die": 0.5}
