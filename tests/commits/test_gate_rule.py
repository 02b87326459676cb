"""The rule of a stream of tries: how often it errs on recorded losses, what it finds, what it costs."""

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from committed import tried_alone
from pydantic import TypeAdapter
from scipy import stats

from ablate.analysis.level_of_tries import TOTAL_LEVEL, LevelLeft
from ablate.commits.stream import NUM_BASE_RUNS, PAIRS, Spread, State, p_of_gain, standard_errors

RESULTS = Path(__file__).parents[2] / "results"
TRIES = 100


@cache
def recorded() -> list[np.ndarray]:
    """Losses of 24 runs each that differ in the seed alone: the baselines of studies that were repeated."""
    found = []
    for name in ("additive-scores", "low-rank-on-few-images", "regularisers", "17-mlps"):
        both = [pd.read_parquet(RESULTS / f"atlas/{n}/trials.parquet") for n in (name, f"{name}@confirm")]
        for _, rows in pd.concat(both).query("variant == 'baseline'").groupby("task"):
            losses = -rows["test_loss"].to_numpy()[:24]
            assert len(set(losses)) == len(losses) == 24
            found.append((losses - losses.mean()) / losses.std())
    return found


class Stream:
    """Runs that are drawn from recorded losses; what is kept raises the level of all later ones."""

    def __init__(self, rng: np.random.Generator, n: int) -> None:
        draws = rng.choice(recorded()[n % len(recorded())], NUM_BASE_RUNS + TRIES * (1 + 2 * PAIRS))
        # Five draws of one loss are refused, as runs that ignore their seed: no two are quite the same.
        self.draws = (draws + 1e-6 * rng.standard_normal(len(draws))).tolist()
        first, self.level = self.runs(range(NUM_BASE_RUNS)), 0.0
        self.state = State.at_start(first)
        self.left = LevelLeft()

    def runs(self, seeds, shift=0.0):
        return [self.draws.pop() + shift for _ in seeds]

    def verdict(self, effect: float) -> str:
        """Of a try that is worth so much."""
        tried = self.level + effect
        said, self.state, self.left = tried_alone(
            self.state,
            self.left,
            lambda seed: self.runs([seed], tried)[0],
            lambda seeds: [self.runs(seeds, self.level), self.runs(seeds, tried)],
        )
        self.level = tried if said.verdict == "keep" else self.level
        return said.verdict

    @property
    def a_try(self) -> float:
        """Runs that each took."""
        return 1 + 2 * PAIRS - len(self.draws) / TRIES + NUM_BASE_RUNS / TRIES


@pytest.mark.slow
@pytest.mark.parametrize("streams", [200, pytest.param(2000, marks=pytest.mark.slow)])
def test_a_stream_of_tries_that_change_nothing_keeps_one_in_at_most_its_level_of_streams(streams):
    rng, false, runs = np.random.default_rng(1), 0, []
    for n in range(streams):
        stream = Stream(rng, n)
        false += "keep" in [stream.verdict(0.0) for _ in range(TRIES)]
        runs.append(stream.a_try)
    assert false / streams <= TOTAL_LEVEL + 2.6 * (TOTAL_LEVEL * (1 - TOTAL_LEVEL) / streams) ** 0.5
    assert 3 <= np.mean(runs) <= 4


@pytest.mark.slow
def test_of_changes_that_are_worth_as_many_standard_deviations_so_many_are_kept():
    rng, kept, runs = np.random.default_rng(2), {0: [], 1: [], 2: [], 3: []}, []
    for n in range(300):
        stream = Stream(rng, n)
        for effect in rng.permutation([1, 2, 3] * 5 + [0] * (TRIES - 15)):
            kept[effect].append(stream.verdict(effect) == "keep")
        runs.append(stream.a_try)
    found = [np.mean(kept[effect]) for effect in (3, 2, 1)]
    assert found == pytest.approx([0.63, 0.23, 0.02], abs=0.04)
    assert 3 <= np.mean(runs) <= 4


def test_a_confirmation_counts_from_its_start_and_is_judged_by_the_larger_p():
    rng, begun = np.random.default_rng(3), []
    first = rng.normal(size=NUM_BASE_RUNS).tolist()
    state = State.at_start(first)
    base, tried = pairs = rng.normal(size=(2, PAIRS)).tolist()

    def said(screen, sides, state=state):
        return tried_alone(state, LevelLeft(), lambda seed: screen, lambda seeds: sides, begun.append)

    screened, after, left = said(min(first), None)
    assert (screened.verdict, after) == ("discard", replace(state, seed=NUM_BASE_RUNS + 1 + PAIRS))
    assert (left, begun) == (LevelLeft(), [])
    found, after, left = said(max(first), pairs)
    assert begun == [replace(state, seed=NUM_BASE_RUNS + 1 + PAIRS, confirmations=1)]
    pooled = (np.var(first, ddof=1) * 9 + np.var(pairs, axis=1, ddof=1).sum() * 4) / 17
    own = (np.var(first, ddof=1) * 9 + np.var(base, ddof=1) * 4) / 13
    assert (after.all_runs.variance, after.all_runs.df) == (pytest.approx(pooled), 17)
    assert (after.base_runs.variance, after.base_runs.df, after.base) == (pytest.approx(own), 13, first)
    gain = np.mean(tried) - np.mean(base)
    p_pooled = stats.t.sf(gain / np.sqrt(pooled * 2 / PAIRS), 17)
    parts = np.array([own, np.var(tried, ddof=1)]) / PAIRS
    p_welch = stats.t.sf(
        gain / parts.sum() ** 0.5, parts.sum() ** 2 / (parts[0] ** 2 / 13 + parts[1] ** 2 / 4)
    )
    assert (found.p, found.alpha) == (pytest.approx(max(p_pooled, p_welch)), LevelLeft().next_level)
    assert left == LevelLeft().after()
    assert left.to_come == pytest.approx(TOTAL_LEVEL - LevelLeft().next_level)
    better = [value + 9 for value in base]
    kept, after, _ = said(max(first), [base, better])
    # What was kept has its own five runs alone, until it is confirmed against.
    assert (kept.verdict, after.base, after.base_runs) == ("keep", better, Spread.of(better))
    _, later, _ = said(99.0, pairs, after)
    assert later.base_runs.df == 8
    kept = TypeAdapter(State)
    assert kept.validate_json(kept.dump_json(later)) == later


BASE = Spread.of([0.70, 0.72, 0.69, 0.71, 0.73, 0.70, 0.68, 0.72, 0.71, 0.70])
CONFIRMED = [0.71, 0.70, 0.72, 0.69, 0.71]


@pytest.mark.parametrize(
    ("tried", "p_pooled", "t", "df", "p_welch", "last_digit"),
    [
        ([0.74, 0.75, 0.73, 0.76, 0.72], 0.000860597, 3.596231, 10.734119, 0.002180602, 1e-9),
        ([0.74, 0.80, 0.68, 0.78, 0.72], 0.0174624, 1.707310, 4.709986, 0.0760347, 1e-7),
    ],
)
def test_a_p_is_that_of_the_reference(tried, p_pooled, t, df, p_welch, last_digit):
    base, own = BASE.pooled_with(Spread.of(CONFIRMED)), Spread.of(tried)
    pooled = base.pooled_with(own)
    gain = np.mean(tried) - np.mean(CONFIRMED)
    (error, pooled_df), (welch_error, welch_df) = standard_errors(pooled, base, own)
    assert pooled_df == 17
    assert stats.t.sf(gain / error, 17) == pytest.approx(p_pooled, abs=last_digit / 2)
    assert (gain / welch_error, welch_df) == (pytest.approx(t, abs=5e-7), pytest.approx(df, abs=5e-7))
    assert p_of_gain(gain, pooled, base, own) == pytest.approx(p_welch, abs=last_digit / 2)


@pytest.mark.slow
def test_the_next_confirmation_finds_the_smallest_effect_with_a_power_of_80_percent():
    rng = np.random.default_rng(4)
    state = State([0.0] * NUM_BASE_RUNS, Spread(1.0, NUM_BASE_RUNS - 1), Spread(1.0, NUM_BASE_RUNS - 1))
    found = []
    for _ in range(4000):
        base = rng.normal(size=PAIRS).tolist()
        tried = rng.normal(state.smallest_effect(LevelLeft().next_level), 1, PAIRS).tolist()
        answer, _, _ = tried_alone(
            state, LevelLeft(), lambda seed: 9.0, lambda seeds, sides=(base, tried): sides
        )
        found.append(answer.verdict == "keep")
    assert np.mean(found) == pytest.approx(0.8, abs=0.02)
