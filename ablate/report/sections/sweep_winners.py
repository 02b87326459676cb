"""The winners of a sweep on fresh seeds, and the best settings by what the search saw."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from ablate.base import wording
from ablate.core.evidence import Evidence
from ablate.core.facts import BASELINE
from ablate.core.search_table import Objective, SearchTable
from ablate.core.short_names import level_name
from ablate.report import searches
from ablate.report.section import Block, Folded, Material, Section, Text
from ablate.report.tables import (
    NOTHING,
    Column,
    Table,
    count,
    decimals,
    difference,
    fixed,
    number,
    plus_minus,
    short,
    text,
)

GUIDE = (
    "Mean ± standard deviation over seeds. The best of many settings looks better on the seeds that chose it than it "
    "is: the change is the same validation metric on fresh seeds minus that on tuning seeds. The verdict rests on test "
    "data of fresh seeds."
)
TOP = 10
MAX_FRONT = 20


class SweepWinners(searches.OfSweep, Section):
    """A table of the winners with the baseline, which was not searched, and a table of the best settings."""

    place = 60
    title = "What the sweep found"
    open = True

    def blocks(self, material: Material) -> Iterator[Block]:
        if winners := winner_table(searches.table(material), material.evidence):
            yield from (winners, Text(GUIDE, aside=True))
        if best := best_table(searches.table(material)):
            yield Folded(f"{best.caption.partition(';')[0]} ({len(best.rows)})", [best])

    def answers(self, material: Material) -> list[str]:
        searched = searches.table(material)
        chosen = searched.winners.to_dict("records")
        if not chosen:
            return ["No setting was chosen: there is no winner to compare with the baseline."]
        names = wording.joined([searches.named(objective) for objective in searched.facts.objectives])
        which = "best trade-offs of" if len(searched.facts.objectives) > 1 else "best"
        first = f"{wording.counted(len(searched.trials), 'setting')} tried; {which} {names} on tuning seeds:"
        return [first, *(_setting(searched, row) for row in chosen)]

    def findings(self, material: Material) -> list[str]:
        searched = searches.table(material)
        chosen = searched.winners.to_dict("records")
        found = [_winner(searched, chosen, material.evidence, material.comparisons)] if chosen else []
        return [_ended(searched), *found]


def winner_table(searched: SearchTable, evidence: Evidence) -> Table | None:
    """A row per winner and metric that was searched for, and the baseline; None without a winner.

    The change is below zero, where more is better, by the winner's curse.
    """
    chosen = searched.winners.to_dict("records")
    metrics = [o for o in searched.facts.objectives if o.source in searches.MEASURED]
    if not chosen or not metrics:
        return None
    columns = [
        Column("variant", "Variant"),
        *([Column("metric", "Metric")] if len(metrics) > 1 else []),
        Column("tuning", "Validation, tuning seeds", True),
        Column("fresh", "Validation, fresh seeds", True),
        Column("change", "Change", True),
        Column("test", "Test, fresh seeds", True),
        Column("n", "Fresh seeds", True),
        Column("setting", "Setting", below=True),
    ]
    rows = []
    for metric in metrics:
        for row in [*chosen, {"chosen": BASELINE, "task": chosen[0]["task"]}]:
            found = {
                of: fresh(evidence, metric, row["chosen"], of, row["task"]) for of in ("validation", "test")
            }
            seen = number(row.get(metric.name))
            own = row.get("values") if metric is searched.facts.objectives[0] else None
            rows.append(
                {
                    "variant": text(row["chosen"]),
                    "metric": text(metric.name),
                    "tuning": fixed(seen, 4)
                    if own is None
                    else plus_minus(seen, _summary(np.asarray(own, float))[1]),
                    "fresh": plus_minus(*_summary(found["validation"])),
                    "change": _change(seen, found["validation"]),
                    "test": plus_minus(*_summary(found["test"])),
                    "n": count(len(found["test"])),
                    "setting": searches.setting(searched, row) if metric.name in row else "",
                }
            )
    caption = "What the search saw of a winner, and what seeds show that chose nothing"
    return Table(columns, rows, caption, "sweep.parquet")


def judged_as(evidence: Evidence, winner: str) -> str:
    """The variant that a winner is in the comparison: one that is no variant is the baseline itself."""
    return winner if winner in [variant.name for variant in evidence.facts.variants] else BASELINE


def fresh(evidence: Evidence, metric: Objective, winner: str, of: str, task: str) -> np.ndarray:
    """The finite values of a metric on the study's own seeds, `of` validation or test data; none before training.

    Validation data count at the last step, and a seed that diverged as guessing where the metric says what that is. A
    `task` that the study does not name means all of them.
    """
    facts, trials = evidence.facts, evidence.trials
    if task in [known.name for known in facts.tasks]:
        trials = trials[trials["task"] == task]
    trials = trials[trials["variant"] == judged_as(evidence, winner)]
    name = facts.column_of(metric.name)
    if of == "validation" and metric.source == "validation":
        name = f"validation_{metric.name}"
        curves = (
            evidence.curves[evidence.curves["metric"] == name].astype({"step": float}).sort_values("step")
        )
        ends = curves.drop_duplicates("id", keep="last").set_index("id")["value"]
        known = trials["id"].map(ends)
        trials = trials.assign(**{name: trials[name].fillna(known) if name in trials else known})
    values = pd.to_numeric(trials.get(name, pd.Series(np.nan, trials.index)), errors="coerce").to_numpy(float)
    guessing = np.nan if metric.floor is None else metric.floor
    diverged = (trials["status"] == "diverged").to_numpy()
    values = np.where(diverged, guessing if of == "validation" else np.nan, values)
    return values[np.isfinite(values)]


def _setting(searched: SearchTable, row: dict[Any, Any]) -> str:
    """`winner: conv mixer, batch norm, lr .0026; validation accuracy .977, 15,786 parameters`."""
    values = [
        level_name(path, searches.value(row[path])) for path in searched.paths if not pd.isna(row[path])
    ]
    reached = [
        f"{count(row[objective.name])} {searches.named(objective)}"
        if objective.name in searches.COSTS
        else f"{searches.named(objective)} {fixed(row[objective.name], 3)}"
        for objective in searched.facts.objectives
    ]
    return f"{row['chosen']}: {', '.join(values)}; {', '.join(reached)}"


def _change(seen: float | None, found: np.ndarray) -> str:
    """How much more or less fresh seeds show than the search saw: −.012."""
    mean, half = _summary(found)
    if seen is None or mean is None:
        return NOTHING
    return wording.signed(mean - seen, (-(half or 0.0), half or 0.0))


def _summary(values: np.ndarray) -> tuple[float | None, float | None]:
    """Mean and standard deviation of the finite values, as far as there are any."""
    known = values[np.isfinite(values)]
    return (float(known.mean()) if len(known) else None, float(known.std(ddof=1)) if len(known) > 1 else None)


def _ended(searched: SearchTable) -> str:
    """How the settings ended."""
    counts, verbs = searched.trials["status"].value_counts(), {"invalid": "could not be built"}
    verbs["pruned"] = "was pruned" if counts.get("pruned") == 1 else "were pruned"
    found = [f"{counts[name]} {verbs.get(name, name)}" for name in searches.statuses(searched.trials)]
    asked, tried = searched.facts.trials, len(searched.trials)
    rest = f"; {asked - tried} are still to be tried" if asked > tried else ""
    of = wording.counted(max(asked, tried), "setting")
    return f"Of {of}, {wording.joined(found) if found else 'none was tried'}{rest}."


def _winner(
    searched: SearchTable, chosen: list[dict[Any, Any]], evidence: Evidence, comparisons: pd.DataFrame
) -> str:
    """The first winner: what the search saw of it, what fresh seeds show, and its verdict."""
    row, objective = chosen[0], searched.facts.objectives[0]
    sentence = "The winner" if len(chosen) == 1 else f"The first of {len(chosen)} winners"
    seen, verdict = number(row[objective.name]), _verdict(evidence, row["chosen"], comparisons)
    if objective.source in searches.MEASURED:
        found = fresh(evidence, objective, row["chosen"], "validation", row["task"])
        mean, spread = _summary(found)
        half = number(row["spread"]) if spread is None else spread
        places = decimals(None if half is None else -half, half)
        then = " and was trained on fresh ones" if verdict else "; it has not been trained on fresh ones yet"
        if len(found):
            then = f" and {fixed(mean, places)} on {wording.counted(len(found), 'fresh one')}"
        sentence += f" reached {searches.named(objective)} {fixed(seen, places)} on its tuning seeds{then}"
    else:
        sentence += f" has {searches.named(objective)} {wording.brief(float(row[objective.name]))}"
        sentence += " and was trained on fresh seeds" if verdict else ""
    if judged_as(evidence, row["chosen"]) != row["chosen"]:
        return f"{sentence}; it is the baseline itself, so that nothing is left to compare."
    return f"{sentence}{verdict}."


def _verdict(evidence: Evidence, variant: str, comparisons: pd.DataFrame) -> str:
    """The result of the comparison with the baseline; empty before there is one."""
    if comparisons.empty:
        return ""
    mine = comparisons[(comparisons["variant"] == variant) & (comparisons["metric"] == evidence.facts.metric)]
    if not len(mine) or not mine.iloc[0]["n"]:
        return ""
    row = mine.iloc[0]
    amount = f": {difference(row['diff'], row['ci_low'], row['ci_high'])}" if row["n"] > 1 else ""
    on = f"the baseline on {evidence.facts.metric}"
    joint = {"better": "than", "worse": "than", "equivalent": "to"}.get(row["verdict"])
    if joint:
        return f", where it is {row['verdict']} {joint} {on}{amount}"
    return f", where the comparison with {on} is {row['verdict']}{amount}"


def best_table(searched: SearchTable) -> Table | None:
    """The Pareto front of several objectives, or the top ten for one; None where no setting has a value."""
    first, *others = searched.facts.objectives
    found = searches.judged(searched, first.name)
    if others:
        found = found[found["front"].astype(bool)]
    found = found.sort_values(first.name, ascending=first.direction == "min", kind="stable")
    found = found.head(MAX_FRONT if others else TOP)
    if not len(found):
        return None
    objectives = [o for o in searched.facts.objectives if o.name not in searches.COSTS]
    measured = next((o for o in objectives if o.source in searches.MEASURED), None)
    names = {o.name: searches.named(o) for o in objectives}
    ends = short(searched.paths)
    columns = [
        Column("number", "Setting"),
        *(Column(f"objective {name}", words[0].upper() + words[1:], True) for name, words in names.items()),
        *(Column(cost, words, True) for cost, words in searches.COSTS.items() if found[cost].notna().any()),
        *(Column(f"path {p.path}", ends[p.path], p.kind != "choice") for p in searched.facts.parameters),
        # What is alike in every row is said of the search.
        *([Column("seeds", "Seeds", True)] if found["seeds"].nunique() > 1 else []),
        *([Column("status", "Status")] if (found["status"] != "completed").any() else []),
    ]
    rows = []
    for row in found.to_dict("records"):
        name = f", {text(row['chosen'])}" if text(row["chosen"]) else ""
        cells = {"number": f"{int(row['number'])}{name}", "status": text(row["status"])}
        cells |= {key: count(row[key]) for key in ("seeds", *searches.COSTS)}
        cells |= {f"path {path}": searches.value(row[path]) or NOTHING for path in searched.paths}
        for objective in objectives:
            spread = number(row["spread"]) if objective is measured else None
            cells[f"objective {objective.name}"] = plus_minus(number(row[objective.name]), spread)
        rows.append(cells)
    which = "The Pareto front" if others else "The best settings by what the search saw"
    return Table(columns, rows, f"{which}; mean ± standard deviation over tuning seeds", "sweep.parquet")
