"""The verdicts, every comparison with all its numbers, the claims, judged, and how steadily each variant trains."""

from collections.abc import Iterator, Sequence
from typing import Any

from ablate.base import wording
from ablate.core.facts import StudyFacts
from ablate.core.short_names import short_claim
from ablate.core.spelling import as_sentence, spelled
from ablate.report.data_words import pairs_share_data, stated_of
from ablate.report.section import Block, Folded, ReportData, Section, Terms, Text
from ablate.report.treatment_words import size_column
from ablate.report.verdict_words import verdict_column
from ablate.report.verdicts import (
    Names,
    claim_table,
    difference_column,
    difference_of,
    direction_of,
    less_is_better,
    level_of,
    mean_columns,
    names_of,
    planned_rows,
    reason_column,
    variant_column,
    verdict_tables,
)
from ablate.report.words import (
    NOTHING,
    Column,
    Row,
    Table,
    codes,
    count,
    decimals,
    fixed,
    interval,
    is_true,
    message,
    number,
    rows_of,
    shown,
    tabulated,
    text,
)

GUIDE = ("better", "worse", "equivalent", "inconclusive")


class Verdicts(Section, title="Verdicts", open=True):
    """The planned comparisons, a table a task and metric, with a guide to them."""

    def blocks(self, report_data: ReportData) -> Iterator[Block]:
        rows, margin = planned_rows(report_data.comparisons), report_data.facts.margin
        if not rows:
            return
        yield from verdict_tables(rows, report_data.facts)
        replanned = report_data.facts.replanned
        is_margin_late = replanned is not None and replanned.changes_path("metric.margin")
        present = {row["verdict"] for row in rows}
        less = bool(less_is_better(rows, report_data.facts))
        is_apart = not pairs_share_data(report_data.facts)
        is_rated = any(number(row["solved_variant"]) is not None for row in rows)
        known: dict[str, dict[str, Any]] = {
            "better": {"less": less, "unit": report_data.facts.unit, "rated": is_rated},
            "worse": {"less": less, "unit": report_data.facts.unit, "rated": is_rated},
            "equivalent": {"margin": margin, "late": is_margin_late, "given": report_data.facts.given},
        }
        terms = [
            (verdict, message(f"verdicts.{verdict}", **known.get(verdict, {})))
            for verdict in GUIDE
            if verdict in present
        ]
        terms += [
            (word.capitalize(), message(f"verdicts.{word}", report_data.facts.given, is_apart))
            for word in ("difference", "detectable")
        ]
        size = size_column(rows, report_data.facts)
        if size is not None:
            terms.append((size.heading, message("treatment.sizes")))
        yield Folded(message("verdicts.guide"), [Terms(terms)])


class Comparisons(Section, title="Every comparison", inside="all metrics and the placebo, with p"):
    """The other metrics and the placebo included."""

    def blocks(self, report_data: ReportData) -> Iterator[Block]:
        names, rows = names_of(report_data.facts), rows_of(report_data.comparisons)
        unit = "document" if report_data.facts.given == "documents" else report_data.facts.unit
        columns = [
            variant_column(names),
            Column("task", "Task", varying=True),
            metric_column(varying=True),
            verdict_column(report_data.facts),
            difference_column(report_data.facts, "Difference"),
            *mean_columns(),
            Column("p", "p", True, show=lambda row: shown(row["p"], wording.p_value)),
            Column("n", as_sentence(f"{unit}s"), True, show=lambda row: count(row["n"])),
            Column("settings", "Settings", below=True),
            reason_column(report_data.facts),
        ]
        if rows:
            caption = message(
                "cost.every", less_is_better(rows, report_data.facts), over_seeds_alone(report_data)
            )
            yield tabulated(columns, rows, caption, "comparisons.csv")


def over_seeds_alone(report_data: ReportData) -> list[str]:
    """Returns the metrics without outcomes by example, in words; none where no metric has them."""
    by_example = {*report_data.evidence.examples["metric"]}
    if not by_example:
        return []
    return [spelled(name) for name in report_data.comparisons["metric"].unique() if name not in by_example]


def metric_column(*, varying: bool = False) -> Column:
    """Returns the column of the metric of each row, in words."""
    return Column("metric", "Metric", show=lambda row: spelled(text(row["metric"])), varying=varying)


class Claims(Section, title="Claims", needs_trials=False, open=True):
    """One row a claim."""

    def answers(self, report_data: ReportData) -> list[str]:
        """Claims about other metrics than those of the verdicts."""
        facts = report_data.facts
        found: dict[str, list[str]] = {}
        for row in rows_of(report_data.claims):
            if row["metric"] != facts.metric and not is_true(row["exploratory"]):
                found.setdefault(row["verdict"], []).append(short_claim(row["claim"], facts))
        said = [
            message("verdicts.claimed", verdict, found[verdict])
            for verdict in ("supported", "refuted")
            if verdict in found
        ]
        return [" ".join(said)] if said else []

    def blocks(self, report_data: ReportData) -> Iterator[Block]:
        if len(report_data.claims):
            yield claim_table(
                report_data.claims, report_data.facts, level_of(planned_rows(report_data.comparisons))
            )


RATE = "divergence_rate"


class Stability(
    Section,
    title="Stability",
    inside="divergence, learning-rate sensitivity and the spread over seeds",
):
    """What differs, and where runs diverged; the rest is folded."""

    def applies(self, report_data: ReportData) -> bool:
        return any(row["n"] > 0 for row in rows_of(report_data.table("stability")))

    def findings(self, report_data: ReportData) -> list[str]:
        found = lost(rows_of(report_data.table("stability")), names_of(report_data.facts))
        return [message("stability.diverged", found)] if found else []

    def blocks(self, report_data: ReportData) -> Iterator[Block]:
        facts, rows = report_data.facts, rows_of(report_data.table("stability"))
        some = [row for row in rows if notable(row)]
        yield (
            stability_table(some, rows, facts)
            if some
            else Text(message("stability.nothing", bool(facts.given)))
        )
        source = "given" if facts.given else "stated" if stated_of(facts) is not None else "ours"
        known = sorted(codes("stability") & {row["metric"] for row in rows})
        terms = Terms(
            [(spelled(metric), message(f"stability.{metric}", source, facts.unit)) for metric in known]
        )
        every = [stability_table(rows, rows, facts)] if len(some) < len(rows) else []
        yield Folded(message("stability.every", len(rows) if every else 0), [*every, terms])


def notable(row: Row) -> bool:
    """Whether its interval excludes 0, or a run diverged."""
    if row["metric"] == RATE:
        return bool(number(row["mean_variant"]) or number(row["mean_baseline"]))
    low, high = number(row["ci_low"]), number(row["ci_high"])
    return low is not None and high is not None and (low > 0 or high < 0)


def lost(rows: Sequence[Row], names: Names) -> list[str]:
    """`2 of 5 with post norm`, for each variant and task of which some run diverged, on the most seeds of any pair."""
    several = len({row["task"] for row in rows}) > 1
    found: dict[tuple[str, str], str] = {}
    for row in sorted((row for row in rows if row["metric"] == RATE), key=lambda row: number(row["n"]) or 0):
        n, task = int(number(row["n"]) or 0), text(row["task"])
        for side in ("variant", "baseline"):
            if diverged := round((number(row[f"mean_{side}"]) or 0.0) * n):
                found[row[side], task] = message(
                    "stability.lost", diverged, n, names.get(row[side], row[side]), task if several else ""
                )
    return list(found.values())


def stability_table(rows: Sequence[Row], every: Sequence[Row], facts: StudyFacts) -> Table:
    """Rows of `analysis.stability`; its caption says how many of `every` would exclude 0 by chance."""

    def change(row: Row) -> str:
        if row["kind"] == "rate":
            return NOTHING
        return difference_of(row, direction_of(facts, row["task"], row["metric"]))

    names = names_of(facts)
    columns = [
        variant_column(names),
        Column("task", "Task", varying=True),
        metric_column(),
        Column("mean_variant", "Variant [95 %]", True, show=lambda row: side_words(row, "variant")),
        Column("mean_baseline", "Baseline [95 %]", True, show=lambda row: side_words(row, "baseline")),
        Column("difference", "Difference [95 %]", True, show=change),
        reason_column(facts),
    ]
    tested = sum(number(row["p"]) is not None for row in every)
    by_chance = wording.exact(round(0.05 * tested, 1))
    caption = message("stability.caption", tested, by_chance, less_is_better(rows, facts))
    return tabulated(columns, rows, caption, "stability.csv")


def side_words(row: Row, side: str) -> str:
    """`2 of 5 [0.05, 0.85]` of a rate, `0.12 [0.10, 0.14]` of anything else."""
    low, high, mean = (number(row[f"{of}_{side}"]) for of in ("low", "high", "mean"))
    if mean is None:
        return NOTHING
    places, n = 2 if row["kind"] == "rate" else decimals(low, high), int(number(row["n"]) or 0)
    told = message("stability.rate", round(mean * n), n) if row["kind"] == "rate" else fixed(mean, places)
    return told if low is None or low == high else f"{told} {interval(low, high, places)}"
