"""A study's verdicts in a notebook: frames whose columns that matter come first, and the results as HTML."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from html import escape

import pandas as pd

from ablate.records.folder import StudyFolder
from ablate.report.summary import summary
from ablate.report.tables import Table
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
NUMBER, TEXT = "text-align: right; white-space: nowrap", "text-align: left"


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
    return "".join(_pieces(folder))


def _pieces(folder: StudyFolder) -> Iterator[str]:
    found = summary(folder)
    yield f"<h4>{escape(found.question or folder.name)}</h4>"
    yield from (f"<p><b>{escape(line)}</b></p>" for line in found.answer)
    yield from map(_table, found.tables)
    figure = folder.path / FIGURE
    if figure.is_file():
        # As an image, so that its styles stay its own.
        source = f"data:image/svg+xml;base64,{base64.b64encode(figure.read_bytes()).decode()}"
        yield f'<p><img alt="{say("page.forest")}" style="max-width: 100%" src="{source}"/></p>'
    if folder.report_file.is_file():
        yield f'<p><a href="{escape(folder.report_file.as_posix())}">{escape(str(folder.report_file))}</a></p>'


def _table(table: Table) -> str:
    heads = "".join(f"<th>{escape(column.heading)}</th>" for column in table.columns)
    rows = [
        "".join(
            f'<td style="{NUMBER if column.numeric else TEXT}">{escape(row[column.key])}</td>'
            for column in table.columns
        )
        for row in table.rows
    ]
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    return (
        f"<p>{escape(table.caption)}</p><table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>"
    )
