"""One of two reports that are compared: what is read of it, and what it was made with."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from typing import Any

from ablate.analysis.changes import NUMBERS, seeds_in_words, value
from ablate.base.errors import AblateError
from ablate.base.passwords import masked
from ablate.base.wording import counted, joined
from ablate.core.evidence import Evidence
from ablate.core.facts import Facts
from ablate.records.folder import StudyFolder
from ablate.report.tables import NOTHING
from ablate.report.verdicts import planned_rows
from ablate.study.document import read_document

PLACE = ("variant", "task", "metric")
"""The columns that name a comparison."""


@dataclass(frozen=True)
class Side:
    """One of the two reports."""

    folder: StudyFolder
    evidence: Evidence
    comparisons: list[dict[str, str]]
    claims: list[dict[str, str]]
    "Those that were judged."
    settings: dict[str, Any]

    @classmethod
    def of(cls, folder: StudyFolder) -> Side:
        """From the folder alone. Raises `AblateError` where it holds no report that can be read."""
        evidence = folder.evidence()
        claims = [row for row in folder.claims() if row["verdict"]]
        try:
            comparisons = folder.comparisons()
            if not (comparisons or evidence.only_timed) and len(evidence.facts.variants) > 1:
                raise ValueError("there are none")
            if any(not row.keys() >= {*PLACE, "verdict", "exploratory"} for row in comparisons):
                raise ValueError("a column is missing")
            for row in (*comparisons, *claims):
                [value(row, name) for name in NUMBERS]
        except (ValueError, csv.Error) as error:
            raise AblateError(
                f"{folder.path}: its verdicts cannot be read ({error}); write them again with `ablate report`"
            ) from None
        resolved = read_document(folder.study_file).data if folder.study_file.is_file() else {}
        return cls(folder, evidence, comparisons, claims, resolved)

    @property
    def facts(self) -> Facts:
        """The facts of the study."""
        return self.evidence.facts

    @property
    def family(self) -> int:
        """The number of planned comparisons."""
        return len(planned_rows(self.comparisons))

    def __str__(self) -> str:
        facts = self.facts
        parts = [str(self.folder.path), f"seeds {seeds_in_words(facts.seeds)}"]
        parts += [counted(len(self.evidence.trials), "trial")]
        parts += [f"with {joined(facts.differs)}"] if facts.differs else []
        parts += [f"reported {facts.reported[:16].replace('T', ' ')}"] if facts.reported else []
        return "; ".join(parts)

    @property
    def origin(self) -> dict[str, str]:
        """What the run was made with, in words: seeds, command, commit, machine and versions."""
        known = self.facts.environment
        changes = ", with changes" if known.get("dirty") else ""
        return {
            "seeds": seeds_in_words(self.facts.seeds),
            "command": masked(str(known.get("command", NOTHING))),
            "commit": str(known.get("commit") or NOTHING)[:10] + changes,
            **{key: str(known[key]) for key in ("device", "machine") if known.get(key)},
            **{str(name): str(version) for name, version in dict(known.get("versions") or {}).items()},
        }
