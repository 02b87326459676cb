"""The reports that `ablate diff` compares, read from their folders, and the rows that both have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from ablate.base.errors import AblateError
from ablate.base.wording import joined, seeds_in_words
from ablate.core.facts import Evidence, StudyFacts
from ablate.core.short_names import short_claim
from ablate.records.folder import StudyFolder
from ablate.report.tables.directions import direction_of, own_direction
from ablate.report.tables.verdicts import names_of, row_name
from ablate.report.words import NOTHING, Row, decimals, difference, fixed, message, number, text
from ablate.study.document import read_document

# Keys of a study that are words about it, or are compared by themselves.
NO_SETTINGS = ("name", "question", "notes", "labels", "claims", "seeds", "resources")


@dataclass(frozen=True)
class Side:
    """A report that is compared with another."""

    folder: StudyFolder
    evidence: Evidence
    comparisons: Sequence[Row]
    # Those that were judged.
    claims: Sequence[Row]

    @property
    def seeds(self) -> str:
        """The seeds of the report, in words."""
        return seeds_in_words(self.evidence.facts.seeds)

    def settings(self) -> dict[str, Any]:
        """Returns the settings of the study as it was run: dotted path → value, lists whole."""
        file = self.folder.study_file
        document = read_document(file).data if file.is_file() else {}
        data = {key: value for key, value in document.items() if key not in NO_SETTINGS}
        if not data:
            return {}
        settings: dict[str, Any] = pd.json_normalize(data).astype(object).iloc[0].to_dict()
        return settings

    def origin(self) -> dict[str, str]:
        """Returns what the run was made with, in words: seeds, command, commit, machine and versions."""
        environment = self.evidence.facts.environment
        origin = {"seeds": self.seeds, "command": environment.get("command", NOTHING)}
        origin["commit"] = _commit(environment, "")
        if environment.get("ablate_commit"):
            origin["commit of ablate"] = _commit(environment, "ablate_")
        for key in ("device", "machine"):
            if environment.get(key):
                origin[key] = environment[key]
        origin |= environment.get("versions") or {}
        return {name: str(value) for name, value in origin.items()}

    def __str__(self) -> str:
        facts = self.evidence.facts
        reported = facts.reported[:16].replace("T", " ")
        differs = joined(facts.plan.differs) if facts.plan.differs else ""
        words = message("diff.side", self.seeds, len(self.evidence.trials), differs, reported)
        return f"{self.folder.path}; {words}"


def _commit(environment: Mapping[str, Any], prefix: str) -> str:
    """Returns a commit in words, that of the code or, under the prefix `ablate_`, that of ablate."""
    commit = str(environment.get(f"{prefix}commit") or NOTHING)[:10]
    return f"{commit}, with changes" if environment.get(f"{prefix}dirty") else commit


@dataclass(frozen=True)
class Pair:
    """A comparison, or a claim, in both reports."""

    a: Row
    b: Row

    @property
    def verdict_changed(self) -> bool:
        """True where the verdicts differ."""
        return bool(self.a["verdict"] != self.b["verdict"])

    @property
    def numbers_changed(self) -> bool:
        """True where a number differs in the digits that its interval leaves."""
        return {**cells(self.a), "verdict": ""} != {**cells(self.b), "verdict": ""}

    @property
    def apart(self) -> bool | None:
        """True where the intervals have no point in common; None where one is missing."""
        lows: list[float] = []
        highs: list[float] = []
        for row in (self.a, self.b):
            low = number(row.get("ci_low"))
            high = number(row.get("ci_high"))
            if low is None or high is None:
                return None
            lows.append(low)
            highs.append(high)
        return max(lows) > min(highs)


@dataclass(frozen=True)
class Matched:
    """The rows of two reports."""

    pairs: Sequence[Pair]
    only_a: Sequence[Row]
    only_b: Sequence[Row]

    @property
    def changed_verdicts(self) -> list[Pair]:
        """The pairs whose verdicts differ."""
        return [pair for pair in self.pairs if pair.verdict_changed]

    @property
    def changed_numbers(self) -> list[Pair]:
        """The pairs whose numbers differ; see `Pair.numbers_changed`."""
        return [pair for pair in self.pairs if pair.numbers_changed]


def read_side(folder: StudyFolder) -> Side:
    """Reads a report from its folder. Raises `AblateError` where it holds none that can be read."""
    evidence = folder.evidence()
    facts = evidence.facts
    names = names_of(facts)
    try:
        comparisons = [_for_readers(row, row_name(row, names), facts) for row in folder.comparisons()]
        judged = [row for row in folder.claims() if row["verdict"]]
        claims = [_for_readers(row, short_claim(row["claim"], facts), facts) for row in judged]
        for row in (*comparisons, *claims):
            cells(row)  # raises where a number cannot be read
        if not comparisons and len(facts.variants) > 1 and not evidence.only_measured:
            raise ValueError("there are none")
    except (ValueError, KeyError) as error:
        raise AblateError(
            f"{folder.path}: its verdicts cannot be read ({error}); write them again with `ablate report`"
        ) from None
    return Side(folder, evidence, comparisons, claims)


def _for_readers(row: Row, name: str, facts: StudyFacts) -> Row:
    """Returns a row with its name for readers, its difference in the direction of the metric."""
    direction = direction_of(facts, row.get("task"), text(row.get("metric")))
    return {**own_direction(row, direction), "name": text(name), "less": direction == "min"}


def match_rows(a: Sequence[Row], b: Sequence[Row], key: Sequence[str]) -> Matched:
    """Matches rows of two reports by the columns of `key`, in the order of the first."""
    rows_a = _by_key(a, key)
    rows_b = _by_key(b, key)
    pairs = [Pair(row, rows_b[place]) for place, row in rows_a.items() if place in rows_b]
    only_a = [row for place, row in rows_a.items() if place not in rows_b]
    only_b = [row for place, row in rows_b.items() if place not in rows_a]
    return Matched(pairs, only_a, only_b)


def _by_key(rows: Sequence[Row], key: Sequence[str]) -> dict[tuple[str, ...], Row]:
    """Returns rows by what they have in the columns of `key`."""
    return {tuple(row[column] for column in key): row for row in rows}


def cells(row: Row) -> dict[str, str]:
    """Returns verdict, mean and difference of a row as text.

    Raises `ValueError` where mean or difference are no numbers.
    """
    low = row.get("ci_low")
    high = row.get("ci_high")
    return {
        "verdict": text(row["verdict"]),
        "mean": fixed(row.get("mean_variant"), decimals(low, high)),
        "difference": difference(row.get("diff"), low, high),
    }
