"""Differences between two reports: in a sentence, in tables, and path by path; from their folders alone."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ablate.base.errors import AblateError, shown
from ablate.base.text import masked
from ablate.base.wording import brief, joined
from ablate.core.spelling import spelled
from ablate.pipeline.diff.sides import Matched, Pair, Side, cells, match_rows, read_side
from ablate.records.folder import StudyFolder
from ablate.report.tables.verdicts import planned_rows
from ablate.report.words import NOTHING, Column, Row, Table, message, text
from ablate.study.patch import short_label

# The columns that name a comparison.
PLACE = ("variant", "baseline", "task", "metric")
# The first steps of the paths that make a baseline.
BASELINE_SECTIONS = ("task", "tasks", "conditions", "model", "training")
MAX_PATHS = 4
"""The paths in which baselines differ that a note names."""


@dataclass(frozen=True)
class Difference:
    """The differences between two reports, in words and tables."""

    conclusion: str
    sides: Sequence[Side]
    tables: Sequence[Table]
    notes: Sequence[str]
    # Heading → what differs, `path: in A → in B`.
    lists: Mapping[str, Sequence[str]]


def difference_of(a: StudyFolder, b: StudyFolder) -> Difference:
    """Compares two reports, from their folders alone. Raises `AblateError`."""
    if a.path.resolve() == b.path.resolve():
        raise AblateError(
            f"{a.path} and {b.path} are the same folder; name two reports, such as x and x@seeds=3"
        )
    side_a = read_side(a)
    side_b = read_side(b)
    comparisons = match_rows(planned_rows(side_a.comparisons), planned_rows(side_b.comparisons), PLACE)
    claims = match_rows(side_a.claims, side_b.claims, _claim_key(side_a, side_b))
    settings = differences(side_a.settings(), side_b.settings())
    origins = differences(side_a.origin(), side_b.origin())

    conclusion = [_agreement(comparisons, claims), *_beside(comparisons, len(settings))]
    if set(side_a.evidence.facts.seeds) != set(side_b.evidence.facts.seeds):
        conclusion.append(message("diff.other_seeds"))
    places = _varying_places(side_a, side_b)
    notes = _notes_on_verdicts(comparisons, claims, list(settings))
    notes += _only_in_one("Comparison", comparisons, places)
    notes += _only_in_one("Claim", claims, places)
    notes.append(_agreement_of_trials(side_a, side_b))
    return Difference(
        message("diff.conclusion", conclusion),
        sides=(side_a, side_b),
        tables=_tables(comparisons, claims, places),
        notes=notes,
        lists={"Settings that differ": [*settings.values()], "Runs that differ": [*origins.values()]},
    )


def _claim_key(a: Side, b: Side) -> list[str]:
    """Returns the columns that name a claim; where conditions are taken together otherwise, also what it is about."""
    is_alike = a.evidence.facts.over.form == b.evidence.facts.over.form
    return ["claim"] if is_alike else ["claim", "task"]


def _agreement(comparisons: Matched, claims: Matched) -> str:
    """Says how many verdicts, claims and numbers of the comparisons in both reports differ."""
    total = len(comparisons.pairs)
    if not total:
        return message("diff.nothing_in_both")
    shares: list[str] = []
    for noun, matched in (("verdict", comparisons), ("claim", claims)):
        changed = len(matched.changed_verdicts)
        if changed:
            shares.append(message("diff.share", changed, len(matched.pairs), noun))
    verdicts = message("diff.changed", shares) if shares else message("diff.same_verdicts")
    if not comparisons.changed_numbers:
        return message("diff.same_numbers", verdicts)
    share = message("diff.share", len(comparisons.changed_numbers), total, "comparison")
    return f"{verdicts}; {message('diff.other_numbers', share)}"


def _beside(comparisons: Matched, num_settings: int) -> Iterator[str]:
    """Yields how many comparisons are only in one report, and how many settings differ."""
    for letter, rows in (("A", comparisons.only_a), ("B", comparisons.only_b)):
        if rows:
            yield message("diff.alone", len(rows), letter)
    if num_settings == 1:
        yield message("diff.one_setting")
    elif num_settings:
        yield message("diff.settings", num_settings)


def differences(a: Mapping[str, object], b: Mapping[str, object]) -> dict[str, str]:
    """Returns path → `path: in A → in B` where two flat mappings differ."""
    lines: dict[str, str] = {}
    for path in dict.fromkeys([*a, *b]):
        value_a = a.get(path, NOTHING)
        value_b = b.get(path, NOTHING)
        if value_a != value_b:
            lines[path] = f"{path}: {_setting_in_words(value_a)} → {_setting_in_words(value_b)}"
    return lines


def _setting_in_words(value: object) -> str:
    """Returns a setting in words, without passwords."""
    words = shown(value, 200) if isinstance(value, (dict, list)) else short_label(value)
    return masked(text(words))


def _varying_places(a: Side, b: Side) -> list[str]:
    """Returns those of task and metric in which the planned comparisons of two reports differ."""
    planned = [*planned_rows(a.comparisons), *planned_rows(b.comparisons)]
    return [column for column in ("task", "metric") if len({row[column] for row in planned}) > 1]


def _notes_on_verdicts(comparisons: Matched, claims: Matched, changed_paths: Sequence[str]) -> list[str]:
    """Says what changed verdicts, and baselines that differ, do not show."""
    notes: list[str] = []
    if comparisons.changed_verdicts or claims.changed_verdicts:
        notes.append(message("diff.evidence"))
    baseline_paths = [path for path in changed_paths if path.partition(".")[0] in BASELINE_SECTIONS]
    if comparisons.pairs and baseline_paths:
        paths = joined(baseline_paths[:MAX_PATHS])
        if len(baseline_paths) > MAX_PATHS:
            paths = message("diff.more_paths", paths)
        notes.append(message("diff.baselines", paths))
    return notes


def _only_in_one(noun: str, matched: Matched, places: Sequence[str]) -> list[str]:
    """Returns notes that name the compared rows that only one of two reports has."""
    notes: list[str] = []
    for letter, rows in (("A", matched.only_a), ("B", matched.only_b)):
        if rows:
            notes.append(message("diff.only", noun, letter, [_named(row, places) for row in rows]))
    return notes


def _agreement_of_trials(a: Side, b: Side) -> str:
    """Says how far the trials of one variant, task and seed agree."""
    columns = sorted({a.evidence.facts.column, b.evidence.facts.column})
    if len(columns) > 1:
        return message("diff.other_columns", columns)
    column = columns[0]
    keys = ["variant", "task", "seed"]
    trials_a = a.evidence.trials[["id", *keys, column]]
    trials_b = b.evidence.trials[["id", *keys, column]]
    both = trials_a.merge(trials_b, on=keys, suffixes=("_a", "_b"))
    values = both[[f"{column}_a", f"{column}_b"]].astype(float)
    gaps = values.diff(axis=1).iloc[:, 1].abs()
    # Two that have no value agree.
    is_equal = (gaps == 0) | values.isna().all(axis=1)
    is_same_trial = both["id_a"] == both["id_b"]
    if both.empty:
        return message("diff.no_trials")
    largest = brief(gaps.max()) if gaps.max() > 0 else ""
    return message("diff.trials", len(both), int(is_equal.sum()), column, int(is_same_trial.sum()), largest)


def _tables(comparisons: Matched, claims: Matched, places: Sequence[str]) -> list[Table]:
    """Returns a table each of changed verdicts, changed claims, and other numbers; none without rows."""
    only_numbers = [pair for pair in comparisons.changed_numbers if not pair.verdict_changed]
    tables: list[Table] = []
    if comparisons.changed_verdicts:
        tables.append(_comparison_table("Verdicts that changed", comparisons.changed_verdicts, places))
    if claims.changed_verdicts:
        tables.append(_claim_table("Claims that changed", claims.changed_verdicts))
    if only_numbers:
        tables.append(_comparison_table("Same verdicts, other numbers", only_numbers, places))
    return tables


def _named(row: Row, places: Sequence[str]) -> str:
    """Returns the name of a comparison or claim, with what it has in the columns `places`."""
    name = text(row["name"])
    if not places:
        return name
    where = [spelled(text(row[column])) if column == "metric" else text(row[column]) for column in places]
    return f"{name} ({', '.join(where)})"


def _comparison_table(caption: str, pairs: Sequence[Pair], places: Sequence[str]) -> Table:
    """Returns a table of comparisons, two rows each; see `_rows`."""
    if "metric" not in places:
        caption += f": {spelled(text(pairs[0].a['metric']))}"
    columns = [
        Column("name", "Variant"),
        Column("of", ""),
        Column("verdict", "Verdict"),
        Column("mean", "Mean", True),
        Column("difference", "Difference [interval]", True),
        Column("apart", "Intervals"),
    ]
    return Table(columns, _rows(pairs, places), caption + _directions(pairs))


def _claim_table(caption: str, pairs: Sequence[Pair]) -> Table:
    """Returns a table of claims, two rows each; see `_rows`."""
    columns = [
        Column("name", "Claim"),
        Column("of", ""),
        Column("verdict", "Verdict"),
        Column("difference", "Difference [interval]", True),
        Column("apart", "Intervals"),
    ]
    return Table(columns, _rows(pairs, []), caption + _directions(pairs))


def _rows(pairs: Sequence[Pair], places: Sequence[str]) -> list[dict[str, str]]:
    """Returns two rows for each pair, A above B, so that intervals lie side by side."""
    rows: list[dict[str, str]] = []
    for pair in pairs:
        rows.append({"name": _named(pair.a, places), "of": "A", "apart": "", **cells(pair.a)})
        rows.append({"name": "", "of": "B", "apart": _apart_in_words(pair.apart), **cells(pair.b)})
    return rows


def _apart_in_words(is_apart: bool | None) -> str:
    """Returns `apart` or `overlap`, of two intervals."""
    if is_apart is None:
        return NOTHING
    return message("diff.apart" if is_apart else "diff.overlap")


def _directions(pairs: Sequence[Pair]) -> str:
    """Names the metrics of which less is better."""
    less = [spelled(text(pair.a["metric"])) for pair in pairs if pair.a["less"]]
    return message("verdicts.less_is_better", list(dict.fromkeys(less))) if less else ""
