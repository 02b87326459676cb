"""The paragraph on the statistical methods of a study."""

import re

from ablate.report.page import markdown
from ablate.report.section import ReportData
from ablate.report.sentences.methods import METHODS as METHODS_OF_STAGES
from ablate.report.sentences.methods_sentences import comparison_sentences, environment_sentences
from ablate.report.sentences.replanned import plan_lines
from ablate.report.tables.verdicts import planned_rows

TITLE = "Statistical methods"


def methods(report_data: ReportData) -> str:
    """Returns the paragraph “Statistical methods”, filled in with the numbers of a study.

    Empty where the study planned no comparison and timed nothing. It cites papers of `references.bib` by
    key, as `[@akiba2019optuna]`, which pandoc reads as it stands.
    """
    measured = [methods_of(report_data.evidence) for methods_of in METHODS_OF_STAGES.values()]
    is_planned = bool(planned_rows(report_data.comparisons))
    if not is_planned and not any(measured):
        return ""
    sentences = [*comparison_sentences(report_data)] if is_planned else []
    sentences += plan_lines(report_data)
    sentences += measured
    sentences += environment_sentences(report_data.facts)
    return " ".join(filter(None, sentences))


def as_markdown(words: str) -> str:
    """Returns the paragraph with citations as pandoc reads them."""
    cited = re.sub(r"\\\[(@[a-z0-9@; ]+)\\\]", r"[\1]", markdown(words))
    return f"## {TITLE}\n\n{cited}\n"
