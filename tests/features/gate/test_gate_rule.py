"""The rule of a stream of tries: how often it errs on recorded losses, what it finds, what it costs."""

from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from ablate.features.gate.rule import FIRST, PAIRS, decide, share, start

RESULTS = Path(__file__).parents[3] / "results"
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


def stream(rng: np.random.Generator, losses: np.ndarray, effects: np.ndarray) -> tuple[list[str], int]:
    """What is said of each try of a stream whose base never changes for the better but by `effects`, and the runs."""
    draws = rng.choice(losses, FIRST + len(effects) * (1 + 2 * PAIRS))
    state, at, said, level = start(draws[:FIRST].tolist()), FIRST, [], 0.0
    for effect in effects:
        screen = draws[at] + level + effect
        decision, state = decide(begun := state, screen)
        at += 1
        if decision.verdict == "confirm":
            tried, base = draws[at : at + PAIRS] + level + effect, draws[at + PAIRS : at + 2 * PAIRS] + level
            at += 2 * PAIRS
            decision, state = decide(begun, screen, tried.tolist(), base.tolist())
        level += effect if decision.verdict == "keep" else 0.0
        said.append(decision.verdict)
    return said, at


def test_shares_of_the_level_add_up_to_it():
    first = sum(map(share, range(1, 10**5)))
    assert 0.05 - share(10**5) * 10**5 / 0.6 * 1.001 < first < 0.05


@pytest.mark.parametrize("streams", [200, pytest.param(2000, marks=pytest.mark.slow)])
def test_a_stream_of_tries_that_change_nothing_keeps_one_in_at_most_a_twentieth_of_streams(streams):
    rng = np.random.default_rng(1)
    found = [stream(rng, recorded()[i % len(recorded())], np.zeros(TRIES)) for i in range(streams)]
    false = np.mean(["keep" in said for said, _ in found])
    assert false <= 0.05 + 2.6 * (0.05 * 0.95 / streams) ** 0.5
    assert 3 <= np.mean([runs for _, runs in found]) / TRIES <= 4


def test_of_changes_that_are_worth_as_many_standard_deviations_so_many_are_kept():
    rng, kept, runs = np.random.default_rng(2), {0: [], 1: [], 2: [], 3: []}, 0
    for i in range(300):
        effects = rng.permutation([1, 2, 3] * 5 + [0] * (TRIES - 15))
        said, took = stream(rng, recorded()[i % len(recorded())], effects)
        runs += took
        for effect, one in zip(effects, said, strict=True):
            kept[effect].append(one == "keep")
    found = [np.mean(kept[effect]) for effect in (3, 2, 1)]
    assert found == pytest.approx([0.86, 0.35, 0.03], abs=0.04)
    assert 3 <= runs / 300 / TRIES <= 4


def test_what_is_left_and_what_can_be_seen_shrink_with_each_confirmation():
    rng = np.random.default_rng(3)
    state = start(rng.normal(size=FIRST).tolist())
    assert state.left == 0.05
    screened, after = decide(state, max(state.base))
    assert (screened.verdict, after.confirmations) == ("confirm", 1)
    assert after.left == pytest.approx(0.05 - share(1))
    assert after.smallest > state.smallest
    same = list(state.base[:PAIRS])
    refused, after = decide(state, max(state.base), same, same)
    assert (refused.verdict, refused.difference, refused.p, refused.alpha) == ("discard", 0.0, 0.5, share(1))
    assert (after.df, after.confirmations) == (FIRST - 1 + 2 * (PAIRS - 1), 1)
    kept, after = decide(state, max(state.base), [value + 9 for value in same], same)
    assert (kept.verdict, after.base) == ("keep", [value + 9 for value in same])
    t = rng.normal(size=(2, PAIRS))
    pooled = (np.var(state.base, ddof=1) * 9 + np.var(t, axis=1, ddof=1).sum() * 4) / 17
    found, _ = decide(state, max(state.base), *t.tolist())
    expected = (t[0].mean() - t[1].mean()) / np.sqrt(pooled * 2 / PAIRS)
    assert found.p == pytest.approx(stats.t.sf(expected, 17))
