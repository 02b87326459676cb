"""The answer to a study's question with its warnings; and what the verdicts rest on."""

from collections.abc import Iterator, Sequence

from ablate.analysis.learning import baseline_learned
from ablate.base.once_per import once_per_owner
from ablate.core.facts import StudyFacts
from ablate.core.spelling import as_sentence
from ablate.report.section import Block, Items, ReportData, Section, Text, applying, failed
from ablate.report.sentences.answer import answers_by_task, baseline_line
from ablate.report.sentences.limits import basis, gaps, training_warnings
from ablate.report.sentences.margin_words import claimed_margin_lines
from ablate.report.sentences.noise_words import noise_lines
from ablate.report.sentences.over_answer import answer_over_conditions
from ablate.report.sentences.repeats import repeat_lines
from ablate.report.sentences.replanned import plan_lines
from ablate.report.words import message


class Headline(Section, title="Answer", needs_trials=False):
    """The answer, the noise, and all warnings."""

    def __init__(self, below: Sequence[Section]) -> None:
        self._below = below

    def accent(self, report_data: ReportData) -> str:
        if report_data.evidence.only_measured:
            return "soft"
        tasks = baseline_learned(report_data.evidence)
        if not tasks:
            return "soft"
        return "green" if all(task.ok for task in tasks) else "orange"

    def blocks(self, report_data: ReportData) -> Iterator[Block]:
        answers = self.answers(report_data)
        if answers:
            yield Items(answers, "lead")
        if report_data.evidence.only_measured:
            yield Text(message("answer.only_timed"))
            return
        for line in noise_lines(report_data):
            yield Text(line)
        warnings = [*gaps(report_data.evidence), *self.warnings(report_data)]
        if warnings:
            yield Items(warnings, "findings")

    @once_per_owner
    def answers(self, report_data: ReportData) -> list[str]:
        """Returns a paragraph a task, then what other sections answer: those of a search, of speed."""
        over = report_data.facts.over.joins_conditions
        answers = answer_over_conditions(report_data) if over else answers_by_task(report_data)
        line = baseline_line(report_data.facts)
        if answers and line:
            answers.append(line)
        for section in applying(self._below, report_data):
            if section.applies(report_data):
                answers += section.answers(report_data)
        return answers

    @once_per_owner
    def warnings(self, report_data: ReportData) -> list[str]:
        """Returns what training, tuning and other sections warn of, cautions, and a plan changed after results."""
        warnings = [*training_warnings(report_data), *claimed_margin_lines(report_data)]
        for section in applying(self._below, report_data):
            if section.applies(report_data):
                warnings += section.warnings(report_data)
        warnings += in_sentences(report_data.facts.warnings, report_data.facts)
        return [*warnings, *plan_lines(report_data), *repeat_lines(report_data)]


class Basis(Section, title="What the verdicts rest on", inside="learning, data, tuning and looks"):
    """The findings of all sections; of runs that were given also how they were read and compared, which is seen."""

    def __init__(self, others: Sequence[Section]) -> None:
        self._others = others

    def is_open(self, report_data: ReportData) -> bool:
        return report_data.facts.is_given

    def blocks(self, report_data: ReportData) -> Iterator[Block]:
        if report_data.evidence.only_measured:
            return
        findings = [*basis(report_data)]
        for section in applying(self._others, report_data):
            try:
                if section.applies(report_data):
                    findings += section.findings(report_data)
            except Exception as error:
                yield failed(f"What “{section.title}” has found", error)
        facts = report_data.facts
        findings += in_sentences([*facts.reading, *facts.code_notes], facts)
        if findings:
            yield Items(findings, "findings")


def in_sentences(remarks: Sequence[str], facts: StudyFacts) -> list[str]:
    """Returns cautions or notes as sentences, which begin with a capital unless they begin with a name."""
    names = (*facts.labels.values(), *(variant.name for variant in facts.variants))
    sentences = []
    for remark in remarks:
        ended = f"{remark.removesuffix('.')}."
        sentences.append(ended if remark.startswith(names) else as_sentence(ended))
    return sentences
