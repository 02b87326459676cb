"""The rule of a stream of tries: how often it errs on recorded losses, what it finds, what it costs."""

from functools import cache
from pathlib import Path
from statistics import stdev

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from ablate.commits.gate import FIRST, PAIRS, SHARES, State, attempt

RESULTS = Path(__file__).parents[2] / "results"
TRIES = 100


@cache
def recorded() -> list[np.ndarray]:
    """Losses of 24 runs each that differ in the seed alone: the baselines of studies that were repeated."""
    found = []
    for name in ("07-low-rank", "08-heads", "09-dropout", "10-weight-decay", "17-mlps", "18-roles"):
        both = [pd.read_parquet(RESULTS / f"atlas/{n}/trials.parquet") for n in (name, f"{name}@confirm")]
        for _, rows in pd.concat(both).query("variant == 'baseline'").groupby("task"):
            losses = -rows["test_loss"].to_numpy()
            assert len(set(losses)) == len(losses) == 24
            found.append((losses - losses.mean()) / losses.std())
    return found


class Stream:
    """Runs that are drawn from recorded losses; what is kept raises the level of all later ones."""

    def __init__(self, rng: np.random.Generator, n: int) -> None:
        self.draws = rng.choice(recorded()[n % len(recorded())], FIRST + TRIES * (1 + 2 * PAIRS)).tolist()
        first, self.level = self.runs(range(FIRST)), 0.0
        self.state = State(first, stdev(first), FIRST - 1)

    def runs(self, seeds, shift=0.0):
        return [self.draws.pop() + shift for _ in seeds]

    def verdict(self, effect: float) -> str:
        """Of a try that is worth so much."""
        tried = self.level + effect
        said, self.state = attempt(
            self.state,
            lambda seed: self.runs([seed], tried)[0],
            lambda seeds: [self.runs(seeds, self.level), self.runs(seeds, tried)],
            lambda begun: None,
        )
        self.level = tried if said["verdict"] == "keep" else self.level
        return said["verdict"]

    @property
    def a_try(self) -> float:
        """Runs that each took."""
        return 1 + 2 * PAIRS - len(self.draws) / TRIES + FIRST / TRIES


def test_shares_of_the_level_add_up_to_it():
    assert sum(SHARES) < 0.05 < sum(SHARES) + SHARES[-1] * len(SHARES) / 0.6


@pytest.mark.parametrize("streams", [200, pytest.param(2000, marks=pytest.mark.slow)])
def test_a_stream_of_tries_that_change_nothing_keeps_one_in_at_most_a_twentieth_of_streams(streams):
    rng, false, runs = np.random.default_rng(1), 0, []
    for n in range(streams):
        stream = Stream(rng, n)
        false += "keep" in [stream.verdict(0.0) for _ in range(TRIES)]
        runs.append(stream.a_try)
    assert false / streams <= 0.05 + 2.6 * (0.05 * 0.95 / streams) ** 0.5
    assert 3 <= np.mean(runs) <= 4


def test_of_changes_that_are_worth_as_many_standard_deviations_so_many_are_kept():
    rng, kept, runs = np.random.default_rng(2), {0: [], 1: [], 2: [], 3: []}, []
    for n in range(300):
        stream = Stream(rng, n)
        for effect in rng.permutation([1, 2, 3] * 5 + [0] * (TRIES - 15)):
            kept[effect].append(stream.verdict(effect) == "keep")
        runs.append(stream.a_try)
    found = [np.mean(kept[effect]) for effect in (3, 2, 1)]
    assert found == pytest.approx([0.86, 0.35, 0.03], abs=0.04)
    assert 3 <= np.mean(runs) <= 4


def test_a_confirmation_counts_from_its_start_and_is_judged_by_t_on_the_pooled_deviation():
    rng, begun = np.random.default_rng(3), []
    first = rng.normal(size=FIRST).tolist()
    state = State(first, stdev(first), FIRST - 1)
    base, tried = pairs = rng.normal(size=(2, PAIRS)).tolist()

    def said(screen, sides):
        return attempt(state, lambda seed: screen, lambda seeds: sides, begun.append)

    screened, after = said(min(first), None)
    assert (screened["verdict"], after) == ("discard", state._replace(seed=FIRST + 1 + PAIRS))
    assert (screened["alpha_left"], begun) == (0.05, [])
    found, after = said(max(first), pairs)
    assert begun == [state._replace(seed=FIRST + 1 + PAIRS, confirmations=1)]
    pooled = (np.var(first, ddof=1) * 9 + np.var(pairs, axis=1, ddof=1).sum() * 4) / 17
    assert (after.sd, after.df, after.base) == (pytest.approx(pooled**0.5), 17, first)
    t = (np.mean(tried) - np.mean(base)) / np.sqrt(pooled * 2 / PAIRS)
    assert (found["p"], found["alpha"]) == (pytest.approx(stats.t.sf(t, 17)), SHARES[0])
    assert found["alpha_left"] == pytest.approx(0.05 - SHARES[0])
    better = [value + 9 for value in base]
    kept, after = said(max(first), [base, better])
    assert (kept["verdict"], after.base) == ("keep", better)
