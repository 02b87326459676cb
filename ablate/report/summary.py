"""What page, terminal, markdown, MLflow and notebooks show alike: question, answer, noise floor, verdicts, claims.

Read from the files of a report without pandas and torch, so that a run that finds everything done answers at once.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from ablate.base.errors import AblateError
from ablate.core.feature import features
from ablate.core.short_names import short_claim
from ablate.records.folder import StudyFolder
from ablate.report.tables import Table, text
from ablate.report.verdicts import Names, claim_table, level_of, names_of, verdict_tables


@dataclass(frozen=True)
class Summary:
    """The first screen of a report."""

    question: str
    answer: list[str]
    "With the noise floor."
    tables: list[Table]
    "Verdicts, claims, and what features have measured."


def summary(folder: StudyFolder, *, measured: bool = False) -> Summary:
    """Of the last report, or its tables of claims and measurements alone. Raises `AblateError` where there is none."""
    comparisons, question, at = folder.comparisons(), "", ""
    names: Names = {row["variant"]: row["variant"] for row in comparisons}
    claim: Callable[[str], str] = str
    with suppress(AblateError):  # of facts that cannot be read, variants have their own names
        facts = folder.facts()
        question, names, at = facts.question, names_of(facts), facts.rate
        claim = partial(short_claim, facts=facts)
    judged = [row for row in folder.claims() if text(row["verdict"])]
    tables = [] if measured else [*verdict_tables(comparisons, names, at)]
    tables += [claim_table(judged, claim, names, level_of(comparisons))] if judged else []
    for feature in features():
        tables += feature.brief(folder.beside(f"{feature.name}.csv"), names)
    if measured:
        return Summary(question, [], tables)
    return Summary(question, folder.answer(), tables)
