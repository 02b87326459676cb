"""What a sweep found, in a sentence or two: for the top of the report, before the verdicts."""

from __future__ import annotations

from typing import Any

import pandas as pd

from ablate.base import wording
from ablate.core.evidence import Evidence
from ablate.core.search_table import SearchTable
from ablate.report import search_data
from ablate.report.search_tables import fresh, judged_as
from ablate.report.tables import decimals, fixed, number

MAX_PATHS = 4
"Paths of a winner that a sentence names; the table has all."


def search_headline(searched: SearchTable, evidence: Evidence, comparisons: pd.DataFrame) -> list[str]:
    """Sentences with numbers: how the settings ended, and what fresh seeds say of the winner.

    `comparisons` is what `analysis.compare` makes of `evidence`.
    """
    chosen = searched.winners
    sentences = [_ended(searched)]
    if len(chosen):
        sentences.append(_winner(searched, chosen.iloc[0].to_dict(), len(chosen), evidence, comparisons))
    else:
        sentences.append("No setting has been chosen: there is no winner to compare with the baseline.")
    return sentences


def _ended(searched: SearchTable) -> str:
    counts = searched.trials["status"].value_counts()
    order = [s for s in search_data.STATUSES if s in counts] + sorted(
        set(counts.index) - set(search_data.STATUSES)
    )
    found = []
    for status in order:
        were = "was" if counts[status] == 1 else "were"
        verb = {"pruned": f"{were} pruned", "invalid": "could not be built"}.get(status, status)
        found.append(f"{counts[status]} {verb}")
    asked = searched.facts.trials
    rest = f"; {asked - len(searched.trials)} are still to be tried" if asked > len(searched.trials) else ""
    of = wording.counted(max(asked, len(searched.trials)), "setting")
    return f"Of {of}, {wording.joined(found) if found else 'none was tried'}{rest}."


def _winner(
    searched: SearchTable, row: dict[str, Any], number_of: int, evidence: Evidence, comparisons: pd.DataFrame
) -> str:
    objective = searched.facts.objectives[0]
    paths = [path for path in searched.paths if not search_data.absent(row[path])]
    more = f", and {len(paths) - MAX_PATHS} more" if len(paths) > MAX_PATHS else ""
    values = search_data.setting(searched, row, paths[:MAX_PATHS])
    first = "winner" if number_of == 1 else f"first of {number_of} winners"
    values_seen = fresh(evidence, objective, row["chosen"], "validation", row["task"])
    seen = number(row[objective.name])
    spread = number(row["spread"])
    half = float(values_seen.std(ddof=1)) if len(values_seen) > 1 else spread
    places = decimals(None if half is None else -half, half)
    words = search_data.named(objective)
    verdict = _verdict(evidence, str(row["chosen"]), comparisons)
    measured = objective.source in ("validation", "own")
    sentence = f"The {first} ({values}{more}) {'reached' if measured else 'has'} {words} "
    sentence += fixed(seen, places) if measured else wording.brief(float(row[objective.name]))
    if measured:
        sentence += " on its tuning seeds"
    if measured and len(values_seen):
        ones = wording.counted(len(values_seen), "fresh one")
        sentence += f" and {fixed(float(values_seen.mean()), places)} on {ones}"
    if judged_as(evidence, str(row["chosen"])) != row["chosen"]:
        return f"{sentence}; it is the baseline itself, so that nothing is left to compare."
    if verdict and not (measured and len(values_seen)):
        sentence += " and was trained on fresh ones" if measured else " and was trained on fresh seeds"
    elif not len(values_seen):
        sentence += "; it has not been trained on fresh ones yet" if measured else ""
    return f"{sentence}{verdict}."


def _verdict(evidence: Evidence, variant: str, comparisons: pd.DataFrame) -> str:
    """What the comparison with the baseline says; empty before it can."""
    if not len(comparisons):
        return ""
    mine = comparisons[(comparisons["variant"] == variant) & (comparisons["metric"] == evidence.facts.metric)]
    if not len(mine) or not mine.iloc[0]["n"]:
        return ""
    row = mine.iloc[0]
    ends = ("ci90_low", "ci90_high") if row["verdict"] == "equivalent" else ("ci_low", "ci_high")
    bounds = (row[ends[0]], row[ends[1]])
    amount = f"{wording.signed(row['diff'], bounds)} {wording.interval(bounds)}" if row["n"] > 1 else ""
    on = f" on {evidence.facts.metric}"
    if row["verdict"] in ("better", "worse"):
        return f", where it is {row['verdict']} than the baseline{on}: {amount}"
    if row["verdict"] == "equivalent":
        return f", where it is equivalent to the baseline{on}: {amount}"
    return (
        f", where the comparison with the baseline{on} is {row['verdict']}{f': {amount}' if amount else ''}"
    )
