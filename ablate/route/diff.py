"""What differs between two reports: in a sentence, in tables, and path by path; from their folders alone."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ablate.base import wording
from ablate.base.errors import AblateError, shown
from ablate.base.text import masked
from ablate.core.evidence import Evidence
from ablate.core.short_names import short_claim, short_names
from ablate.records.folder import StudyFolder
from ablate.report.tables import NOTHING, Column, Table, decimals, difference, fixed, text
from ablate.report.verdicts import planned_rows
from ablate.report.words import say
from ablate.study.document import read_document
from ablate.study.labels import short_label

Row = Mapping[str, Any]
NUMBERS = ("mean_variant", "mean_baseline", "diff", "ci_low", "ci_high")
"""The columns that a comparison is compared by, where a row has them."""
PLACE = ("variant", "task", "metric")
"""The columns that name a comparison."""
BASE = ("task", "tasks", "model", "training")
"""The first steps of the paths that make a baseline."""
BESIDE = ("name", "question", "notes", "labels", "claims", "seeds")
"""Keys of a study that are words about it, or are compared by themselves."""
MISSING = object()
"""What a study has where it has no such path."""


@dataclass(frozen=True)
class Side:
    """One of the two reports."""

    folder: StudyFolder
    evidence: Evidence
    comparisons: list[dict[str, str]]
    claims: list[dict[str, str]]
    "Those that were judged."
    settings: dict[str, Any]
    "Dotted path → value, without what is compared by itself."

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
        compared = {key: item for key, item in resolved.items() if key not in BESIDE}
        return cls(folder, evidence, comparisons, claims, flattened(compared))

    @cached_property
    def planned(self) -> list[Row]:
        """The comparisons that decide something."""
        return planned_rows(self.comparisons)

    def __str__(self) -> str:
        facts = self.evidence.facts
        reported = facts.reported[:16].replace("T", " ")
        said = say(
            "diff.side", seeds_in_words(facts.seeds), len(self.evidence.trials), facts.differs, reported
        )
        return f"{self.folder.path}; {said}"

    @property
    def origin(self) -> dict[str, str]:
        """What the run was made with, in words: seeds, command, commit, machine and versions."""
        known = self.evidence.facts.environment
        changes = ", with changes" if known.get("dirty") else ""
        return {
            "seeds": seeds_in_words(self.evidence.facts.seeds),
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
        widths = [value(row, "ci_high") - value(row, "ci_low") for row in (self.a, self.b)]
        places = min(wording.decimals(width / 2) for width in widths)
        return any(math.isnan(a) != math.isnan(b) or abs(a - b) > 0.5 * 10.0**-places for a, b in numbers)

    @property
    def apart(self) -> bool | None:
        """Whether the 95 % intervals have no point in common; None where one is missing."""
        lows, highs = ([value(row, name) for row in (self.a, self.b)] for name in ("ci_low", "ci_high"))
        return None if any(map(math.isnan, lows + highs)) else max(lows) > min(highs)


@dataclass(frozen=True)
class Difference:
    """What is said of two reports."""

    conclusion: str
    sides: list[str]
    "What both are, a line each."
    tables: list[Table]
    remarks: list[str]
    lists: dict[str, list[str]]
    "Heading → what differs, `path: in A → in B`."


def difference_of(a: StudyFolder, b: StudyFolder) -> Difference:
    """Two reports compared, from their folders alone. Raises `AblateError`."""
    if a.path.resolve() == b.path.resolve():
        raise AblateError(
            f"{a.path} and {b.path} are the same folder; name two reports, such as x and x@seeds=3"
        )
    sides = first, second = Side.of(a), Side.of(b)
    pairs, *unpaired = matched(first.comparisons, second.comparisons, PLACE)
    claimed, *unmade = matched(first.claims, second.claims, ["claim"])
    planned = [pair for pair in pairs if planned_rows([pair.a, pair.b])]
    moved, recast, every = ([p for p in found if p.verdict_changed] for found in (planned, claimed, pairs))
    numbers, explored = [p for p in planned if p.numbers_changed], [p for p in every if p not in moved]
    changed, alone = settings(first.settings, second.settings), [planned_rows(rows) for rows in unpaired]
    names, places = _names(sides), _varying([row for side in sides for row in side.planned])
    claims = [
        {row["claim"]: text(short_claim(row["claim"], s.evidence.facts)) for row in s.claims} for s in sides
    ]
    shares = [(moved, planned, "verdict"), (recast, claimed, "claim"), (numbers, planned, "comparison")]
    *verdicts, other = [say("diff.share", len(p), len(of), noun) if p else "" for p, of, noun in shares]
    seeds = [set(side.evidence.facts.seeds) for side in sides]
    counts = [*zip("AB", map(len, alone), strict=True)]
    tables = [
        ("Verdicts that changed", moved, names),
        ("Claims that changed", recast, claims[0]),
        ("Same verdicts, other numbers", [pair for pair in numbers if pair not in moved], names),
        ("Verdicts outside the plan that changed (exploratory)", explored, names),
    ]
    origins = settings(first.origin, second.origin)
    return Difference(
        say(
            "diff.conclusion",
            planned=len(planned),
            changed=[*filter(None, verdicts)],
            numbers=other,
            alone=counts,
            settings=len(changed),
            other_seeds=seeds[0] != seeds[1],
        ),
        [f"{letter}: {side}" for letter, side in zip("AB", sides, strict=True)],
        [_table(caption, found, known) for caption, found, known in tables if found],
        [
            *([say("diff.evidence")] if moved or explored or recast else []),
            *(_conditions(list(changed), sides) if planned else ()),
            *_only("Comparison", [[_named(row, names, places) for row in rows] for rows in alone]),
            *_only(
                "Claim", [[of[row["claim"]] for row in rows] for rows, of in zip(unmade, claims, strict=True)]
            ),
            _trials(sides),
        ],
        {
            "Settings that differ": [f"{path}: {_said(a)} → {_said(b)}" for path, (a, b) in changed.items()],
            "Runs that differ": [
                f"{key}: {' → '.join(NOTHING if o is MISSING else o for o in of)}"
                for key, of in origins.items()
            ],
        },
    )


def value(row: Row, name: str) -> float:
    """A number of a row that may hold text; NaN where it has none."""
    return float(row.get(name) or math.nan)


def matched(
    a: Sequence[Row], b: Sequence[Row], key: Sequence[str]
) -> tuple[list[Pair], list[Row], list[Row]]:
    """The rows that both have, by the columns of `key`, in the order of the first; those of one alone."""
    rows = [{tuple(row[name] for name in key): row for row in each} for each in (a, b)]
    both = [Pair(row, rows[1][found]) for found, row in rows[0].items() if found in rows[1]]
    only = [[row for found, row in mine.items() if found not in other] for mine, other in (rows, rows[::-1])]
    return both, only[0], only[1]


def settings(a: Mapping[str, Any], b: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """Path → the values of two flat mappings where they differ; `MISSING` where one has no such path."""
    found = {path: (a.get(path, MISSING), b.get(path, MISSING)) for path in dict.fromkeys([*a, *b])}
    return {path: values for path, values in found.items() if values[0] != values[1]}


def flattened(data: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Dotted path → what is there; lists are whole."""
    found: dict[str, Any] = {}
    for key, item in data.items():
        nested = isinstance(item, Mapping) and item
        found |= flattened(item, f"{prefix}{key}.") if nested else {f"{prefix}{key}": item}
    return found


def seeds_in_words(seeds: Sequence[int]) -> str:
    """`8 (0 to 7)`, `3 (0, 3, 7)`."""
    ordered = sorted(seeds)
    return say("diff.seeds", ordered, len(ordered) > 2 and ordered[-1] - ordered[0] == len(ordered) - 1)


def _only(noun: str, alone: Sequence[Sequence[str]]) -> Iterator[str]:
    """The rows of one side alone."""
    for letter, names in zip("AB", alone, strict=True):
        if names:
            yield say("diff.only", noun, letter, names)


def _conditions(changed: Sequence[str], sides: Sequence[Side]) -> Iterator[str]:
    """What can change a verdict beside the effect."""
    if paths := [path for path in changed if path.partition(".")[0] in BASE]:
        yield say("diff.baselines", paths)
    margins = [side.evidence.facts.margin for side in sides]
    values = [wording.exact(margin) if margin else "none" for margin in margins]
    sizes = [len(side.planned) for side in sides]
    found = [say("diff.margin", values)] if values[0] != values[1] else []
    found += [say("diff.family", sizes)] if sizes[0] != sizes[1] else []
    if found:
        yield say("diff.rules", found)


def _trials(sides: Sequence[Side]) -> str:
    """How far the trials of one variant, task and seed agree."""
    columns = {side.evidence.facts.column for side in sides}
    if len(columns) > 1:
        return say("diff.other_columns", sorted(columns))
    (column,), keys = columns, ["variant", "task", "seed"]
    a, b = (side.evidence.trials[["id", *keys, column]] for side in sides)
    both = a.merge(b, on=keys, suffixes=("_a", "_b"))
    if not len(both):
        return say("diff.no_trials")
    values = [both[f"{column}_{letter}"].astype(float) for letter in "ab"]
    gaps = (values[0] - values[1]).abs()
    equal = int(((gaps == 0) | (values[0].isna() & values[1].isna())).sum())
    return say("diff.trials", len(both), equal, column, int((both["id_a"] == both["id_b"]).sum()), gaps.max())


def _names(sides: Sequence[Side]) -> dict[str, str]:
    """Short names that mean one variant in both; any other is named by its path."""
    a, b = (short_names(side.evidence.facts) for side in sides)
    found = {
        name: short for name, short in (b | a).items() if {a.get(name, short), b.get(name, short)} == {short}
    }
    shorts = list(found.values())
    return {name: short for name, short in found.items() if shorts.count(short) == 1}


def _named(row: Row, names: Mapping[str, str], places: Sequence[str]) -> str:
    """The variant of a comparison, with its task and metric where they are among `places`."""
    name = names.get(row["variant"], text(row["variant"]))
    return f"{name} ({', '.join(text(row[key]) for key in places)})" if places else name


def _varying(rows: Sequence[Row]) -> list[str]:
    """Of task and metric, what is not the same in all rows."""
    return [key for key in ("task", "metric") if len({row.get(key) for row in rows}) > 1]


def _table(caption: str, pairs: Sequence[Pair], names: Mapping[str, str]) -> Table:
    """Comparisons or claims: two rows each, A above B, so that their intervals are side by side."""
    claims = "claim" in pairs[0].a
    columns = [
        Column("name", "Claim" if claims else "Variant"),
        Column("of", ""),
        Column("verdict", "Verdict"),
        *([] if claims else [Column("mean", "Mean", True)]),
        Column("difference", "Difference [95 %]", True),
        Column("apart", "Intervals"),
    ]
    places, rows = _varying([pair.a for pair in pairs]), []
    for pair in pairs:
        name = names[pair.a["claim"]] if claims else _named(pair.a, names, places)
        rows += [_cells(pair.a) | {"name": name, "of": "A", "apart": ""}]
        rows += [_cells(pair.b) | {"name": "", "of": "B", "apart": say("diff.apart", pair.apart)}]
    where = "" if claims or "metric" in places else f": {pairs[0].a['metric']}"
    return Table(columns, rows, f"{caption}{where}")


def _cells(row: Row) -> dict[str, str]:
    bounds = row.get("ci_low"), row.get("ci_high")
    return {
        "verdict": text(row["verdict"]),
        "mean": fixed(row.get("mean_variant"), decimals(*bounds)),
        "difference": difference(row.get("diff"), *bounds),
    }


def _said(found: Any) -> str:
    """A setting in words."""
    if found is MISSING:
        return NOTHING
    if isinstance(found, list):
        return ", ".join(map(_said, found)) or "none"
    return masked(text(shown(found, 200) if isinstance(found, dict) else short_label(found)))
