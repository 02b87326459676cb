"""The report of runs that exist, and the evidence card."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

from ablate.base.errors import Gather
from ablate.base.files import write_text
from ablate.base.locks import Say
from ablate.base.text import printable
from ablate.core import names
from ablate.core.facts import Evidence
from ablate.core.other_looks import EarlierCalls
from ablate.pipeline.judging import judge_evidence, verdicts_of
from ablate.pipeline.reporter import write_report
from ablate.records.folder import StudyFolder
from ablate.report.page import markdown, markdown_table
from ablate.report.sentences.terms import with_terms
from ablate.report.terminal import summary
from ablate.report.words import message
from ablate.runs.evidence import evidence_of
from ablate.runs.looks import ledger
from ablate.runs.looks.calls import call_in, differences
from ablate.runs.looks.ledger import Analysis, verdicts_in
from ablate.runs.looks.study_reports import reports_of_studies
from ablate.runs.reading import RunTable

_CARD = "card.md"


def name_after(runs: str) -> str:
    """Returns the name of the report of RUNS: of a file or folder its own, of a server its host and port.

    >>> name_after("out/runs.csv"), name_after("http://me:secret@host:5000/"), name_after("sqlite:///mlflow.db")
    ('runs', 'host-5000', 'mlflow')
    """
    address = urlsplit(runs)
    name = address.netloc.rpartition("@")[2] or Path(runs).stem
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name)


def folder_for(results: Path, name: str | None, runs: str) -> StudyFolder:
    """Returns the folder of the report of RUNS by its name; without one beside a study that has the name of RUNS."""
    folder = StudyFolder(results, name or name_after(runs))
    if name is None and _is_of_a_study(folder):
        return StudyFolder(results, f"{folder.name}-analysed")
    return folder


def judge(folder: StudyFolder, table: RunTable, source: str, say: Say, warn: Say) -> StudyFolder:
    """Writes the report of runs, and `card.md`: the verdicts and their evidence, to paste; returns its folder.

    A call that differs from the one whose report has its name reports beside it, and says so. source: RUNS as the call
    has it; empty of a DataFrame. Raises `AblateError`.
    """
    evidence = _evidence_of(table, folder)  # What is refused leaves nothing behind.
    with ledger.opened(folder.results, say) as kept:
        now = ledger.line_of(table, evidence, source=source)
        place = _place(folder, now, kept.lines)
        if place.name != folder.name:
            say(
                message(
                    "analyse.reports_beside", ",".join(names.differences(place.name)), folder.path, place.path
                )
            )
        earlier = _earlier_calls(now, kept.lines, table, folder.results, source)
        _save_evidence(place, evidence, earlier)
        write_report(place, warn)
        write_text(place.path / _CARD, printable(_card(place)))
        line = replace(
            now,
            report=place.name,
            date=place.facts().reported,
            verdicts=verdicts_in(place),
            level=ledger.level_of(earlier.choices),
        )
        last = ledger.last_of(place.name, kept.lines)
        if last is None or not _is_kept_as(last, line):
            kept.add(line)
    return place


def _is_kept_as(last: Analysis, line: Analysis) -> bool:
    """Returns whether a line of the ledger says all that another would, by which its runs are known again, too."""
    return last.looked_as(line) and last.read_as(line) and last.verdicts == line.verdicts


def judge_without_page(folder: StudyFolder, table: RunTable, source: str) -> None:
    """Writes the evidence and verdicts of runs, for Python, which draws when it is asked. Raises `AblateError`."""
    kept = ledger.OF_THIS_PROCESS
    evidence = _evidence_of(table, folder)
    now = ledger.line_of(table, evidence, source=source)
    earlier = _earlier_calls(now, kept.lines, table, folder.results, source)
    _save_evidence(folder, evidence, earlier)
    verdicts = verdicts_of(judge_evidence(folder), folder)
    folder.save_verdicts(verdicts.tables, verdicts.answer)
    kept.add(replace(now, verdicts=verdicts_in(folder), level=ledger.level_of(earlier.choices)))


def _earlier_calls(
    now: Analysis, lines: Sequence[Analysis], table: RunTable, results: Path, source: str
) -> EarlierCalls:
    """Returns the earlier analyses of the runs of one: those of the ledger, and the reports of studies."""
    reports = reports_of_studies(now, lines, results, source)
    return ledger.earlier_calls(now, [*lines, *reports], table.kept_runs)


def _place(folder: StudyFolder, now: Analysis, lines: Sequence[Analysis]) -> StudyFolder:
    """Returns the folder of the report of a call: the one of its name, unless that has the report of another call."""
    facts = folder.reported_facts()
    if facts is None:
        return folder
    held = ledger.last_of(folder.name, lines)
    if held is not None:
        return StudyFolder(folder.results, names.beside(folder.name, ledger.call_differences(held, now)))
    # The ledger was removed, or the report is older than ledgers are.
    told = call_in(facts)
    asked = {name: value for name, value in now.call.items() if name in told or name == "margin"}
    return StudyFolder(folder.results, names.beside(folder.name, differences(told, asked)))


def _evidence_of(table: RunTable, folder: StudyFolder) -> Evidence:
    """Returns the evidence of a report. Raises `AblateError`, also where its name is none, or that of a study."""
    is_name = re.fullmatch(names.OWN, folder.name) and folder.name not in names.RESERVED
    with Gather() as at:
        at.refuse(
            not is_name or _is_of_a_study(folder),
            "--name",
            "must be the name of a new report, or of one of runs that exist",
            folder.name,
            "letters, digits, `.`, `_`, `-`",
        )
    return evidence_of(table, table.options.metrics(), table.options, folder.name)


def _save_evidence(folder: StudyFolder, evidence: Evidence, earlier: EarlierCalls) -> None:
    """Writes the evidence of a report. Raises `AblateError`."""
    facts = replace(evidence.facts, study=folder.name, earlier_calls=earlier)
    folder.save_evidence(replace(evidence, facts=facts))
    folder.write_claims([])  # Those of an earlier call are none of this one.


def _is_of_a_study(folder: StudyFolder) -> bool:
    """Returns whether a folder is there and is not one of runs that exist, which is written anew."""
    if not folder.path.exists():
        return False
    facts = folder.reported_facts()
    if facts is None:  # That of another version, or an edited one, is told by its card.
        return not (folder.path / _CARD).is_file()
    return not facts.is_given


def _card(folder: StudyFolder) -> str:
    """Returns the verdicts with their evidence as markdown."""
    facts = folder.facts()
    parts = [f"### {markdown(facts.question)}"]
    parts += [markdown(line) for line in folder.answer()]
    tables = [with_terms(table, facts) for table in summary(folder, facts)]
    parts += [f"{markdown_table(table)}\n\n{markdown(table.caption)}." for table in tables]
    parts += [f"- {markdown(caution)}" for caution in facts.cautions]
    parts.append(f"<sub>`{facts.environment['command']}`, {facts.reported[:10]}</sub>\n")
    return "\n\n".join(parts)
