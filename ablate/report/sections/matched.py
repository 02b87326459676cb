"""What is held equal, and by which values of the path that is changed for it."""

from ablate.report.matched_table import matched_sentence, matched_table
from ablate.report.section import Block, ReportData, Section
from ablate.report.verdicts import names_of


class Matched(
    Section,
    title="What was matched",
    needs_trials=False,
    inside="the value that gives every variant the same size, and how nearly",
):
    """One row a variant."""

    def applies(self, report_data: ReportData) -> bool:
        return "match" in report_data.facts.features

    def blocks(self, report_data: ReportData) -> list[Block]:
        return [matched_table(report_data.facts.features["match"], names_of(report_data.facts))]

    def findings(self, report_data: ReportData) -> list[str]:
        return [matched_sentence(report_data.facts.features["match"])]
