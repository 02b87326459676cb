"""The tables of a sweep: winners on fresh seeds, best settings, how all ended, and the space."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from ablate.base import wording
from ablate.core.evidence import Evidence
from ablate.core.facts import BASELINE
from ablate.core.search_table import Objective, Parameter, SearchTable
from ablate.report import search_data
from ablate.report.search_data import absent, named, value
from ablate.report.tables import NOTHING, Column, Table, count, decimals, fixed, number, text

TOP = 10
MAX_FRONT = 20
MAX_REASONS = 20
MAX_NUMBERS = 8
"Numbers of settings that a cell names."


def winner_table(searched: SearchTable, evidence: Evidence) -> Table | None:
    """What the search saw of each winner against what fresh seeds show; None without a winner.

    A row a winner and metric that was searched for, and the baseline, which was not searched. The difference is
    validation on fresh seeds minus validation on tuning seeds: below zero, where more is better, is the winner's
    curse.
    """
    chosen = searched.winners
    metrics = [o for o in searched.facts.objectives if o.source in ("validation", "own")]
    if not len(chosen) or not metrics:
        return None
    columns = [
        Column("variant", "Variant"),
        *([Column("metric", "Metric")] if len(metrics) > 1 else []),
        Column("tuning", "Validation, tuning seeds", True),
        Column("fresh", "Validation, fresh seeds", True),
        Column("change", "Change", True),
        Column("test", "Test, fresh seeds", True),
        Column("n", "Fresh seeds", True),
        Column("setting", "Setting"),
    ]
    rows = []
    for metric in metrics:
        entries: list[tuple[str, dict[str, Any]]] = [(r["chosen"], r) for r in chosen.to_dict("records")]
        for variant, row in [*entries, (BASELINE, {})]:
            task = row.get("task", chosen["task"].iloc[0])
            found = {of: fresh(evidence, metric, variant, of, task) for of in ("validation", "test")}
            seen = number(row.get(metric.name))
            own = row.get("values") if metric is searched.facts.objectives[0] else None
            rows.append(
                {
                    "variant": text(variant),
                    "metric": text(metric.name),
                    "tuning": fixed(seen, 4) if own is None else _spread(np.asarray(own, float), seen),
                    "fresh": _spread(found["validation"]),
                    "change": change(seen, found["validation"]),
                    "test": _spread(found["test"]),
                    "n": count(len(found["test"])),
                    "setting": search_data.setting(searched, row) if row else "",
                }
            )
    return Table(columns, rows)


def fresh(evidence: Evidence, metric: Objective, variant: str, of: str, task: str) -> np.ndarray:
    """The finite values of a metric on the study's own seeds, `of` validation or test data; none before training.

    Validation data count as they did for the search: at the step that is judged, a seed that diverged as guessing
    where it is known what that is worth. A `task` that the study does not name stands for all, and a winner that is
    no variant is the baseline itself.
    """
    facts, trials = evidence.facts, evidence.trials
    if task in [known.name for known in facts.tasks]:
        trials = trials[trials["task"] == task]
    trials = trials[trials["variant"] == judged_as(evidence, variant)]
    if of == "validation" and metric.source == "validation":
        values = _validation(evidence, trials, metric)
    else:
        column = facts.column if metric.name == facts.metric else metric.name
        if column not in trials:
            return np.array([])
        values = pd.to_numeric(trials[column], errors="coerce").to_numpy(float)
    return values[np.isfinite(values)]


def judged_as(evidence: Evidence, winner: str) -> str:
    """The variant that a winner is in the comparison."""
    return winner if winner in [variant.name for variant in evidence.facts.variants] else BASELINE


def _validation(evidence: Evidence, trials: pd.DataFrame, metric: Objective) -> np.ndarray:
    """A metric of each trial on validation data; NaN where it has none."""
    name = f"validation_{metric.name}"
    curves = evidence.curves[evidence.curves["metric"] == name]
    found = []
    for row in trials.to_dict("records"):
        value = metric.floor if row["status"] == "diverged" else None
        if row["status"] == "completed":
            curve = curves[curves["id"] == row["id"]].sort_values("step")
            value = number(row.get(name))
            best = curve.loc[curve["step"] == row.get("best_validation_step"), "value"]
            if evidence.facts.at == "best_validation" and len(best):
                value = float(best.iloc[0])
            elif value is None and len(curve):
                value = float(curve["value"].iloc[-1])
        found.append(np.nan if value is None else value)
    return np.array(found, float)


def change(seen: float | None, found: np.ndarray) -> str:
    """How much less or more fresh seeds show than the search saw: −.012."""
    if seen is None or not len(found):
        return NOTHING
    difference = float(found.mean()) - seen
    half = float(found.std(ddof=1)) if len(found) > 1 else float("nan")
    places = decimals(-half, half)
    shown = fixed(difference, places)
    return f"+{shown}" if difference > 0 and shown.strip("0.") else shown


def _spread(values: np.ndarray, mean: float | None = None) -> str:
    """`.941 ± .006`: mean and standard deviation; `mean` where it is not that of the values that are finite."""
    known = values[np.isfinite(values)]
    if mean is None:
        mean = float(known.mean()) if len(known) else None
    if mean is None:
        return NOTHING
    spread = float(known.std(ddof=1)) if len(known) > 1 else None
    places = decimals(None if spread is None else -spread, spread)
    return fixed(mean, places) if spread is None else f"{fixed(mean, places)} ± {fixed(spread, places)}"


def best_table(searched: SearchTable) -> Table | None:
    """The best settings: the Pareto front of several objectives, else the top ten; None where none has a value."""
    first, *others = searched.facts.objectives
    found = search_data.judged(searched, first.name)
    if others:
        found = found[found["front"].astype(bool)]
    found = found.sort_values(first.name, ascending=first.direction == "min", kind="stable")
    found = found.head(MAX_FRONT if others else TOP)
    if not len(found):
        return None
    objectives = [o for o in searched.facts.objectives if o.name not in search_data.COSTS]
    measured = next((o for o in objectives if o.source in ("validation", "own")), None)
    short = search_data.short(searched.paths)
    columns = [
        Column("number", "Setting"),
        *(Column(f"objective {o.name}", _heading(o), True) for o in objectives),
        *(Column(cost, _COSTS[cost], True) for cost in search_data.COSTS if found[cost].notna().any()),
        *(Column(f"path {p.path}", short[p.path], p.kind != "choice") for p in searched.facts.parameters),
        # What is alike in every row is said of the search.
        *([Column("seeds", "Seeds", True)] if found["seeds"].nunique() > 1 else []),
        *([Column("status", "Status")] if (found["status"] != "completed").any() else []),
    ]
    rows = []
    for row in found.to_dict("records"):
        name = f", {text(row['chosen'])}" if text(row["chosen"]) else ""
        cells = {"number": f"{int(row['number'])}{name}", "status": text(row["status"])}
        cells |= {"seeds": count(row["seeds"])} | {cost: count(row[cost]) for cost in search_data.COSTS}
        cells |= {f"path {path}": value(row[path]) or NOTHING for path in searched.paths}
        for objective in objectives:
            spread = number(row["spread"]) if objective is measured else None
            places = decimals(None if spread is None else -spread, spread)
            shown = fixed(row[objective.name], places)
            cells[f"objective {objective.name}"] = (
                shown if spread is None else f"{shown} ± {fixed(spread, places)}"
            )
        rows.append(cells)
    return Table(columns, rows)


_COSTS = {"parameters": "Parameters", "flops": "FLOPs"}


def _heading(objective: Objective) -> str:
    words = named(objective)
    return words[0].upper() + words[1:]


def status_table(searched: SearchTable) -> Table:
    """How every setting ended: a row a status and reason, so that no point of the space is left out in silence."""
    table = searched.trials
    rows = []
    for status in [*search_data.STATUSES, *sorted(set(table["status"]) - set(search_data.STATUSES))]:
        mine = table[table["status"] == status]
        reasons = mine["reason"].fillna("").map(text)
        if status == "pruned":
            reasons = reasons.where(reasons != "", _pruned(mine["pruned_at"]))
        groups = reasons.value_counts(sort=False)
        for reason in list(groups.index)[:MAX_REASONS]:
            found = mine.loc[reasons == reason, "number"]
            rows.append(_status_row(status, found, str(reason)))
        rest = mine.loc[reasons.isin(list(groups.index)[MAX_REASONS:]), "number"]
        if len(rest):
            rows.append(_status_row(status, rest, f"{len(groups) - MAX_REASONS} other reasons"))
    left = searched.facts.trials - len(table)
    if left > 0:
        rows.append(
            {
                "status": "not tried",
                "n": count(left),
                "numbers": "",
                "reason": "ablate sweep goes on with them",
            }
        )
    columns = [
        Column("status", "How it ended"),
        Column("n", "Settings", True),
        Column("numbers", "Which", words=True),
        Column("reason", "Why", words=True),
    ]
    return Table(columns, rows)


def _pruned(steps: pd.Series) -> str:
    """Where the pruner gave settings up."""
    known = sorted(pd.to_numeric(steps, errors="coerce").dropna())
    if not known:
        return "given up by the pruner"
    at = (
        f"step {count(known[0])}"
        if known[0] == known[-1]
        else f"steps {count(known[0])} to {count(known[-1])}"
    )
    return f"given up by the pruner at {at}"


def _status_row(status: str, numbers: pd.Series, reason: str) -> dict[str, str]:
    shown = ", ".join(str(int(n)) for n in sorted(numbers)[:MAX_NUMBERS])
    if len(numbers) > MAX_NUMBERS:
        shown += f" and {len(numbers) - MAX_NUMBERS} more"
    named_here = "" if status == "completed" else shown
    return {"status": text(status), "n": count(len(numbers)), "numbers": named_here, "reason": reason}


def space_table(searched: SearchTable) -> Table:
    """The space as it was searched: a row a path."""
    columns = [
        Column("path", "Path"),
        Column("kind", "Kind"),
        Column("range", "Range", words=True),
        Column("scale", "Scale"),
        Column("when", "SearchTable when"),
    ]
    rows = [
        {
            "path": text(p.path),
            "kind": p.kind,
            "range": _range(p),
            "scale": _scale(p),
            "when": text(p.when) or "always",
        }
        for p in searched.facts.parameters
    ]
    return Table(columns, rows)


def _range(parameter: Parameter) -> str:
    if parameter.kind == "choice":
        return text(", ".join(parameter.choices))
    return " to ".join(NOTHING if absent(end) else value(end) for end in (parameter.low, parameter.high))


def _scale(parameter: Parameter) -> str:
    if parameter.kind == "choice":
        return NOTHING
    step = "" if parameter.step is None else f", step {value(parameter.step)}"
    return f"{'log' if parameter.log else 'linear'}{step}"


def how_searched(searched: SearchTable) -> list[tuple[str, str]]:
    """How the search was done, as pairs of a term and its description."""
    facts = searched.facts
    turned = {"max": "more is better", "min": "less is better"}
    objectives = wording.joined([f"{named(o)} ({turned[o.direction]})" for o in facts.objectives])
    shown = ", ".join(map(str, facts.seeds[:5])) + (", …" if len(facts.seeds) > 5 else "")
    seconds = pd.to_numeric(searched.trials["train_seconds"], errors="coerce").sum()
    pairs = [
        ("Objectives" if len(facts.objectives) > 1 else "Objective", objectives),
        ("Settings", f"{len(searched.trials)} of {facts.trials} asked for, in batches of {facts.batch}"),
        ("Tuning seeds", f"{len(facts.seeds)} ({shown}); no verdict rests on them"),
        ("Sampler", facts.sampler),
        ("Pruner", facts.pruner),
        ("Training time", f"{seconds:,.0f} s in all" if seconds > 0 else ""),
        ("Optuna storage", facts.storage),
    ]
    return [(term, text(description)) for term, description in pairs if text(description)]
