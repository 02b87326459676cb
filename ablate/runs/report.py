"""The report of runs that exist, and the evidence card."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import urlsplit

from ablate.base.errors import Gather
from ablate.base.files import write_text
from ablate.base.locks import Say
from ablate.base.text import printable
from ablate.core import names
from ablate.pipeline.publish import Verdicts, make_report, publish
from ablate.records.folder import StudyFolder
from ablate.report.page import markdown, markdown_table
from ablate.report.terminal import summary
from ablate.report.terms import with_terms
from ablate.runs.evidence import evidence_of
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


def judge(folder: StudyFolder, table: RunTable, warn: Say) -> None:
    """Writes the report of runs, and `card.md`: the verdicts and their evidence, to paste. Raises `AblateError`."""
    _save_evidence(folder, table)
    publish(folder, warn)
    write_text(folder.path / _CARD, printable(_card(folder)))


def judge_without_page(folder: StudyFolder, table: RunTable) -> None:
    """Writes the evidence and verdicts of runs, for Python, which draws when it is asked. Raises `AblateError`."""
    _save_evidence(folder, table)
    for part in make_report(folder):
        if isinstance(part, Verdicts):
            folder.save_verdicts(part.tables, part.answer)
            return


def _save_evidence(folder: StudyFolder, table: RunTable) -> None:
    """Writes the evidence of a report. Raises `AblateError`, also where its name is that of a study."""
    is_name = re.fullmatch(names.OWN, folder.name) and folder.name not in names.RESERVED
    with Gather() as at:
        at.refuse(
            not is_name or _is_of_a_study(folder),
            "--name",
            "must be the name of a new report, or of one of runs that exist",
            folder.name,
            "letters, digits, `.`, `_`, `-`",
        )
    evidence = evidence_of(table, table.options.metrics(), table.options, folder.name)
    folder.save_evidence(evidence)
    folder.write_claims([])  # Those of an earlier call are none of this one.


def _is_of_a_study(folder: StudyFolder) -> bool:
    """Returns whether a folder is there and is not one of runs that exist, which is written anew."""
    if not folder.path.exists():
        return False
    facts = folder.reported_facts()
    if facts is None:  # That of another version, or an edited one, is told by its card.
        return not (folder.path / _CARD).is_file()
    return not facts.given


def _card(folder: StudyFolder) -> str:
    """Returns the verdicts with their evidence as markdown."""
    facts = folder.facts()
    parts = [f"### {markdown(facts.question)}"]
    parts += [markdown(line) for line in folder.answer()]
    tables = [with_terms(table, facts) for table in summary(folder)]
    parts += [f"{markdown_table(table)}\n\n{markdown(table.caption)}." for table in tables]
    parts += [f"- {markdown(caution)}" for caution in facts.cautions]
    parts.append(f"<sub>`{facts.environment['command']}`, {facts.reported[:10]}</sub>\n")
    return "\n\n".join(parts)
