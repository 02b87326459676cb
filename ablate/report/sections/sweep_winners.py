"""The winners of a sweep: what the search saw of them against what fresh seeds show."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from ablate.analysis.fresh import fresh, judged_as
from ablate.base import wording
from ablate.core.evidence import Evidence
from ablate.core.facts import BASELINE
from ablate.core.searched import Searched
from ablate.report import searches
from ablate.report.searches import OfSweep
from ablate.report.section import Block, Material, Section, Text
from ablate.report.tables import NOTHING, Column, Table, count, decimals, fixed, number, text

GUIDE = (
    "Mean ± standard deviation over seeds. The best of many settings looks better on the seeds that chose it than it "
    "is: the change is the same validation metric on fresh seeds minus that on tuning seeds. The verdict rests on test "
    "data of fresh seeds."
)
MAX_PATHS = 4
"Paths of a winner that a sentence names; the table has all."


class SweepWinners(OfSweep, Section):
    """A row per winner and metric that was searched for, and the baseline, which was not searched."""

    place = 500
    title = "What the sweep found"

    def blocks(self, material: Material) -> list[Block]:
        table = winner_table(searches.table(material), material.evidence)
        return [table, Text(GUIDE, aside=True)] if table else [Text(text) for text in self.findings(material)]

    def findings(self, material: Material) -> list[str]:
        searched = searches.table(material)
        chosen = searched.winners.to_dict("records")
        winner = "No setting has been chosen: there is no winner to compare with the baseline."
        if chosen:
            winner = _winner(searched, chosen, material.evidence, material.comparisons)
        return [_ended(searched), winner]


def winner_table(searched: Searched, evidence: Evidence) -> Table | None:
    """None without a winner. The change is below zero, where more is better, by the winner's curse."""
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
                    "tuning": fixed(seen, 4) if own is None else _spread(np.asarray(own, float), seen),
                    "fresh": _spread(found["validation"]),
                    "change": _change(seen, found["validation"]),
                    "test": _spread(found["test"]),
                    "n": count(len(found["test"])),
                    "setting": searches.setting(searched, row) if metric.name in row else "",
                }
            )
    return Table(columns, rows, "What the search saw of a winner, and what seeds show that chose nothing")


def _change(seen: float | None, found: np.ndarray) -> str:
    """How much more or less fresh seeds show than the search saw: −.012."""
    if seen is None or not len(found):
        return NOTHING
    difference = float(found.mean()) - seen
    shown = fixed(difference, _places(found))
    return f"+{shown}" if difference > 0 and shown.strip("0.") else shown


def _spread(values: np.ndarray, mean: float | None = None) -> str:
    """`.941 ± .006`: mean and standard deviation; `mean` where it is not that of the values that are finite."""
    known = values[np.isfinite(values)]
    mean = float(known.mean()) if mean is None and len(known) else mean
    shown = fixed(mean, _places(known))
    return (
        shown if mean is None or len(known) < 2 else f"{shown} ± {fixed(known.std(ddof=1), _places(known))}"
    )


def _places(values: np.ndarray, spread: float | None = None) -> int:
    """The digits that the standard deviation of the values supports, or `spread` where there are fewer than two."""
    half = float(values.std(ddof=1)) if len(values) > 1 else spread
    return decimals(None if half is None else -half, half)


def _ended(searched: Searched) -> str:
    """How the settings ended."""
    counts = searched.trials["status"].value_counts()
    found = []
    for status in searches.statuses(searched.trials):
        were = "was" if counts[status] == 1 else "were"
        verb = {"pruned": f"{were} pruned", "invalid": "could not be built"}.get(status, status)
        found.append(f"{counts[status]} {verb}")
    asked = searched.facts.trials
    rest = f"; {asked - len(searched.trials)} are still to be tried" if asked > len(searched.trials) else ""
    of = wording.counted(max(asked, len(searched.trials)), "setting")
    return f"Of {of}, {wording.joined(found) if found else 'none was tried'}{rest}."


def _winner(
    searched: Searched, chosen: list[dict[Any, Any]], evidence: Evidence, comparisons: pd.DataFrame
) -> str:
    """The first winner: its setting, what the search saw of it, what fresh seeds show, and its verdict."""
    row, objective = chosen[0], searched.facts.objectives[0]
    paths = [path for path in searched.paths if not searches.absent(row[path])]
    more = f", and {len(paths) - MAX_PATHS} more" if len(paths) > MAX_PATHS else ""
    values = searches.setting(searched, row, paths[:MAX_PATHS])
    first = "winner" if len(chosen) == 1 else f"first of {len(chosen)} winners"
    sentence = f"The {first} ({values}{more})"
    seen, verdict = number(row[objective.name]), _verdict(evidence, row["chosen"], comparisons)
    if objective.source in searches.MEASURED:
        found = fresh(evidence, objective, row["chosen"], "validation", row["task"])
        places = _places(found, number(row["spread"]))
        sentence += f" reached {searches.named(objective)} {fixed(seen, places)} on its tuning seeds"
        if len(found):
            ones = wording.counted(len(found), "fresh one")
            sentence += f" and {fixed(found.mean(), places)} on {ones}"
        else:
            sentence += (
                " and was trained on fresh ones" if verdict else "; it has not been trained on fresh ones yet"
            )
    else:
        sentence += f" has {searches.named(objective)} {wording.brief(float(row[objective.name]))}"
        sentence += " and was trained on fresh seeds" if verdict else ""
    if judged_as(evidence, row["chosen"]) != row["chosen"]:
        return f"{sentence}; it is the baseline itself, so that nothing is left to compare."
    return f"{sentence}{verdict}."


def _verdict(evidence: Evidence, variant: str, comparisons: pd.DataFrame) -> str:
    """The result of the comparison with the baseline; empty before there is one."""
    if not len(comparisons):
        return ""
    mine = comparisons[(comparisons["variant"] == variant) & (comparisons["metric"] == evidence.facts.metric)]
    if not len(mine) or not mine.iloc[0]["n"]:
        return ""
    row = mine.iloc[0]
    low, high = ("ci90_low", "ci90_high") if row["verdict"] == "equivalent" else ("ci_low", "ci_high")
    bounds = (row[low], row[high])
    amount = f": {wording.signed(row['diff'], bounds)} {wording.interval(bounds)}" if row["n"] > 1 else ""
    on = f"the baseline on {evidence.facts.metric}"
    joint = {"better": "than", "worse": "than", "equivalent": "to"}.get(row["verdict"])
    if joint:
        return f", where it is {row['verdict']} {joint} {on}{amount}"
    return f", where the comparison with {on} is {row['verdict']}{amount}"
