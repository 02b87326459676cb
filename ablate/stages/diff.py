"""What differs between two reports: in a sentence, in tables, and path by path."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ablate.base import wording
from ablate.base.errors import AblateError, shown
from ablate.base.passwords import masked
from ablate.base.wording import brief, counted, joined
from ablate.core.short_names import short_claim, short_names
from ablate.records.folder import StudyFolder
from ablate.report.tables import NOTHING, Column, Table, decimals, difference, fixed, text
from ablate.report.verdicts import planned_rows
from ablate.stages.side import MISSING, PLACE, Pair, Row, Side, matched, settings
from ablate.study.labels import short_label

EVIDENCE = (
    "A changed verdict alone is no evidence that an effect has changed: one effect may be found in one run and missed "
    "in the other. Where the 95 % intervals lie apart, the two differ by more than their seeds explain, before "
    "any correction for the number of rows; where they overlap, nothing is shown."
)
BASE = ("task", "tasks", "model", "training")
"""The first steps of the paths that make a baseline."""
BESIDE = ("name", "question", "notes", "labels", "claims", "seeds")
"""Keys of a study that are words about it, or are compared by themselves."""


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
    pairs, *alone = matched(first.comparisons, second.comparisons, PLACE)
    claimed, *unmade = matched(first.claims, second.claims, ("claim",))
    planned = [pair for pair in pairs if _is_planned(pair)]
    alone = [planned_rows(rows) for rows in alone]
    changed = settings(_compared(first.settings), _compared(second.settings))
    names = _names(sides)
    moved = [pair for pair in planned if pair.verdict_changed]
    explored = [pair for pair in pairs if not _is_planned(pair) and pair.verdict_changed]
    recast = [pair for pair in claimed if pair.verdict_changed]
    tables = [
        _table("Verdicts that changed", moved, names),
        _table("Claims that changed", recast, {pair.a["claim"]: _claimed(pair.a, first) for pair in recast}),
        _table(
            "Same verdicts, other numbers",
            [p for p in planned if p.numbers_changed and not p.verdict_changed],
            names,
        ),
        _table("Verdicts outside the plan that changed (exploratory)", explored, names),
    ]
    places = _varying([row for side in sides for row in planned_rows(side.comparisons)])
    remarks = [
        *([EVIDENCE] if moved or explored or recast else []),
        *(_conditions(changed, sides) if planned else ()),
        *_only("comparison", [[_named(row, names, places) for row in rows] for rows in alone]),
        *_only(
            "claim", [[_claimed(row, side) for row in rows] for rows, side in zip(unmade, sides, strict=True)]
        ),
        *_trials(sides),
    ]
    return Difference(
        _conclusion(planned, claimed, alone, changed, sides),
        [f"{letter}: {side}" for letter, side in zip("AB", sides, strict=True)],
        [table for table in tables if table.rows],
        remarks,
        {
            "Settings that differ": [f"{path}: {_said(a)} → {_said(b)}" for path, (a, b) in changed.items()],
            "Runs that differ": _origins(sides),
        },
    )


def _is_planned(pair: Pair) -> bool:
    """Whether the comparison decides something in either."""
    return bool(planned_rows([pair.a, pair.b]))


def _compared(resolved: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in resolved.items() if key not in BESIDE}


# In words


def _conclusion(
    planned: Sequence[Pair],
    claimed: Sequence[Pair],
    alone: Sequence[Sequence[Row]],
    changed: Mapping[str, Any],
    sides: Sequence[Side],
) -> str:
    """The answer in a sentence."""
    counts = [
        _share([pair.verdict_changed for pair in planned], "verdict"),
        _share([pair.verdict_changed for pair in claimed], "claim"),
    ]
    verdicts = f"{joined(list(filter(None, counts)))} changed" if any(counts) else "Same verdicts"
    numbers = _share([pair.numbers_changed for pair in planned], "comparison")
    if not planned:
        said = ["No planned comparison is in both"]
    else:
        said = [f"{verdicts}; {numbers} have other numbers" if numbers else f"{verdicts}, same numbers"]
    for letter, rows in zip("AB", alone, strict=True):
        said += [f"{counted(len(rows), 'comparison')} only in {letter}"] if rows else []
    if changed:
        said.append(f"{counted(len(changed), 'setting')} differ{'s' if len(changed) == 1 else ''}")
    if set(sides[0].facts.seeds) != set(sides[1].facts.seeds):
        said.append("the seeds differ")
    return "; ".join(said) + "."


def _share(changed: Sequence[bool], noun: str) -> str:
    """`3 of 7 verdicts`; nothing where none has changed."""
    return f"{sum(changed)} of {counted(len(changed), noun)}" if any(changed) else ""


def _conditions(changed: Mapping[str, Any], sides: Sequence[Side]) -> Iterator[str]:
    """What can change a verdict beside the effect."""
    paths = [path for path in changed if path.partition(".")[0] in BASE]
    if paths:
        yield (
            f"The baselines differ in {joined(paths[:4])}{' and more' if len(paths) > 4 else ''}, so that a difference "
            "from the baseline is from another one in each."
        )
    margins = [wording.exact(side.facts.margin) if side.facts.margin else "none" for side in sides]
    families = [side.family for side in sides]
    found = [f"the margin ({margins[0]} and {margins[1]})"] if margins[0] != margins[1] else []
    if families[0] != families[1]:
        found.append(f"the number of planned comparisons ({families[0]} and {families[1]})")
    if found:
        yield f"Verdicts also depend on {joined(found)}."


def _only(noun: str, alone: Sequence[Sequence[str]]) -> Iterator[str]:
    for letter, rows in zip("AB", alone, strict=True):
        if rows:
            yield f"{noun.capitalize()}{'s' if len(rows) > 1 else ''} only in {letter}: {'; '.join(rows)}."


def _trials(sides: Sequence[Side]) -> Iterator[str]:
    """How far the trials of one variant, task and seed agree."""
    columns = {side.facts.column for side in sides}
    if len(columns) > 1:
        yield f"They judge other numbers: {' and '.join(sorted(columns))}."
        return
    (column,), keys = columns, ["variant", "task", "seed"]
    a, b = (side.evidence.trials[["id", *keys, column]] for side in sides)
    both = a.merge(b, on=keys, suffixes=("_a", "_b"))
    if not len(both):
        yield "No variant, task and seed is in both."
        return
    values = [both[f"{column}_{letter}"].astype(float) for letter in "ab"]
    gaps = (values[0] - values[1]).abs()
    equal = int(((gaps == 0) | (values[0].isna() & values[1].isna())).sum())
    same = int((both["id_a"] == both["id_b"]).sum())
    words = (
        f"{counted(len(both), 'trial')} of the same variant, task and seed: {equal} with the same {column}"
    )
    words += f", {same} with the same id (config, versions and sources)"
    largest = f"; the largest difference is {brief(gaps.max())}" if gaps.max() > 0 else ""
    yield f"{words}{largest}."


# Tables


def _names(sides: Sequence[Side]) -> dict[str, str]:
    """Short names that mean one variant in both; any other is named by its path."""
    a, b = (short_names(side.facts) for side in sides)
    found = {
        name: short for name, short in (b | a).items() if {a.get(name, short), b.get(name, short)} == {short}
    }
    shorts = list(found.values())
    return {name: short for name, short in found.items() if shorts.count(short) == 1}


def _named(row: Row, names: Mapping[str, str], places: Sequence[str]) -> str:
    """The variant of a comparison, with its task and metric where they are among `places`."""
    name = names.get(row["variant"], text(row["variant"]))
    return f"{name} ({', '.join(text(row[key]) for key in places)})" if places else name


def _claimed(row: Row, side: Side) -> str:
    return text(short_claim(row["claim"], side.facts))


def _varying(rows: Sequence[Row]) -> list[str]:
    """Of task and metric, what is not the same in all rows."""
    return [key for key in ("task", "metric") if len({row.get(key) for row in rows}) > 1]


def _table(caption: str, pairs: Sequence[Pair], names: Mapping[str, str]) -> Table:
    """Comparisons or claims: two rows each, A above B, so that their intervals are side by side."""
    claims = any("claim" in pair.a for pair in pairs)
    columns = [
        Column("name", "Claim" if claims else "Variant"),
        Column("of", ""),
        Column("verdict", "Verdict"),
        *([] if claims else [Column("mean", "Mean", True)]),
        Column("difference", "Difference [95 %]", True),
        Column("apart", "Intervals"),
    ]
    places = _varying([pair.a for pair in pairs])
    rows = []
    for pair in pairs:
        name = names.get(pair.a["claim"], "") if claims else _named(pair.a, names, places)
        apart = {None: NOTHING, True: "apart", False: "overlap"}[pair.apart]
        rows += [_cells(pair.a) | {"name": name, "of": "A", "apart": ""}]
        rows += [_cells(pair.b) | {"name": "", "of": "B", "apart": apart}]
    where = f": {pairs[0].a['metric']}" if pairs and not claims and "metric" not in places else ""
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


def _origins(sides: Sequence[Side]) -> list[str]:
    """What the runs were made with, where it differs."""
    a, b = (side.origin for side in sides)
    pairs = {key: (a.get(key, NOTHING), b.get(key, NOTHING)) for key in dict.fromkeys([*a, *b])}
    return [f"{key}: {first} → {second}" for key, (first, second) in pairs.items() if first != second]
