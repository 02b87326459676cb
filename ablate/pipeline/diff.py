"""What differs between two reports: in a sentence, in tables, and path by path; from their folders alone."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from ablate.base.errors import AblateError, shown
from ablate.base.text import masked
from ablate.core.facts import Evidence, StudyFacts
from ablate.core.short_names import short_claim
from ablate.core.spelling import spelled
from ablate.records.folder import StudyFolder
from ablate.report.verdicts import direction_of, names_of, own_direction, planned_rows, row_name
from ablate.report.words import (
    NOTHING,
    Column,
    Row,
    Table,
    decimals,
    difference,
    fixed,
    message,
    number,
    text,
)
from ablate.study.document import read_document
from ablate.study.patch import short_label
from ablate.study.sections import in_words

# The columns that name a comparison.
PLACE = ("variant", "task", "metric")
# The first steps of the paths that make a baseline.
BASE = ("task", "tasks", "model", "training")
# Keys of a study that are words about it, or are compared by themselves.
APART = ("name", "question", "notes", "labels", "claims", "seeds", "resources")


@dataclass(frozen=True)
class Side:
    """One of the two reports."""

    folder: StudyFolder
    evidence: Evidence
    comparisons: Sequence[Row]
    # Those that were judged.
    claims: Sequence[Row]

    @property
    def seeds(self) -> str:
        """Its seeds, in words."""
        return in_words(sorted(self.evidence.facts.seeds))

    def __str__(self) -> str:
        facts, trials = self.evidence.facts, len(self.evidence.trials)
        reported = facts.reported[:16].replace("T", " ")
        return f"{self.folder.path}; {message('diff.side', self.seeds, trials, facts.differs, reported)}"


@dataclass(frozen=True)
class Pair:
    """One comparison, or one claim, in both."""

    a: Row
    b: Row

    @property
    def numbers_changed(self) -> bool:
        """Whether a number differs in the digits that its interval leaves."""
        a, b = ({**_cells(row), "verdict": ""} for row in (self.a, self.b))
        return a != b

    @property
    def apart(self) -> bool | None:
        """Whether the intervals have no point in common; None where one is missing."""
        lows, highs = ([number(row.get(end)) for row in (self.a, self.b)] for end in ("ci_low", "ci_high"))
        known = [bound for bound in (*lows, *highs) if bound is not None]
        return max(known[:2]) > min(known[2:]) if len(known) == 4 else None


@dataclass(frozen=True)
class Difference:
    """What is said of two reports."""

    conclusion: str
    sides: Sequence[Side]
    tables: list[Table]
    remarks: list[str]
    # Heading → what differs, `path: in A → in B`.
    lists: dict[str, list[str]]


def difference_of(a: StudyFolder, b: StudyFolder) -> Difference:
    """Two reports compared, from their folders alone. Raises `AblateError`."""
    if a.path.resolve() == b.path.resolve():
        raise AblateError(
            f"{a.path} and {b.path} are the same folder; name two reports, such as x and x@seeds=3"
        )
    sides = first, second = _side(a), _side(b)
    every, *unpaired = matched(first.comparisons, second.comparisons, PLACE)
    claims, *unmade = matched(first.claims, second.claims, ["claim"])
    pairs, alone = [p for p in every if planned_rows([p.a, p.b])], [planned_rows(rows) for rows in unpaired]
    moved, recast = ([p for p in found if p.a["verdict"] != p.b["verdict"]] for found in (pairs, claims))
    numbers = [pair for pair in pairs if pair.numbers_changed]
    changed = differing(*map(_settings, sides))
    base = [path for path in changed if path.partition(".")[0] in BASE]
    planned = [row for side in sides for row in planned_rows(side.comparisons)]
    places = [key for key in PLACE[1:] if len({row[key] for row in planned}) > 1]
    return Difference(
        message(
            "diff.conclusion",
            verdicts=(len(moved), len(pairs)),
            claims=(len(recast), len(claims)),
            numbers=len(numbers),
            alone=[*zip("AB", map(len, alone), strict=True)],
            settings=len(changed),
            other_seeds={*first.evidence.facts.seeds} != {*second.evidence.facts.seeds},
        ),
        sides,
        [
            *_table("Verdicts that changed", moved, places),
            *_table("Claims that changed", recast, []),
            *_table("Same verdicts, other numbers", [pair for pair in numbers if pair not in moved], places),
        ],
        [
            *([message("diff.evidence")] if moved or recast else []),
            *([message("diff.baselines", base)] if pairs and base else []),
            *(
                message("diff.only", noun, letter, [_named(row, places) for row in rows])
                for noun, found in (("Comparison", alone), ("Claim", unmade))
                for letter, rows in zip("AB", found, strict=True)
                if rows
            ),
            _trials(sides),
        ],
        {
            "Settings that differ": [*changed.values()],
            "Runs that differ": [*differing(*map(_origin, sides)).values()],
        },
    )


def _side(folder: StudyFolder) -> Side:
    """From the folder alone. Raises `AblateError` where it holds no report that can be read."""
    evidence = folder.evidence()
    facts, names = evidence.facts, names_of(evidence.facts)
    try:
        comparisons = [_as_said(row, row_name(row, names), facts) for row in folder.comparisons()]
        judged = [row for row in folder.claims() if row["verdict"]]
        claims = [_as_said(row, short_claim(row["claim"], facts), facts) for row in judged]
        side = Side(folder, evidence, comparisons, claims)
        for row in (*side.comparisons, *side.claims):
            _cells(row)
        if not side.comparisons and len(side.evidence.facts.variants) > 1 and not side.evidence.only_measured:
            raise ValueError("there are none")
    except (ValueError, KeyError) as error:
        raise AblateError(
            f"{folder.path}: its verdicts cannot be read ({error}); write them again with `ablate report`"
        ) from None
    return side


def _as_said(row: Row, name: str, facts: StudyFacts) -> Row:
    """Returns a row with its name for readers, and its difference in the direction of the metric."""
    direction = direction_of(facts, row.get("task"), text(row.get("metric")))
    return {**own_direction(row, direction), "name": text(name), "less": direction == "min"}


def _settings(side: Side) -> dict[str, Any]:
    """Dotted path → what is there, without what is compared by itself; lists are whole."""
    file = side.folder.study_file
    resolved = read_document(file).data if file.is_file() else {}
    data = {key: item for key, item in resolved.items() if key not in APART}
    found: dict[str, Any] = pd.json_normalize(data).astype(object).iloc[0].to_dict() if data else {}
    return found


def _origin(side: Side) -> dict[str, str]:
    """What the run was made with, in words: seeds, command, commit, machine and versions."""
    known = side.evidence.facts.environment
    commit = str(known.get("commit") or NOTHING)[:10] + (", with changes" if known.get("dirty") else "")
    told = {"seeds": side.seeds, "command": known.get("command", NOTHING), "commit": commit}
    told |= {key: known[key] for key in ("device", "machine") if known.get(key)}
    return {name: str(item) for name, item in {**told, **(known.get("versions") or {})}.items()}


def matched(
    a: Sequence[Row], b: Sequence[Row], key: Sequence[str]
) -> tuple[list[Pair], list[Row], list[Row]]:
    """The rows that both have, by the columns of `key`, in the order of the first; those of one alone."""
    rows = [{tuple(row[name] for name in key): row for row in each} for each in (a, b)]
    both = [Pair(row, rows[1][found]) for found, row in rows[0].items() if found in rows[1]]
    only = [[row for found, row in mine.items() if found not in other] for mine, other in (rows, rows[::-1])]
    return both, only[0], only[1]


def differing(a: Mapping[str, Any], b: Mapping[str, Any]) -> dict[str, str]:
    """Path → `path: in A → in B` where two flat mappings differ."""
    found = {path: (a.get(path, NOTHING), b.get(path, NOTHING)) for path in dict.fromkeys([*a, *b])}
    return {path: f"{path}: {_said(x)} → {_said(y)}" for path, (x, y) in found.items() if x != y}


def _said(found: Any) -> str:
    """A setting in words."""
    return masked(text(shown(found, 200) if isinstance(found, (dict, list)) else short_label(found)))


def _trials(sides: Sequence[Side]) -> str:
    """How far the trials of one variant, task and seed agree."""
    columns = sorted({side.evidence.facts.column for side in sides})
    if len(columns) > 1:
        return message("diff.other_columns", columns)
    (column,), keys = columns, ["variant", "task", "seed"]
    a, b = (side.evidence.trials[["id", *keys, column]] for side in sides)
    both = a.merge(b, on=keys, suffixes=("_a", "_b"))
    values = both[[f"{column}_a", f"{column}_b"]].astype(float)
    gaps = values.diff(axis=1).iloc[:, 1].abs()
    equal = int(((gaps == 0) | values.isna().all(axis=1)).sum())
    return message(
        "diff.trials", len(both), equal, column, int((both["id_a"] == both["id_b"]).sum()), gaps.max()
    )


def _named(row: Row, places: Sequence[str]) -> str:
    """Returns the name of a comparison or claim, with task and metric where they are among `places`."""
    where = ", ".join(spelled(text(row[key])) if key == "metric" else text(row[key]) for key in places)
    return f"{row['name']} ({where})" if where else text(row["name"])


def _table(caption: str, pairs: Sequence[Pair], places: Sequence[str]) -> Iterator[Table]:
    """Comparisons or claims: two rows each, A above B, so that their intervals are side by side."""
    if not pairs:
        return
    claims = "claim" in pairs[0].a
    columns = [
        Column("name", "Claim" if claims else "Variant"),
        Column("of", ""),
        Column("verdict", "Verdict"),
        *([] if claims else [Column("mean", "Mean", True)]),
        Column("difference", "Difference [interval]", True),
        Column("apart", "Intervals"),
    ]
    rows = [
        row
        for pair in pairs
        for row in (
            {"name": _named(pair.a, places), "of": "A", "apart": "", **_cells(pair.a)},
            {"name": "", "of": "B", "apart": message("diff.apart", pair.apart), **_cells(pair.b)},
        )
    ]
    where = "" if claims or "metric" in places else f": {spelled(text(pairs[0].a['metric']))}"
    less = [spelled(text(pair.a["metric"])) for pair in pairs if pair.a["less"]]
    yield Table(columns, rows, f"{caption}{where}{message('diff.less', list(dict.fromkeys(less)))}")


def _cells(row: Row) -> dict[str, str]:
    bounds = row.get("ci_low"), row.get("ci_high")
    return {
        "verdict": text(row["verdict"]),
        "mean": fixed(row.get("mean_variant"), decimals(*bounds)),
        "difference": difference(row.get("diff"), *bounds),
    }
