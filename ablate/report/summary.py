"""What page, terminal, MLflow and notebooks show alike: question, answer, noise floor, verdicts, claims.

Read from the files of a report without pandas and torch, so that a run that finds everything done answers at once.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass
from functools import partial

from ablate.core.feature import features
from ablate.core.short_names import short_claim
from ablate.records.folder import StudyFolder
from ablate.report.tables import Table, text
from ablate.report.verdicts import claim_table, level_of, names_of, verdict_tables
from ablate.report.words import say

FIGURE = "figures/forest.svg"


@dataclass(frozen=True)
class Summary:
    """The first screen of a report: the answer with the noise floor; verdicts, claims and what features measured."""

    question: str
    answer: list[str]
    tables: list[Table]


def summary(folder: StudyFolder, *, measured: bool = False) -> Summary:
    """Of the last report, or its tables of claims and measurements alone. Raises `AblateError` where there is none."""
    comparisons, facts = folder.comparisons(), folder.facts()
    names, judged = names_of(facts), [row for row in folder.claims() if text(row["verdict"])]
    tables = [] if measured else [*verdict_tables(comparisons, names, facts.rate)]
    claim = partial(short_claim, facts=facts)
    tables += [claim_table(judged, claim, names, level_of(comparisons))] if judged else []
    for feature in features():
        tables += feature.brief(folder.beside(f"{feature.name}.csv"), names)
    return Summary(facts.question, [] if measured else folder.answer(), tables)


def html(folder: StudyFolder) -> str:
    """For a notebook: the question, the answer, the verdicts and their figure, and a link to the report."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    found, figure, report = summary(folder), folder.path / FIGURE, folder.report_file
    environment = Environment(
        loader=PackageLoader("ablate.report"), autoescape=True, undefined=StrictUndefined
    )
    return environment.get_template("notebook.html.j2").render(
        found=found,
        study=folder.name,
        picture=base64.b64encode(figure.read_bytes()).decode() if figure.is_file() else "",
        alt=say("page.forest"),
        report=report if report.is_file() else None,
    )
