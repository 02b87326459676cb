"""A study's verdicts in a notebook: frames whose columns that matter come first, and the results as HTML."""

from __future__ import annotations

import base64

import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined

from ablate.records.folder import StudyFolder
from ablate.report.summary import summary
from ablate.report.words import say

FIRST = (
    "claim",
    "variant",
    "task",
    "size",
    "metric",
    "verdict",
    "diff",
    "ratio",
    "ci_low",
    "ci_high",
    "p",
    "n",
    "reason",
)
FIGURE = "figures/forest.svg"


class Verdicts(pd.DataFrame):
    """A frame like any other; a notebook shows the columns that matter alone, to three digits, the verdict first."""

    @property
    def _constructor(self) -> type[pd.DataFrame]:
        return Verdicts

    def _repr_html_(self) -> str | None:
        plain = pd.DataFrame(self)
        first = [name for name in FIRST if name in plain.columns]
        if "verdict" not in first or not plain.columns.is_unique:
            html: str | None = plain._repr_html_()
            return html
        with pd.option_context("display.float_format", "{:.3g}".format, "display.max_colwidth", None):
            shown = plain[first].to_html(max_rows=pd.get_option("display.max_rows"), notebook=True)
        rows, columns = plain.shape
        return f"{shown}<p>{say('page.frame', rows, columns, columns - len(first))}</p>"


def html(folder: StudyFolder) -> str:
    """The question, the answer, the verdicts and their figure, and a link to the report."""
    found, figure, report = summary(folder), folder.path / FIGURE, folder.report_file
    environment = Environment(
        loader=PackageLoader("ablate.report"), autoescape=True, undefined=StrictUndefined
    )
    return environment.get_template("notebook.html.j2").render(
        question=found.question or folder.name,
        answer=found.answer,
        tables=found.tables,
        picture=base64.b64encode(figure.read_bytes()).decode() if figure.is_file() else "",
        alt=say("page.forest"),
        report=report if report.is_file() else None,
    )
