"""Two reports that are compared: what is read of each, what it was made with, and which rows and settings differ."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ablate.base.errors import AblateError
from ablate.base.passwords import masked
from ablate.base.wording import counted, decimals, joined
from ablate.core.evidence import Evidence
from ablate.core.facts import Facts
from ablate.records.folder import StudyFolder
from ablate.report.tables import NOTHING
from ablate.report.verdicts import planned_rows
from ablate.study.document import read_document

Row = Mapping[str, Any]
NUMBERS = ("mean_variant", "mean_baseline", "diff", "ci_low", "ci_high")
"""The columns that a comparison is compared by, where a row has them."""
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
            if not (comparisons or evidence.only_measured) and len(evidence.facts.variants) > 1:
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


@dataclass(frozen=True)
class Pair:
    """One comparison, or one claim, in both."""

    a: Row
    b: Row

    @property
    def verdict_changed(self) -> bool:
        """Whether the verdicts differ."""
        return bool(self.a["verdict"] != self.b["verdict"])

    @property
    def numbers_changed(self) -> bool:
        """Whether a number differs by more than half a unit of the last digit that the wider interval leaves."""
        numbers = [(value(self.a, name), value(self.b, name)) for name in NUMBERS]
        places = min(decimals((value(row, "ci_high") - value(row, "ci_low")) / 2) for row in (self.a, self.b))
        return any(math.isnan(a) != math.isnan(b) or abs(a - b) > 0.5 * 10.0**-places for a, b in numbers)

    @property
    def apart(self) -> bool | None:
        """Whether the 95 % intervals have no point in common; None where one is missing."""
        low, high = (max, "ci_low"), (min, "ci_high")
        highest, lowest = (pick(value(self.a, name), value(self.b, name)) for pick, name in (low, high))
        known = [value(row, name) for row in (self.a, self.b) for _, name in (low, high)]
        return None if any(map(math.isnan, known)) else highest > lowest


def value(row: Row, name: str) -> float:
    """A number of a row that may hold text; NaN where it has none."""
    return float(row.get(name) or math.nan)


def matched(
    a: Iterable[Row], b: Iterable[Row], key: Sequence[str]
) -> tuple[list[Pair], list[Row], list[Row]]:
    """The rows that both have, by the columns of `key`, in the order of the first; those of one alone."""
    rows = [{tuple(row[name] for name in key): row for row in each} for each in (a, b)]
    both = [Pair(row, rows[1][found]) for found, row in rows[0].items() if found in rows[1]]
    only = [[row for found, row in mine.items() if found not in other] for mine, other in (rows, rows[::-1])]
    return both, only[0], only[1]


def settings(a: Mapping[str, Any], b: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """Path → the values of two resolved studies where they differ; `MISSING` where one has no such path."""
    flat = flattened(a), flattened(b)
    paths = dict.fromkeys([*flat[0], *flat[1]])
    found = {path: (flat[0].get(path, MISSING), flat[1].get(path, MISSING)) for path in paths}
    return {path: values for path, values in found.items() if values[0] != values[1]}


MISSING = object()
"""What a study has where it has no such path."""


def flattened(data: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Dotted path → what is there; lists are whole."""
    found: dict[str, Any] = {}
    for key, item in data.items():
        if isinstance(item, Mapping) and item:
            found |= flattened(item, f"{prefix}{key}.")
        else:
            found[f"{prefix}{key}"] = item
    return found


def seeds_in_words(seeds: Sequence[int]) -> str:
    """`8 (0 to 7)`, `3 (0, 3, 7)`."""
    ordered = sorted(seeds)
    if len(ordered) > 2 and ordered[-1] - ordered[0] == len(ordered) - 1:
        return f"{len(ordered)} ({ordered[0]} to {ordered[-1]})"
    return f"{len(ordered)} ({', '.join(map(str, ordered))})"
