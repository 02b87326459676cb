"""What differs between two reports: in a sentence, in tables, and path by path; from their folders alone."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from ablate.base import wording
from ablate.base.errors import AblateError, shown
from ablate.base.text import masked
from ablate.core.facts import Evidence
from ablate.core.short_names import short_claim, short_names
from ablate.records.folder import StudyFolder
from ablate.report.verdicts import Names, planned_rows
from ablate.report.words import NOTHING, Column, Row, Table, decimals, difference, fixed, say, text
from ablate.study.document import read_document
from ablate.study.patch import short_label

NUMBERS = ("mean_variant", "mean_baseline", "diff", "ci_low", "ci_high")
"""The columns that a comparison is compared by, where a row has them."""
PLACE = ("variant", "task", "metric")
"""The columns that name a comparison."""
BASE = ("task", "tasks", "model", "training")
"""The first steps of the paths that make a baseline."""
APART = ("name", "question", "notes", "labels", "claims", "seeds")
"""Keys of a study that are words about it, or are compared by themselves."""
MISSING = object()
"""What a study has where it has no such path."""


@dataclass(frozen=True)
class Side:
    """One of the two reports."""

    folder: StudyFolder
    evidence: Evidence
    comparisons: Sequence[Row]
    claims: Sequence[Row]
    "Those that were judged."

    def __str__(self) -> str:
        facts = self.evidence.facts
        reported = facts.reported[:16].replace("T", " ")
        return f"{self.folder.path}; " + say(
            "diff.side", seeds_in_words(facts.seeds), len(self.evidence.trials), facts.differs, reported
        )


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
    sides: Sequence[Side]
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
    sides = first, second = _side(a), _side(b)
    pairs, *unpaired = matched(first.comparisons, second.comparisons, PLACE)
    claimed, *unmade = matched(first.claims, second.claims, ["claim"])
    planned = [pair for pair in pairs if planned_rows([pair.a, pair.b])]
    moved, recast, every = ([p for p in found if p.verdict_changed] for found in (planned, claimed, pairs))
    numbers, alone = [p for p in planned if p.numbers_changed], [planned_rows(rows) for rows in unpaired]
    explored, rest = [p for p in every if p not in moved], [p for p in numbers if p not in moved]
    changed = settings(*(_settings(side) for side in sides))
    origins = settings(*(_origin(side) for side in sides))
    names = _names(sides)
    places = [
        key
        for key in PLACE[1:]
        if len({row[key] for side in sides for row in planned_rows(side.comparisons)}) > 1
    ]
    claims = {
        row["claim"]: text(short_claim(row["claim"], s.evidence.facts)) for s in sides for row in s.claims
    }
    return Difference(
        say(
            "diff.conclusion",
            verdicts=(len(moved), len(planned)),
            claims=(len(recast), len(claimed)),
            numbers=len(numbers),
            alone=[*zip("AB", map(len, alone), strict=True)],
            settings=len(changed),
            other_seeds={*first.evidence.facts.seeds} != {*second.evidence.facts.seeds},
        ),
        sides,
        [
            *_table("Verdicts that changed", moved, names),
            *_table("Claims that changed", recast, claims),
            *_table("Same verdicts, other numbers", rest, names),
            *_table("Verdicts outside the plan that changed (exploratory)", explored, names),
        ],
        [
            *([say("diff.evidence")] if moved or explored or recast else []),
            *(_conditions(list(changed), sides) if planned else ()),
            *(
                say("diff.only", noun, letter, [_named(row, known, places) for row in rows])
                for noun, found, known in (("Comparison", alone, names), ("Claim", unmade, claims))
                for letter, rows in zip("AB", found, strict=True)
                if rows
            ),
            _trials(sides),
        ],
        {
            "Settings that differ": [f"{path}: {_said(a)} → {_said(b)}" for path, (a, b) in changed.items()],
            "Runs that differ": [f"{key}: {_said(a)} → {_said(b)}" for key, (a, b) in origins.items()],
        },
    )


def _side(folder: StudyFolder) -> Side:
    """From the folder alone. Raises `AblateError` where it holds no report that can be read."""
    claims = [row for row in folder.claims() if row["verdict"]]
    side = Side(folder, folder.evidence(), folder.comparisons(), claims)
    try:
        for row in (*side.comparisons, *side.claims):
            _cells(row)
            [value(row, name) for name in NUMBERS]
        if not side.comparisons and len(side.evidence.facts.variants) > 1 and not side.evidence.only_measured:
            raise ValueError("there are none")
    except (ValueError, KeyError) as error:
        raise AblateError(
            f"{folder.path}: its verdicts cannot be read ({error}); write them again with `ablate report`"
        ) from None
    return side


def _settings(side: Side) -> dict[str, Any]:
    """Dotted path → value, without what is compared by itself."""
    file = side.folder.study_file
    resolved = read_document(file).data if file.is_file() else {}
    return flattened({key: item for key, item in resolved.items() if key not in APART})


def flattened(data: Mapping[str, Any]) -> dict[str, Any]:
    """Dotted path → what is there; lists are whole."""
    found: dict[str, Any] = pd.json_normalize(data).astype(object).iloc[0].to_dict() if data else {}
    return found


def _origin(side: Side) -> dict[str, str]:
    """What the run was made with, in words: seeds, command, commit, machine and versions."""
    known, seeds = side.evidence.facts.environment, seeds_in_words(side.evidence.facts.seeds)
    commit = str(known.get("commit") or NOTHING)[:10] + (", with changes" if known.get("dirty") else "")
    told = {"seeds": seeds, "command": known.get("command", NOTHING), "commit": commit}
    told |= {key: known[key] for key in ("device", "machine") if known.get(key)}
    return {name: str(item) for name, item in {**told, **(known.get("versions") or {})}.items()}


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


def seeds_in_words(seeds: Sequence[int]) -> str:
    """`8 (0 to 7)`, `3 (0, 3, 7)`."""
    ordered = sorted(seeds)
    return say("diff.seeds", ordered, len(ordered) > 2 and ordered[-1] - ordered[0] == len(ordered) - 1)


def _conditions(changed: Sequence[str], sides: Sequence[Side]) -> Iterator[str]:
    """What can change a verdict beside the effect."""
    if paths := [path for path in changed if path.partition(".")[0] in BASE]:
        yield say("diff.baselines", paths)
    margins = [side.evidence.facts.margin for side in sides]
    sizes = [len(planned_rows(side.comparisons)) for side in sides]
    if rules := say("diff.rules", margins, sizes):
        yield rules


def _trials(sides: Sequence[Side]) -> str:
    """How far the trials of one variant, task and seed agree."""
    columns = sorted({side.evidence.facts.column for side in sides})
    if len(columns) > 1:
        return say("diff.other_columns", columns)
    (column,), keys = columns, ["variant", "task", "seed"]
    a, b = (side.evidence.trials[["id", *keys, column]] for side in sides)
    both = a.merge(b, on=keys, suffixes=("_a", "_b"))
    values = both[[f"{column}_a", f"{column}_b"]].astype(float)
    gaps = values.diff(axis=1).iloc[:, 1].abs()
    equal = int(((gaps == 0) | values.isna().all(axis=1)).sum())
    return say("diff.trials", len(both), equal, column, int((both["id_a"] == both["id_b"]).sum()), gaps.max())


def _names(sides: Sequence[Side]) -> Names:
    """Short names that mean one variant in both; any other is named by its path."""
    a, b = (short_names(side.evidence.facts) for side in sides)
    found = {
        name: short for name, short in (b | a).items() if {a.get(name, short), b.get(name, short)} == {short}
    }
    shorts = list(found.values())
    return {name: short for name, short in found.items() if shorts.count(short) == 1}


def _named(row: Row, names: Names, places: Sequence[str]) -> str:
    """The variant of a comparison, with its task and metric where they are among `places`; or a claim."""
    if "claim" in row:
        return names[row["claim"]]
    name = names.get(row["variant"], text(row["variant"]))
    return f"{name} ({', '.join(text(row[key]) for key in places)})" if places else name


def _table(caption: str, pairs: Sequence[Pair], names: Names) -> Iterator[Table]:
    """Comparisons or claims: two rows each, A above B, so that their intervals are side by side."""
    if not pairs:
        return
    claims = "claim" in pairs[0].a
    columns = [
        Column("name", "Claim" if claims else "Variant"),
        Column("of", ""),
        Column("verdict", "Verdict"),
        *([] if claims else [Column("mean", "Mean", True)]),
        Column("difference", "Difference [95 %]", True),
        Column("apart", "Intervals"),
    ]
    places = [key for key in PLACE[1:] if len({pair.a.get(key) for pair in pairs}) > 1]
    rows: list[dict[str, str]] = []
    for pair in pairs:
        rows.append({"name": _named(pair.a, names, places), "of": "A", "apart": "", **_cells(pair.a)})
        rows.append({"name": "", "of": "B", "apart": say("diff.apart", pair.apart), **_cells(pair.b)})
    where = "" if claims or "metric" in places else f": {pairs[0].a['metric']}"
    yield Table(columns, rows, f"{caption}{where}")


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
