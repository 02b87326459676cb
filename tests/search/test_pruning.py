"""A batch pruner decides as Optuna does, asked about one setting after the other, and never by timing."""

import logging
import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import optuna
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ablate.base.registry import CATALOGUE
from ablate.base.streams import numpy_stream
from ablate.core.metric import Direction
from ablate.search.pruning import BatchPruner
from ablate.search.quiet import quiet

TRIALS = 30
STEPS = tuple(range(3, 28, 3))
Curves = list[dict[int, float]]
CATALOGUE.load_package("search")


def part(name: str, **parameters: Any) -> Any:
    config: Any = CATALOGUE.get("pruner", name).Config  # type: ignore[attr-defined]
    return config(name=name, **parameters).build()


REFERENCES: dict[str, tuple[Any, Callable[[], optuna.pruners.BasePruner]]] = {
    "median": (
        part("median", n_startup_trials=3, n_warmup_steps=6, interval_steps=6),
        lambda: optuna.pruners.MedianPruner(3, 6, 6),
    ),
    "percentile": (
        part("percentile", percentile=60.0, n_startup_trials=1, n_min_trials=2),
        lambda: optuna.pruners.PercentilePruner(60.0, 1, n_min_trials=2),
    ),
    "halving": (
        part("successive_halving", reduction_factor=3),
        lambda: optuna.pruners.SuccessiveHalvingPruner(1, 3),
    ),
    "halving late": (
        part(
            "successive_halving",
            min_resource=2,
            reduction_factor=2,
            min_early_stopping_rate=1,
            bootstrap_count=2,
        ),
        lambda: optuna.pruners.SuccessiveHalvingPruner(2, 2, 1, 2),
    ),
    "hyperband": (
        part("hyperband", min_resource=3),
        lambda: optuna.pruners.HyperbandPruner(3, STEPS[-1]),
    ),
    "wilcoxon": (part("wilcoxon", p_threshold=0.2), lambda: optuna.pruners.WilcoxonPruner(p_threshold=0.2)),
}


def drawn(seed: int, sign: int = 1, special: float | None = None) -> Curves:
    """Learning curves that differ in level and cross; with `special` numbers strewn in."""
    rng = numpy_stream(seed, "curves")
    curves = []
    for level in rng.normal(size=TRIALS):
        values = sign * (level + 0.1 * np.arange(len(STEPS)) + rng.normal(size=len(STEPS)))
        if special is not None:
            values[rng.random(len(STEPS)) < 0.2] = special
        curves.append(dict(zip(STEPS, map(float, values), strict=True)))
    return curves


def worth(values: dict[int, float]) -> float:
    """A finite value of a whole curve."""
    return float(np.mean([value for value in values.values() if math.isfinite(value)] or [0.0]))


def by_optuna(
    curves: Curves, pruner: optuna.pruners.BasePruner, direction: Direction
) -> tuple[list[list[bool]], list[dict[str, Any]]]:
    """Decisions step by step, and what the pruner keeps of each trial, of an ordinary run of Optuna."""
    decisions: list[list[bool]] = []

    def objective(trial: optuna.Trial) -> float:
        decisions.append([])
        for step, value in curves[trial.number].items():
            trial.report(value, step)
            decisions[-1].append(trial.should_prune())
            if decisions[-1][-1]:
                raise optuna.TrialPruned
        return worth(curves[trial.number])

    with quiet():
        study = optuna.create_study(
            study_name="s", direction={"max": "maximize", "min": "minimize"}[direction], pruner=pruner
        )
        study.optimize(objective, len(curves))
    return decisions, [trial.system_attrs for trial in study.trials]


def by_judge(
    curves: Curves, built: Any, direction: Direction
) -> tuple[list[list[bool]], list[dict[str, Any]]]:
    """The same with a judge for each batch of one setting."""
    decisions: list[list[bool]] = []
    kept: list[dict[str, Any]] = []
    told: list[optuna.trial.FrozenTrial] = []
    for number, curve in enumerate(curves):
        judge = BatchPruner(built.build(STEPS[-1]), direction, told, "s")
        seen, attrs, decided = {}, {}, []
        for step, value in curve.items():
            seen[step] = value
            decided.append(judge.should_prune(number, seen, attrs))
            if decided[-1]:
                break
        told.append(told_trial(number, seen, attrs, decided[-1], worth(curve)))
        decisions.append(decided)
        kept.append(attrs)
    return decisions, kept


def told_trial(
    number: int, seen: dict[int, float], attrs: dict[str, Any], pruned: bool, value: float
) -> optuna.trial.FrozenTrial:
    state = optuna.trial.TrialState.PRUNED if pruned else optuna.trial.TrialState.COMPLETE
    trial = optuna.trial.create_trial(
        state=state, value=None if pruned else value, intermediate_values=dict(seen), system_attrs=dict(attrs)
    )
    trial.number = number
    return trial


@pytest.mark.parametrize("name", REFERENCES)
@pytest.mark.parametrize("direction", ["max", "min"])
def test_the_judge_decides_as_optuna_does(name: str, direction: Direction) -> None:
    built, reference = REFERENCES[name]
    for seed in range(3):
        curves = drawn(seed, 1 if direction == "max" else -1)
        with quiet():
            expected = by_optuna(curves, reference(), direction)
        assert by_judge(curves, built, direction) == expected
        pruned = sum(decided[-1] for decided in expected[0])
        assert 0 < pruned < TRIALS


@pytest.mark.parametrize("name", REFERENCES)
@pytest.mark.parametrize("special", [math.nan, math.inf, -math.inf])
def test_numbers_that_are_none_are_judged_as_optuna_judges_them(
    name: str, special: float, recwarn: pytest.WarningsRecorder, caplog: pytest.LogCaptureFixture
) -> None:
    built, reference = REFERENCES[name]
    curves = drawn(7, special=special)
    with warnings.catch_warnings(action="ignore"):
        expected, kept = by_optuna(curves, reference(), "min")
    with caplog.at_level(logging.DEBUG, "optuna"):
        decisions, attrs = by_judge(curves, built, "min")
    assert decisions == expected
    assert attrs == kept
    assert not recwarn.list
    assert not caplog.records


def test_a_judge_says_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    by_judge(drawn(0)[:3], REFERENCES["hyperband"][0], "max")
    assert capfd.readouterr() == ("", "")


@settings(max_examples=20)
@given(
    order=st.permutations([number for number in range(4) for _ in STEPS]),
    name=st.sampled_from(list(REFERENCES)),
)
def test_settings_of_one_batch_know_nothing_of_each_other(order: list[int], name: str) -> None:
    """Their reports come in any order; each is judged as if it were alone."""
    built = REFERENCES[name][0]
    curves = drawn(11)[:12]
    told = [
        told_trial(
            number, curves[number], {"completed_rung_0": curves[number][3]}, False, worth(curves[number])
        )
        for number in range(8)
    ]

    def judge() -> BatchPruner:
        return BatchPruner(built.build(STEPS[-1]), "max", told, "s")

    alone: dict[int, list[bool]] = {}
    for number in range(8, 12):
        own, seen, attrs = judge(), {}, {}
        alone[number] = []
        for step in STEPS:
            seen[step] = curves[number][step]
            alone[number].append(own.should_prune(number, seen, attrs))
    together = judge()
    state: dict[int, tuple[dict[int, float], dict[str, Any]]] = {n: ({}, {}) for n in range(8, 12)}
    found: dict[int, list[bool]] = {n: [] for n in range(8, 12)}
    for number in (n + 8 for n in order):
        seen, attrs = state[number]
        step = STEPS[len(seen)]
        seen[step] = curves[number][step]
        found[number].append(together.should_prune(number, seen, attrs))
    assert found == alone


def test_numbers_that_were_never_told_leave_gaps() -> None:
    """Failed trials and those of other drivers have numbers too, and brackets go by the number."""
    curves = drawn(5)
    built, reference = REFERENCES["hyperband"]
    told = [
        told_trial(n, curves[n], {"completed_rung_0": curves[n][3]}, False, worth(curves[n]))
        for n in (1, 4, 9)
    ]
    judge = BatchPruner(built.build(STEPS[-1]), "max", told, "s")
    decisions = []
    for number in range(10, 30):
        first = {3: curves[number][3]}
        with quiet():
            study = optuna.create_study(study_name="s", direction="maximize", pruner=reference())
            for other in range(number):
                blank = optuna.trial.create_trial(state=optuna.trial.TrialState.FAIL)
                study.add_trial(next((trial for trial in told if trial.number == other), blank))
            trial = study.ask()
            trial.report(first[3], 3)
            expected = trial.should_prune()
        assert judge.should_prune(number, first, {}) == expected
        decisions.append(expected)
    assert set(decisions) == {True, False}


def test_a_trial_of_an_earlier_batch_is_not_judged_again() -> None:
    judge = BatchPruner(optuna.pruners.NopPruner(), "max", [told_trial(0, {1: 0.5}, {}, False, 0.5)], "s")
    with pytest.raises(ValueError, match="earlier batch"):
        judge.should_prune(0, {1: 0.5}, {})
