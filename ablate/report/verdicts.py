"""The verdicts, the claims and the noise of a study as tables: the same for page, markdown, terminal and MLflow.

Made of frames or of the rows of CSV files; imports neither pandas nor matplotlib.
"""

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ablate.core.dated_plan import ADDED, CHANGED, KNOWN
from ablate.core.derived import DERIVED
from ablate.core.facts import ALL_PAIRS, BASELINE, StudyFacts
from ablate.core.metric import Direction, Metric
from ablate.core.short_names import in_short_names, level_name, short_claim, short_names
from ablate.core.spelling import as_sentence, spelled
from ablate.report.lost_runs import left_out_column
from ablate.report.treatment_words import (
    are_treated_alike,
    size_column,
    treatment_column,
    treatment_in_caption,
)
from ablate.report.verdict_words import verdict_column
from ablate.report.words import (
    NOTHING,
    Column,
    Row,
    Table,
    because,
    count,
    decimals,
    difference,
    fixed,
    is_true,
    message,
    number,
    rows_of,
    significant,
    tabulated,
    text,
)

UNSEEN = "unseen "  # The reason of what is equivalent: what that does not exclude.
# The plan mark of a row → its words.
PLAN_MARKS = {
    CHANGED: "replanned.mark_changed",
    ADDED: "replanned.mark_added",
    KNOWN: "replanned.mark_known",
}
Names = Mapping[str, str]  # Variant → its name for readers.


def names_of(facts: StudyFacts) -> Names:
    """Returns the names of variants, and of the levels that a factorial compares; no two levels share one."""
    levels = {f"{path}={level}": (path, level) for path, levels in facts.factors.items() for level in levels}
    told = {name: facts.labels.get(name) or level_name(*of) for name, of in levels.items()}
    counts = Counter(told.values())
    named = {name: short if counts[short] == 1 else name for name, short in told.items()}
    named |= short_names(facts)
    # Where not all are compared with one, a row is named by both.
    every = itertools.permutations((v.name for v in facts.variants), 2) if facts.compare == ALL_PAIRS else ()
    return named | {f"{a} vs {b}": f"{named[a]} vs {named[b]}" for a, b in every}


def row_name(row: Row, names: Names) -> str:
    """The variant of a row, and what it is compared with where `names` has both."""
    pair = f"{row['variant']} vs {row.get('baseline')}"
    return text(names.get(pair) or names.get(row["variant"], row["variant"]))


def compared_with(facts: StudyFacts) -> str:
    """`the baseline`, or what a study compares its variants with in its place; nothing where it is all others."""
    if facts.compare == ALL_PAIRS:
        return ""
    return (
        "the baseline" if facts.compare == BASELINE else short_names(facts).get(facts.compare, facts.compare)
    )


def shared_rate(facts: StudyFacts) -> str:
    """Returns the learning rate that all variants share and nothing has tuned: `learning rate 0.003`; else nothing."""
    name, _, value = facts.rate.rpartition(" ")
    return f"{spelled(name)} {value}" if name else facts.rate


def planned_rows(comparisons: Any) -> list[Row]:
    """The rows of a frame, or of a sequence of mappings, that the study planned: those that have a verdict."""
    return [row for row in rows_of(comparisons) if not is_true(row.get("exploratory"))]


def verdict_tables(comparisons: Any, facts: StudyFacts) -> Iterator[Table]:
    """The planned comparisons, a table a task, with what they hold at that was not tuned."""
    rows, names = planned_rows(comparisons), names_of(facts)
    several = len({row["task"] for row in rows}) > 1
    for task, metric in dict.fromkeys((row["task"], row["metric"]) for row in rows):
        mine = [row for row in rows if (row["task"], row["metric"]) == (task, metric)]
        seeds = sorted({int(number(row["n"]) or 0) for row in mine})
        caption = message(
            "verdicts.caption",
            metric=spelled(text(metric)),
            less=direction_of(facts, task, metric) == "min",
            task=text(task) if several else "",
            seeds=seeds,
            comparisons=len(rows),
            claims=family(rows, len(facts.looks) or 1) - len(rows),
            against=compared_with(facts),
            crossed=facts.compare == BASELINE != text(mine[0]["baseline"]),
            given=facts.how_given,
        )
        if unseen := {why for row in mine if (why := text(row.get("reason"))).startswith(UNSEEN)}:
            # What holds for every row is said once.
            caption += message("verdicts.unseen", because(max(unseen)))
        rated = all(number(row.get("solved_variant")) is not None for row in mine)
        heading = as_sentence(f"{facts.unit}s solved") if rated else f"Difference [{level_of(mine)}]"
        columns = [variant_column(names), verdict_column(facts)]
        columns.append(difference_column(facts, heading))
        size = size_column(mine, facts)
        if size is not None:
            columns.append(size)
        columns += mean_columns(spare=True)
        caption += treatment_in_caption(mine, facts) + marks_in_caption(mine)
        columns.append(treatment_column(shown=not are_treated_alike(mine, facts)))
        columns.append(reason_column(facts, marked=not are_marked_alike(mine)))
        columns.append(left_out_column(facts))
        yield tabulated(columns, mine, caption, "comparisons.csv")


def family(rows: Sequence[Row], looks: int) -> int:
    """M of the level 1 − 0.05·w/M at which the rows of a study are judged; w is the share of their look."""
    levels = [(level, row) for row in rows if (level := number(row.get("level"))) is not None and level < 1]
    shares = [(1 - level) / (number(row.get("look")) or 1) for level, row in levels]
    return round(0.1 / (looks * (looks + 1)) / max(shares)) if shares else 1


def plan_mark(row: Row) -> str:
    """Returns `changed after results`, `added after results` or `planned after results` for a row; else ""."""
    mark = text(row.get("plan"))
    return message(PLAN_MARKS[mark]) if mark else ""


def marks_in_caption(rows: Sequence[Row]) -> str:
    """Returns the end of a caption that counts the rows not as first planned; "" where all are."""
    marks = [plan_mark(row) for row in rows if plan_mark(row)]
    if not marks:
        return ""
    if are_marked_alike(rows):
        return message("replanned.all_marked", marks[0])
    return message("replanned.some_marked", len(marks), len(rows))


def are_marked_alike(rows: Sequence[Row]) -> bool:
    """Returns whether all rows of a table have the same plan mark, which is then said once."""
    return len({plan_mark(row) for row in rows}) == 1


def variant_column(names: Names) -> Column:
    """The variant of a row, by its name for readers."""
    return Column("variant", "Variant", show=lambda row: row_name(row, names))


def mean_columns(*, spare: bool = False) -> list[Column]:
    """The means of both sides, to the digits of the interval, and the smallest detectable difference."""

    def mean(side: str) -> Callable[[Row], str]:
        return lambda row: fixed(row.get(f"mean_{side}"), decimals(row.get("ci_low"), row.get("ci_high")))

    return [
        Column("mean_variant", "Variant mean", True, show=mean("variant"), spare=spare),
        Column("mean_baseline", "Baseline mean", True, show=mean("baseline"), spare=spare),
        Column("mde", "Detectable", True, show=detectable, spare=spare),
    ]


def reason_column(facts: StudyFacts, *, marked: bool = True) -> Column:
    """Why a verdict is what it is, in words; what all that are equivalent have is in the caption.

    marked: whether it says of a row that it was planned after results.
    """
    names = names_of(facts)

    def reason(row: Row) -> str:
        found = text(row.get("reason"))
        words = "" if found.startswith(UNSEEN) else in_short_names(because(found, unit=facts.unit), names)
        return "; ".join(filter(None, (words, plan_mark(row) if marked else "")))

    return Column("reason", "Reason", below=True, show=reason)


def level_of(rows: Sequence[Row]) -> str:
    """`99.3 %`: the level of the intervals of some rows."""
    levels = [level for row in rows if (level := number(row.get("level"))) is not None]
    return f"{100 * max(levels, default=0.95):.3g} %"


def direction_of(facts: StudyFacts, task: Any, metric: str) -> Direction:
    """Returns whether more (`max`) or less (`min`) of a metric is better on a task, by name.

    A ratio of times or of memory stays as it is measured, and so does a metric that nobody declares: `max`.
    """
    # First those of the task, since tasks may differ; a claim that no task has decided names none.
    for one in sorted(facts.tasks, key=lambda one: one.name != task):
        known = one.metrics.get(metric) or one.stability.get(metric)
        if known is not None:
            return known.direction
    found = DERIVED.get(metric)
    return "max" if found is None or found.kind == "ratio" else found.metric.direction


def is_share(metric: Metric) -> bool:
    """Returns whether a metric is a share of 1, whose differences are points of a hundred."""
    return metric.ceiling == 1 and metric.floor is not None and metric.floor >= 0


def own_direction(row: Row, direction: Direction) -> dict[str, Any]:
    """Returns a row with `diff`, `ci_low` and `ci_high` as variant minus baseline, in the direction of its metric.

    Tables and files keep them oriented, so that positive is better; where less is better they change their signs, and
    the ends of the interval their places. Turned twice, a row has the numbers that it had.
    """
    if direction == "max":
        return dict(row)
    sources = {"diff": "diff", "ci_low": "ci_high", "ci_high": "ci_low"}
    return {**row, **{name: _negated(row.get(source)) for name, source in sources.items()}}


def _negated(value: Any) -> float | None:
    known = number(value)
    return None if known is None else -known


def less_is_better(rows: Sequence[Row], facts: StudyFacts) -> list[str]:
    """Returns the metrics of some rows of which less is better, in words."""
    metrics = dict.fromkeys((row.get("task"), text(row["metric"])) for row in rows)
    less = [spelled(metric) for task, metric in metrics if direction_of(facts, task, metric) == "min"]
    return list(dict.fromkeys(less))


def difference_column(facts: StudyFacts, heading: str) -> Column:
    """Returns the column of the differences, each in the direction of its metric."""

    def show(row: Row) -> str:
        return difference_of(row, direction_of(facts, row.get("task"), row["metric"]))

    return Column("difference", heading, True, show=show)


def difference_of(row: Row, direction: Direction) -> str:
    """Returns variant minus baseline with its interval; of rates the seeds that solved the task on each side."""
    if number(row.get("solved_variant")) is None:
        turned = own_direction(row, direction)
        return difference(turned.get("diff"), turned.get("ci_low"), turned.get("ci_high"))
    variant, baseline, n = (int(float(row[name])) for name in ("solved_variant", "solved_baseline", "n"))
    return message("verdicts.solved", variant, baseline, n)


def detectable(row: Row) -> str:
    """The smallest difference that is found with 80 % power; of rates in seeds that one side alone solves."""
    mde = number(row.get("mde"))
    if mde is None:
        return NOTHING
    by_rate = number(row.get("solved_variant")) is not None
    return shown_as(mde, by_rate, int(float(row["n"]))) or message("verdicts.no_mde")


def shown_as(mde: float, by_rate: bool, n: int) -> str:
    """A difference, or as many of `n` seeds; nothing where it is infinite."""
    if not math.isfinite(mde):
        return ""
    return message("verdicts.seeds", round(mde), n) if by_rate else significant(mde)


def claim_table(claims: Any, facts: StudyFacts, level: str) -> Table:
    """The claims of a study, judged; `level` is that of their intervals."""
    rows = rows_of(claims)
    columns = [
        Column("claim", "Claim", words=True, show=lambda row: text(short_claim(row["claim"], facts))),
        Column("verdict", "Verdict"),
        difference_column(facts, f"Difference [{level}]"),
        Column("n", "n", True, show=lambda row: count(row.get("n")), spare=True),
        treatment_column(),
        reason_column(facts, marked=not are_marked_alike(rows)),
    ]
    late = sum(is_true(row.get("exploratory")) for row in rows)
    caption = message("verdicts.claims", late, len(rows), facts.given, less_is_better(rows, facts))
    caption += marks_in_caption(rows)
    return tabulated(columns, rows, caption, "claims.csv")
