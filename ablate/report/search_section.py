"""The part of a report that says what a sweep found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ablate.core.evidence import Evidence
from ablate.core.search_table import SearchTable
from ablate.report import search_data, search_tables

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Sweep:
    """What `ablate sweep` has left in a study's folder."""

    searched: SearchTable
    importances: pd.DataFrame | None = None
    "What `search.importances` makes of it; None where that was not computed."


def search_content(sweep: Sweep, evidence: Evidence) -> dict[str, Any]:
    """What the templates of the section show, beside its pictures."""
    searched = sweep.searched
    several = len(searched.facts.objectives) > 1
    reasons = [
        (f"{search_data.named(objective)}: " if several else "") + why
        for objective in searched.facts.objectives
        # What a setting costs is known: nobody asks which path explains it.
        if objective.source != "cost"
        if search_data.ranked(sweep.importances, objective.name).empty
        if (why := search_data.unjudged(searched, sweep.importances, objective.name))
    ]
    return {
        "winners": search_tables.winner_table(searched, evidence),
        "best": search_tables.best_table(searched),
        "best_caption": "The Pareto front" if several else "The best settings by what the search saw",
        "ended": search_tables.status_table(searched),
        "space": search_tables.space_table(searched),
        "how": search_tables.how_searched(searched),
        "no_importances": list(dict.fromkeys(reasons)) if sweep.importances is not None else reasons[:1],
    }
