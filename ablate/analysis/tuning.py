"""What tuning with equal budgets shows: what each variant was given, whether it sufficed, what it changed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ablate.analysis.expected_best import Floats, best_so_far, expected_best, with_failures
from ablate.analysis.paired import NAN, Differences, sign
from ablate.analysis.runs import Runs
from ablate.base import wording
from ablate.base.errors import listed
from ablate.core.evidence import Evidence
from ablate.core.facts import Facts
from ablate.core.search_table import Objective, Parameter, SearchFacts, SearchTable

EDGE = 0.05
"""Share of a range, on its scale, that counts as its edge."""
LAST = 1 / 3
"""Share of the budget over which the best must have stopped rising."""
UNFINISHED = ("pruned", "failed", "invalid")
"""Statuses of a setting whose value, if it has one, is not that of a whole training."""
MAX_CHANGES = 8
"""As many variants a sentence names; the tables have all."""
EXPECTED, ACTUAL = "expected", "so far"
BUDGET_COLUMNS = (
    *("variant", "task", "settings", "seeds", "trainings", "diverged", "pruned", "failed", "invalid"),
    *("seconds", "best", "gain", "rising", "edges"),
)
CHANGE_COLUMNS = (
    *("variant", "task", "untuned_n", "untuned_diff", "untuned_low", "untuned_high", "untuned_verdict"),
    *("n", "diff", "ci_low", "ci_high", "verdict", "shift", "shift_low", "shift_high", "changed"),
)


@dataclass(frozen=True)
class Tuning:
    """What the report of a tuned study says beside its verdicts."""

    search: SearchFacts
    budgets: pd.DataFrame
    "See `budgets`."
    curves: pd.DataFrame
    "See `budget_curves`."
    changes: pd.DataFrame
    "See `changes`; without rows where the untuned variants were not run."
    sentences: list[str]
    "For the top of the report."


def tuning(
    searched: SearchTable,
    evidence: Evidence,
    comparisons: pd.DataFrame,
    untuned: Evidence | None = None,
    untuned_comparisons: pd.DataFrame | None = None,
) -> Tuning:
    """Everything about the tuning of a study.

    `evidence` and `comparisons` (of `compare`) are those of the tuned variants; `untuned` and `untuned_comparisons`
    those of the same variants as the study gives them, None where they were not run.
    """
    curves = budget_curves(searched, evidence.facts)
    spent = budgets(searched, evidence.facts, curves)
    changed = changes(evidence, comparisons, untuned, untuned_comparisons)
    sentences = [
        *_parity(searched.facts, spent),
        *_changed(changed),
        *_as_given(spent),
        *_edges(spent),
        *_rising(spent),
    ]
    return Tuning(searched.facts, spent, curves, changed, sentences)


def objective(searched: SearchTable) -> Objective:
    """What every variant was tuned for."""
    return searched.facts.objectives[0]


def budget_curves(searched: SearchTable, facts: Facts) -> pd.DataFrame:
    """One row a variant, task and n = 1 … N: the best of n settings on the objective, in its own units.

    Columns: variant, task, n, best, low, high, kind. Of a random search `best` is the expected best of n settings
    (Tang et al. 2020), low and high are one standard deviation of it away (Dodge et al. 2019), within the values
    found, and `kind` is `expected`. The settings of other samplers depend on each other, in their order: `best` is
    then the best of the first n, low and high are NaN, and `kind` is `so far`.

    Every setting counts. One that was pruned, failed or could not be built, or that diverged and has no value for
    that, is a draw that found nothing better: it counts as the objective's floor or, where that is lower or there is
    no floor, as the worst value found on the task. For a pruned one that is a lower bound. A search without any
    value has no rows.
    """
    target = objective(searched)
    up = -1.0 if target.direction == "min" else 1.0
    independent = searched.facts.sampler.partition("(")[0] == "random"
    frames = []
    for task in (t.name for t in facts.tasks):
        found = {v.name: up * _values(_rows(searched, v.name, task), target) for v in facts.variants}
        known = [x for values in found.values() for x in values[~np.isnan(values)]]
        worst = min([*known, *([] if target.floor is None else [up * target.floor])], default=NAN)
        for name, values in found.items():
            if np.isnan(values).all():
                continue
            values = with_failures(values, worst)
            frame = pd.DataFrame({"variant": name, "task": task, "n": np.arange(1, len(values) + 1)})
            if independent:
                best = expected_best(values)
                bounds = np.clip([best.mean - best.sd, best.mean + best.sd], values.min(), values.max())
                low, high = bounds[::1] if up > 0 else -bounds[::-1]
                frame = frame.assign(best=up * best.mean, low=low, high=high, kind=EXPECTED)
            else:
                frame = frame.assign(best=up * best_so_far(values), low=NAN, high=NAN, kind=ACTUAL)
            frames.append(frame)
    columns = ["variant", "task", "n", "best", "low", "high", "kind"]
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=columns)


def budgets(searched: SearchTable, facts: Facts, curves: pd.DataFrame) -> pd.DataFrame:
    """One row a variant and task, in the order of the study: what its search was given, and what it found.

    Columns are `BUDGET_COLUMNS` and then the searched paths, with the chosen value of each. `settings` tried;
    `seeds` asked for of each; `trainings` of all settings and seeds, of which `diverged` did; `pruned`, `failed` and
    `invalid` settings; `seconds` of training; `best`, the objective of the chosen setting. `gain`: by how much the
    best of n, `curves`, rose over the last third of the budget, oriented; `rising`: by more than the margin, which
    is not judged where none is declared. `edges`: searched path → `lower` or `upper`, where the chosen value is that
    end of its range. A placebo that was not searched for, for it is given what the baseline is given, has no row.
    """
    target = objective(searched)
    up = -1.0 if target.direction == "min" else 1.0
    found = []
    for variant in facts.variants:
        for task in (t.name for t in facts.tasks):
            rows = _rows(searched, variant.name, task)
            if variant.placebo and rows.empty:
                continue
            mine = curves[(curves["variant"] == variant.name) & (curves["task"] == task)]
            gain = _last_gain(up * mine["best"].to_numpy(float))
            chosen = rows[rows["chosen"] == variant.name].head(1)
            values = {path: _chosen(chosen, path) for path in searched.paths}
            status = rows["status"]
            found.append(
                {
                    "variant": variant.name,
                    "task": task,
                    "settings": len(rows),
                    "seeds": len(searched.facts.seeds),
                    "trainings": int(rows["seeds"].fillna(0).sum()),
                    "diverged": int(rows["diverged"].fillna(0).sum()),
                    **{name: int((status == name).sum()) for name in UNFINISHED},
                    "seconds": float(rows["train_seconds"].sum()),
                    "best": float(chosen[target.name].iloc[0]) if len(chosen) else NAN,
                    "gain": gain,
                    "rising": facts.margin is not None and gain > facts.margin,
                    "edges": {
                        p.path: side for p in searched.facts.parameters if (side := edge(p, values[p.path]))
                    },
                    **values,
                }
            )
    return pd.DataFrame(found, columns=[*BUDGET_COLUMNS, *searched.paths])


def edge(parameter: Parameter, value: object) -> str:
    """`lower` or `upper` where `value` lies in that twentieth of its range, on the scale it is searched on, or "".

    Choices have no edge; nor has a range of two values, which has nothing inside.
    """
    low, high = parameter.low, parameter.high
    if not isinstance(value, int | float | np.number) or low is None or high is None:
        return ""
    step = parameter.step or (1.0 if parameter.kind == "int" else 0.0)
    if step and high - low < 2 * step:
        return ""
    scale = math.log if parameter.log else float
    place = (scale(float(value)) - scale(low)) / (scale(high) - scale(low))
    if place <= EDGE:
        return "lower"
    # With a step the highest value may lie below the end of the range.
    top = scale(low + math.floor((high - low) / step + 1e-9) * step) if step else scale(high)
    reach = (top - scale(low)) / (scale(high) - scale(low))
    return "upper" if place >= reach - EDGE else ""


def changes(
    evidence: Evidence,
    comparisons: pd.DataFrame,
    untuned: Evidence | None,
    untuned_comparisons: pd.DataFrame | None,
) -> pd.DataFrame:
    """One row a confirmatory comparison on the primary metric that the untuned variants have too.

    Columns are `CHANGE_COLUMNS`: number of pairs, difference, 95 % interval and verdict, untuned and tuned. `shift`
    is the mean over the seeds that both have of the difference once tuned less the untuned one, with its 95 % t
    interval: a verdict that has changed does not by itself show that the difference has.
    """
    if untuned is None or untuned_comparisons is None:
        return pd.DataFrame(columns=list(CHANGE_COLUMNS))
    facts = evidence.facts
    before_of = {
        (row["variant"], row["task"]): row
        for row in untuned_comparisons.to_dict("records")
        if row["metric"] == facts.metric
    }
    runs = Runs(evidence), Runs(untuned)
    rows = []
    for row in comparisons[~comparisons["exploratory"].astype(bool)].to_dict("records"):
        before = before_of.get((row["variant"], row["task"]))
        if before is None or not before["n"] + before["diverged"] + before["baseline_diverged"]:
            continue
        shift = _shift(*runs, row["variant"], row["task"])
        low, high = shift.interval()
        rows.append(
            {
                **{
                    name: row[name]
                    for name in ("variant", "task", "n", "diff", "ci_low", "ci_high", "verdict")
                },
                **{f"untuned_{name}": before[name] for name in ("n", "diff", "verdict")},
                "untuned_low": before["ci_low"],
                "untuned_high": before["ci_high"],
                "shift": shift.mean,
                "shift_low": low,
                "shift_high": high,
                "changed": before["verdict"] != row["verdict"],
            }
        )
    return pd.DataFrame(rows, columns=list(CHANGE_COLUMNS))


def _shift(tuned: Runs, untuned: Runs, variant: str, task: str) -> Differences:
    facts = tuned.facts
    metric = next(t for t in facts.tasks if t.name == task).metrics[facts.metric]
    oriented = []
    for runs in (tuned, untuned):
        a, b = (runs.values(name, task, facts.metric) for name in (variant, facts.variants[0].name))
        oriented.append(dict(zip(runs.seeds, sign(metric) * (a - b), strict=True)))
    pairs = [(after, oriented[1].get(seed, NAN)) for seed, after in oriented[0].items()]
    known = np.array([pair for pair in pairs if not np.isnan(pair).any()]).reshape(-1, 2)
    return Differences.between(known[:, 0], known[:, 1], metric.resolution)


def _rows(searched: SearchTable, variant: str, task: str) -> pd.DataFrame:
    """The settings of one search, in the order in which they were asked for."""
    trials = searched.trials
    mine = trials[(trials["variant"] == variant) & (trials["task"] == task)]
    return mine.sort_values("number", kind="stable")


def _values(rows: pd.DataFrame, target: Objective) -> Floats:
    """The objective of each setting (N,); NaN where it was not trained to its end, or has none."""
    values = pd.to_numeric(rows[target.name], errors="coerce").to_numpy(float, na_value=np.nan)
    unfinished = rows["status"].isin(UNFINISHED).to_numpy(bool)
    return np.where(np.isfinite(values) & ~unfinished, values, np.nan)


def _chosen(row: pd.DataFrame, path: str) -> object:
    """The chosen value of a path; None where nothing was chosen, or the path is not searched."""
    value = row[path].iloc[0] if len(row) else None
    return None if value is None or value != value else value


def _last_gain(best: Floats) -> float:
    """By how much the best of n rose over the last third of n = 1 … N; NaN for fewer than three."""
    last = math.ceil(len(best) * LAST)
    return float(best[-1] - best[-1 - last]) if len(best) > 2 else NAN


# Sentences


def _parity(search: SearchFacts, spent: pd.DataFrame) -> list[str]:
    """Whether every variant was given the same."""
    if spent.empty:
        return []
    tasks = spent["task"].nunique()
    of_each = (
        f"{wording.counted(search.trials, 'setting')} × {wording.counted(len(search.seeds), 'tuning seed')}"
    )
    paths = wording.joined([parameter.path for parameter in search.parameters])
    pruner = "" if search.pruner == "none" else f", pruner {search.pruner}"
    where = f" on each of {tasks} tasks" if tasks > 1 else ""
    planned = f"{of_each}{where} over {paths} (sampler {search.sampler}{pruner})"
    total = int(spent["trainings"].sum())
    ended = f"{wording.counted(total, 'training')} in all{_lost(spent)}"
    if spent["settings"].nunique() > 1:
        found = "; ".join(
            f"{wording.counted(int(str(n)), 'setting')} for {_names(rows)}"
            for n, rows in spent.groupby("settings")
        )
        return [f"Not every variant was tuned with the same budget: {found}, of {planned}; {ended}."]
    settings = int(spent["settings"].iloc[0])
    short = "" if settings == search.trials else f", of which {settings} were tried"
    if spent["trainings"].nunique() > 1:
        few, many = spent["trainings"].min(), spent["trainings"].max()
        return [
            f"Every variant was tuned with as many settings, not with as many trainings: {planned}{short}; from "
            f"{few} to {many} trainings of a variant, {ended}."
        ]
    return [f"Every variant was tuned with the same budget: {planned}{short}; {ended}."]


def _lost(spent: pd.DataFrame) -> str:
    """`, of which 3 diverged; 2 settings failed`."""
    diverged = int(spent["diverged"].sum())
    words = [f", of which {diverged} diverged" if diverged else ""]
    for status, verb in (("pruned", "were pruned"), ("failed", "failed"), ("invalid", "could not be built")):
        count = int(spent[status].sum())
        if count:
            verb = "was pruned" if (count, status) == (1, "pruned") else verb
            names = "" if status == "pruned" else f" ({_names(spent[spent[status] > 0])})"
            words.append(f"; {wording.counted(count, 'setting')} {verb}{names}")
    return "".join(words)


def _names(rows: pd.DataFrame) -> str:
    return listed(dict.fromkeys(rows["variant"]))


def _changed(changed: pd.DataFrame) -> list[str]:
    """How many verdicts tuning changed, and which."""
    if changed.empty:
        return []
    differing = changed[changed["changed"].astype(bool)]
    if differing.empty:
        of = "the verdict" if len(changed) == 1 else f"any of {len(changed)} verdicts"
        return [f"Tuning did not change {of}."]
    several = changed["task"].nunique() > 1
    words = [_in_words(row, several=several) for row in differing.to_dict("records")]
    count = wording.share(len(differing), len(changed))
    shown = (
        words if len(words) <= MAX_CHANGES else [*words[:MAX_CHANGES], f"and {len(words) - MAX_CHANGES} more"]
    )
    verdicts = "verdict" if len(changed) == 1 else "verdicts"
    return [f"Tuning changed {count} {verdicts}, with 95 % intervals: {'; '.join(shown)}."]


def _in_words(row: Mapping[Any, Any], *, several: bool) -> str:
    """`norm=batch was worse (−.031 [−.040, −.022]) and is inconclusive once tuned (…)`, for a row of `changes`."""
    name = f"{row['variant']} on {row['task']}" if several else row["variant"]
    before = _result(row["untuned_diff"], row["untuned_low"], row["untuned_high"])
    after = _result(row["diff"], row["ci_low"], row["ci_high"])
    return f"{name} was {row['untuned_verdict']}{before} and is {row['verdict']} once tuned{after}"


def _result(diff: float, low: float, high: float) -> str:
    if math.isnan(low):
        return ""
    return f" ({wording.signed(diff, (low, high))} {wording.interval((low, high))})"


def _as_given(spent: pd.DataFrame) -> list[str]:
    """Of which variants settings were tried and none could be chosen."""
    rows = spent[spent["best"].isna() & (spent["settings"] > 0)]
    if rows.empty:
        return []
    several = spent["task"].nunique() > 1
    names = [
        f"{row['variant']} on {row['task']}" if several else row["variant"] for row in rows.to_dict("records")
    ]
    return [
        f"Judged as the study gives it, for no setting that was tried has a value: {listed(names, MAX_CHANGES)}."
    ]


def _edges(spent: pd.DataFrame) -> list[str]:
    """Which chosen values lie at an edge of what was searched."""
    several = spent["task"].nunique() > 1
    found: dict[tuple[str, str], list[str]] = {}
    for row in spent.to_dict("records"):
        for path, side in row["edges"].items():
            name = f"{row['variant']} on {row['task']}" if several else row["variant"]
            found.setdefault((path, side), []).append(f"{name} ({wording.exact(float(f'{row[path]:.3g}'))})")
    return [
        f"The best {path} lies at the {side} edge of the space, which may be too narrow: {listed(names, MAX_CHANGES)}."
        for (path, side), names in found.items()
    ]


def _rising(spent: pd.DataFrame) -> list[str]:
    """Where more settings would probably have found better ones."""
    rows = spent[spent["rising"].astype(bool)]
    if rows.empty:
        return []
    several = spent["task"].nunique() > 1
    words = [
        f"{row['variant']}{' on ' + row['task'] if several else ''} (+{_digits(row['gain'])} over the last "
        f"{math.ceil(row['settings'] * LAST)} of {row['settings']} settings)"
        for row in rows.to_dict("records")
    ]
    return [
        "The budget may be too small, the best was still rising by more than the margin when it ended: "
        f"{listed(words, MAX_CHANGES)}."
    ]


def _digits(value: float) -> str:
    return wording.number(value, wording.decimals(value))
