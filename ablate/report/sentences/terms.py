"""Terms of a table of verdicts, for media without the guide of a page: a paper, a card, a notebook."""

from dataclasses import replace

from ablate.core.facts import StudyFacts
from ablate.core.spelling import as_sentence
from ablate.report.sentences.replication_words import replication_words
from ablate.report.tables.verdicts import names_of
from ablate.report.words import Table, message

DETECTABLE = "mde"
"""The key of the column of detectable differences."""


def detectable_meaning(facts: StudyFacts) -> str:
    """Returns what the detectable difference of a row is."""
    return message("verdicts.detectable", replication_words(facts.replication).replicate)


def with_terms(table: Table, facts: StudyFacts) -> Table:
    """Returns a table whose caption says what it calls detectable, and what a placebo is, as far as it has them."""
    sentences = [table.caption.removesuffix(".")]
    if any(column.key == DETECTABLE for column in table.columns):
        sentences.append(f"Detectable: {detectable_meaning(facts)}")
    names = names_of(facts)
    placebos = {names[variant] for variant in facts.placebos}
    names_of_rows = [row[table.columns[0].key] for row in table.rows]
    for name in dict.fromkeys(names_of_rows):
        if name in placebos:
            sentences.append(f"{as_sentence(name)}: {message('verdicts.placebo')}")
    return replace(table, caption=". ".join(sentences))
