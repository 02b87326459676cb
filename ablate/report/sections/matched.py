"""What is held equal, and by which values of the path that is changed for it."""

from ablate.core.match_facts import MatchFacts
from ablate.report.section import Block, ReportData, Section
from ablate.report.tables.matched_table import matched_sentence, matched_table
from ablate.report.tables.verdicts import names_of


class Matched(
    Section,
    title="What was matched",
    needs_trials=False,
    inside="the value that gives every variant the same size, and how nearly",
):
    """One row a variant."""

    def applies(self, report_data: ReportData) -> bool:
        return report_data.facts.of(MatchFacts) is not None

    def blocks(self, report_data: ReportData) -> list[Block]:
        match = report_data.facts.of(MatchFacts)
        return [] if match is None else [matched_table(match, names_of(report_data.facts))]

    def findings(self, report_data: ReportData) -> list[str]:
        match = report_data.facts.of(MatchFacts)
        return [] if match is None else [matched_sentence(match)]
