"""The answer and the verdicts of a study as a fragment of HTML, for a notebook, with all that limits them."""

from markupsafe import Markup, escape

from ablate.records.folder import StudyFolder
from ablate.report.sections.headline import in_sentences
from ablate.report.sentences.terms import with_terms
from ablate.report.terminal import summary
from ablate.report.words import Table


def as_html(folder: StudyFolder) -> str:
    """Returns the answer of a study, its verdicts and claims, and what is to be known beside them."""
    facts = folder.facts()
    parts = [Markup("<p>{}</p>").format(line) for line in folder.answer()]
    parts += [table_as_html(with_terms(table, facts)) for table in summary(folder, facts)]
    items = [Markup("<li>{}</li>").format(remark) for remark in remarks(folder)]
    if items:
        parts.append(Markup("<ul>{}</ul>").format(Markup().join(items)))
    return str(Markup().join(parts))


def as_text(folder: StudyFolder) -> str:
    """Returns the answer of a study, and what is to be known beside it, as lines."""
    return "\n".join([*folder.answer(), *(f"- {remark}" for remark in remarks(folder))])


def remarks(folder: StudyFolder) -> list[str]:
    """Returns what is to be known beside the answer: how given runs were read and compared, notes on source code.

    The cautions of a study are lines of its answer.
    """
    facts = folder.facts()
    return in_sentences([*facts.reading, *facts.code_notes], facts)


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
