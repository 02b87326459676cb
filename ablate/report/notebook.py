"""The answer and the verdicts of a study as a fragment of HTML, for a notebook."""

from markupsafe import Markup, escape

from ablate.records.folder import StudyFolder
from ablate.report.terminal import summary
from ablate.report.words import Table


def as_html(folder: StudyFolder) -> str:
    """Returns the answer of a study, its verdicts and its claims."""
    parts = [Markup("<p>{}</p>").format(line) for line in folder.answer()]
    parts += [table_as_html(table) for table in summary(folder)]
    return str(Markup().join(parts))


def table_as_html(table: Table) -> Markup:
    """Returns a table with its caption; what stands below a row has a row of its own."""
    columns = [column for column in table.columns if not column.below]
    notes = [column for column in table.columns if column.below]
    heads = Markup().join(Markup("<th>{}</th>").format(column.heading) for column in columns)
    rows = [Markup("<tr>{}</tr>").format(heads)]
    for row in table.rows:
        cells = Markup().join(Markup("<td>{}</td>").format(row[column.key]) for column in columns)
        rows.append(Markup("<tr>{}</tr>").format(cells))
        for column in notes:
            if row[column.key]:
                note = Markup('<tr><td colspan="{}"><small>{}</small></td></tr>')
                rows.append(note.format(len(columns), row[column.key]))
    caption = Markup("<caption>{}</caption>").format(escape(table.caption)) if table.caption else Markup()
    return Markup("<table>{}{}</table>").format(caption, Markup().join(rows))
