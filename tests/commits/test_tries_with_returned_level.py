"""The level that is left of a ledger, against reference values, and what streams of tries keep at it."""

from dataclasses import replace

import numpy as np
import pytest
from calibration.many_streams import Runs
from calibration.one_stream import kept_by_package
from calibration.waves import p_after_keep
from scipy import stats

from ablate.analysis.level_of_tries import LevelLeft
from ablate.commits.ledger import level_left
from ablate.commits.lines import Answered, Begun, Call, Confirmation, StateLine
from ablate.commits.stream import State

CALL = Call(["train"], "loss", "", "min", [])
BASE = [0.70, 0.72, 0.69, 0.71, 0.73, 0.70, 0.68, 0.72, 0.71, 0.70]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("spread", "wave", "shares_true", "is_given"),
    [
        (1, 1, 0.0, False),
        (2, 1, 0.0, False),
        (1, 1, 0.1, False),
        (2, 1, 0.3, False),
        (1, 4, 0.0, False),
        (2, 10, 0.0, False),
        (1, 4, 0.1, False),
        (1, 1, 0.0, True),
        (2, 4, 0.1, True),
    ],
)
def test_any_false_keep_of_a_stream_is_rare(spread, wave, shares_true, is_given):
    """A try that is true gains three standard deviations."""
    rng = np.random.default_rng(60)
    num = 200
    runs = Runs.drawn(rng.standard_normal, num, spread, wave=wave)
    gains = 3.0 * (rng.random(runs.screening.shape) < shares_true)
    wrong = (kept_by_package(runs, gains, given=is_given) == 0).any(axis=1)
    assert np.mean(wrong) <= stats.binom.ppf(0.995, num, 0.05) / num


@pytest.mark.parametrize(("place", "level"), [(3, 0.00731819), (12, 0.00294643)])
def test_the_level_after_a_keep_is_that_of_the_reference(place, level):
    """A ledger whose lines are of the old rule, under which nothing returned, is judged by the new one from then on."""
    begun = State.at_start(BASE)
    lines: list[StateLine] = [Begun(4, CALL, [], "keep", "base", "base", begun)]
    for number in range(1, place + 1):
        state = replace(begun, confirmations=number)
        lines.append(Confirmation("confirm", f"try{number}", f"try{number}", state))
        verdict = "keep" if number == place else "discard"
        lines.append(answered(verdict, state, f"try{number}"))
    left = level_left(lines)
    assert (left.next_level, left.confirmations) == (pytest.approx(level, abs=5e-9), 0)
    assert left.next_level > LevelLeft().level_of(place + 1)
    after = level_left(
        [*lines, Confirmation("confirm", "other", "other", replace(begun, confirmations=place + 1))]
    )
    assert after == left.after()


def answered(verdict, state, tree):
    return Answered(
        verdict=verdict,
        difference=0.0,
        p=0.5,
        alpha=0.01,
        confirmations=state.confirmations,
        smallest_effect=1.0,
        alpha_left=0.01,
        time_ratio=None,
        changed_measures=[],
        notes=[],
        commit=tree,
        tree=tree,
        state=state,
    )


def test_of_a_wave_the_level_of_the_try_that_is_kept_returns():
    """Four confirmations, of which the second is kept: METHODS §13."""
    begun = State.at_start(BASE)
    lines: list[StateLine] = [Begun(5, CALL, [], "keep", "base", "base", begun)]
    wave = ["c", "a", "d", "b"]
    for number, tree in enumerate(["a", "b", "c", "d"], 1):
        lines.append(Confirmation("confirm", tree, tree, replace(begun, confirmations=number), wave))
    after = replace(begun, confirmations=4)
    for tree in wave:
        lines.append(answered("keep" if tree == "b" else "retest", after, tree))
    assert level_left(lines).budget == pytest.approx(0.01757869650, abs=5e-12)


def test_the_return_of_the_level_adds_to_the_power_of_a_confirmation():
    """A gain of two standard deviations after a keep at the twelfth: with and without the return."""
    before = LevelLeft().after(12)
    levels = np.array([before.after_keep(12).next_level, before.next_level])
    by_both = p_after_keep(np.random.default_rng(61), 4000, 12, gain=2.0)
    by_pooled = p_after_keep(np.random.default_rng(61), 4000, 12, gain=2.0, by_welch=False)
    assert (by_both[:, None] <= levels).mean(axis=0) == pytest.approx([0.39, 0.11], abs=0.03)
    # The power that METHODS states is that of the pooled test alone.
    assert (by_pooled[:, None] <= levels).mean(axis=0) == pytest.approx([0.64, 0.36], abs=0.03)
