"""The verdicts, every comparison with all its numbers, the claims, judged, and how steadily each variant trains."""

from collections.abc import Iterator, Sequence

from ablate.analysis.comparison_row import ALSO
from ablate.analysis.condition_descriptions import describe_over_conditions
from ablate.analysis.judge import DECIDED_CLAIM
from ablate.analysis.runs import runs_of
from ablate.base import wording
from ablate.core.facts import BASELINE, StudyFacts
from ablate.core.short_names import runner_up_name, short_claim
from ablate.core.spelling import as_sentence, spelled
from ablate.report.figures.facets import cells_of, figure_names
from ablate.report.section import Block, Folded, ReportData, Section, Terms, Text
from ablate.report.sentences.data_words import pairs_share_data
from ablate.report.sentences.levels import level_of_claims
from ablate.report.sentences.provenance_words import provenance_words
from ablate.report.sentences.replication_words import replication_words
from ablate.report.sentences.resolution_words import resolution_column
from ablate.report.sentences.terms import detectable_meaning
from ablate.report.sentences.treatment_words import size_column
from ablate.report.sentences.verdict_words import verdict_column
from ablate.report.tables.claim_tables import NOT_TESTED, claim_table, claim_verdict
from ablate.report.tables.directions import direction_of, less_in_caption, less_is_better
from ablate.report.tables.over_conditions import Descriptions, guide_to_conditions, judged_tables
from ablate.report.tables.verdicts import (
    Names,
    difference_column,
    difference_of,
    mean_columns,
    names_of,
    planned_rows,
    reason_column,
    variant_column,
)
from ablate.report.words import (
    CONDITION_COLUMN,
    NOTHING,
    Column,
    Row,
    Table,
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


class Verdicts(Section, title="Verdicts", open=True):
    """The planned comparisons, a table a task and metric, with a guide to them."""

    def blocks(self, report_data: ReportData) -> Iterator[Block]:
        facts = report_data.facts
        rows = planned_rows(report_data.comparisons)
        if not rows:
            return
        descriptions = descriptions_of(report_data)
        yield from judged_tables(
            report_data.comparisons,
            facts,
            interactions=report_data.table("interactions"),
            conditions=report_data.table("conditions"),
            descriptions=descriptions,
        )
        terms = _guide(rows, facts)
        if facts.over.joins_conditions:
            terms += guide_to_conditions(facts, is_described=bool(descriptions))
        yield Folded(message("verdicts.guide"), [Terms(terms)])


def descriptions_of(report_data: ReportData) -> Descriptions:
    """Returns the descriptions of what is compared over conditions; none where nothing is."""
    if not report_data.facts.over.joins_conditions:
        return {}
    return describe_over_conditions(runs_of(report_data.evidence))


def _guide(rows: Sequence[Row], facts: StudyFacts) -> list[tuple[str, str]]:
    """Returns the verdicts and columns of the planned rows, each with what it means."""
    present = {row["verdict"] for row in rows}
    terms = [(verdict, meaning) for verdict, meaning in _meanings(rows, facts).items() if verdict in present]
    terms.append(("Difference", message(_difference_code(facts))))
    terms.append(("Detectable", detectable_meaning(facts)))
    size = size_column(rows, facts)
    if size is not None:
        terms.append((size.heading, message("treatment.sizes")))
    if facts.placebos:
        terms.append(("Placebo", message("verdicts.placebo")))
    return terms


def _meanings(rows: Sequence[Row], facts: StudyFacts) -> dict[str, str]:
    """Returns what each verdict means, in the order of the guide."""
    sides = ("below", "above") if less_is_better(rows, facts) else ("above", "below")
    if any(number(row["solved_variant"]) is not None for row in rows):
        better = message("verdicts.better_by_rate", sides[0], facts.replication.run_name)
        worse = message("verdicts.worse_by_rate", sides[1], facts.replication.run_name)
    else:
        better = message("verdicts.better", sides[0])
        worse = message("verdicts.worse", sides[1])
    meanings = {"better": better, "worse": worse}
    if facts.margin is not None:
        replanned = facts.plan.replanned
        is_late = facts.is_given or (replanned is not None and replanned.changes_path("metric.margin"))
        code = "verdicts.equivalent_late" if is_late else "verdicts.equivalent"
        meanings["equivalent"] = message(code, facts.margin)
    return meanings | {"inconclusive": message("verdicts.inconclusive")}


def _difference_code(facts: StudyFacts) -> str:
    """Returns the code of the words for a difference: over pairs where runs are known to share something."""
    if facts.is_given:
        return "verdicts.difference"
    if pairs_share_data(facts):
        return "verdicts.difference_by_seed_and_data"
    return "verdicts.difference_by_seed"


class Comparisons(Section, title="Every comparison", inside="all metrics and the placebo, with p"):
    """The other metrics and the placebo included."""

    def blocks(self, report_data: ReportData) -> Iterator[Block]:
        names = {**names_of(report_data.facts), **_cell_names(report_data.facts)}
        rows = rows_of(report_data.comparisons)
        columns = [
            variant_column(names),
            CONDITION_COLUMN,
            metric_column(varying=True),
            verdict_column(report_data.facts),
            difference_column(report_data.facts, "Difference"),
            *mean_columns(),
            Column("p", "p", True, show=lambda row: shown(row["p"], wording.p_value)),
            Column(
                "n",
                as_sentence(f"{report_data.facts.replication.unit}s"),
                True,
                show=lambda row: count(row["n"]),
            ),
            Column("settings", "Settings", below=True, show=lambda row: _settings(row, names)),
            reason_column(report_data.facts),
            resolution_column(),
        ]
        if rows:
            less = less_in_caption(rows, report_data.facts)
            caption = message("cost.every", less, over_seeds_alone(report_data))
            yield tabulated(columns, rows, caption, "comparisons.csv")


def _settings(row: Row, names: Names) -> str:
    """Returns the settings that a row was judged at, with variants by their names for readers."""
    parts = []
    for part in text(row["settings"]).split("; "):
        if part.startswith(ALSO):
            part = ALSO + runner_up_name(part.removeprefix(ALSO), names)
        parts.append(part)
    return "; ".join(parts)


def _cell_names(facts: StudyFacts) -> dict[str, str]:
    """Returns the names of comparisons of cells with the baseline, which main effects of the same level have too."""
    names = figure_names(facts)
    return {f"{cell} vs {BASELINE}": names[cell] for cell in cells_of(facts)}


def over_seeds_alone(report_data: ReportData) -> str:
    """Returns the metrics with intervals over seeds alone, in words; "" where none has outcomes by example."""
    by_example = {*report_data.evidence.examples["metric"]}
    if not by_example:
        return ""
    metrics = report_data.comparisons["metric"].unique()
    alone = [spelled(name) for name in metrics if name not in by_example]
    return wording.joined(alone) if alone else ""


def metric_column(*, varying: bool = False) -> Column:
    """Returns the column of the metric of each row, in words."""
    return Column("metric", "Metric", show=lambda row: spelled(text(row["metric"])), varying=varying)


class Claims(Section, title="Claims", needs_trials=False, open=True):
    """One row a claim."""

    def answers(self, report_data: ReportData) -> list[str]:
        """Returns claims about other metrics than those of the verdicts; where claims alone are judged, all of them."""
        facts = report_data.facts
        are_alone = facts.family != "all"
        claims: dict[str, list[str]] = {}
        for row in rows_of(report_data.claims):
            if (are_alone or row["metric"] != facts.metric) and not is_true(row["exploratory"]):
                claims.setdefault(claim_verdict(row), []).append(short_claim(row["claim"], facts))
        told = [*DECIDED_CLAIM]
        if are_alone:
            told += ["inconclusive", NOT_TESTED]
        sentences = [
            message("verdicts.claimed", verdict, claims[verdict]) for verdict in told if verdict in claims
        ]
        return [" ".join(sentences)] if sentences else []

    def blocks(self, report_data: ReportData) -> Iterator[Block]:
        facts = report_data.facts
        if len(report_data.claims):
            yield claim_table(
                report_data.claims,
                facts,
                level_of_claims(planned_rows(report_data.comparisons), facts),
            )


RATE = "divergence_rate"


class Stability(
    Section,
    title="Stability",
    inside="divergence, learning-rate sensitivity and the spread over seeds",
):
    """What differs, and where runs diverged; the rest is folded."""

    def applies(self, report_data: ReportData) -> bool:
        has_runs = report_data.facts.replication.has_runs
        return has_runs and any(row["n"] > 0 for row in rows_of(report_data.table("stability")))

    def findings(self, report_data: ReportData) -> list[str]:
        runs = lost(rows_of(report_data.table("stability")), names_of(report_data.facts))
        return [message("stability.diverged", runs)] if runs else []

    def blocks(self, report_data: ReportData) -> Iterator[Block]:
        facts = report_data.facts
        rows = rows_of(report_data.table("stability"))
        shown = [row for row in rows if notable(row)]
        if shown:
            yield stability_table(shown, rows, facts)
        else:
            yield Text(message(replication_words(facts.replication).nothing_unstable))
        metrics = {row["metric"] for row in rows}
        meanings = {metric: meaning for metric, meaning in _metric_codes(facts).items() if metric in metrics}
        terms = Terms([(spelled(metric), message(code)) for metric, code in meanings.items()])
        if len(shown) < len(rows):
            every = stability_table(rows, rows, facts)
            yield Folded(message("stability.every", len(rows)), [every, terms])
        else:
            yield Folded(message("stability.meanings"), [terms])


def _metric_codes(facts: StudyFacts) -> dict[str, str]:
    """Returns metric of stability → the code of its meaning."""
    return {
        RATE: provenance_words(facts).divergence_rate,
        "lr_sensitivity": "stability.lr_sensitivity",
        "seed_spread": "stability.seed_spread" if facts.replication.says_seeds else "stability.run_spread",
    }


def notable(row: Row) -> bool:
    """Returns whether its interval excludes 0, or a run diverged."""
    if row["metric"] == RATE:
        return bool(number(row["mean_variant"]) or number(row["mean_baseline"]))
    low = number(row["ci_low"])
    high = number(row["ci_high"])
    return low is not None and high is not None and (low > 0 or high < 0)


def lost(rows: Sequence[Row], names: Names) -> list[str]:
    """Returns `2 of 5 with post norm`, for each variant and task of which some run diverged.

    Counted on the most seeds of any pair.
    """
    has_several = len({row["task"] for row in rows}) > 1
    rates = [row for row in rows if row["metric"] == RATE]
    rates.sort(key=lambda row: number(row["n"]) or 0)
    told: dict[tuple[str, str], str] = {}
    for row in rates:
        n = int(number(row["n"]) or 0)
        task = text(row["task"])
        for side in ("variant", "baseline"):
            diverged = round((number(row[f"mean_{side}"]) or 0.0) * n)
            if diverged:
                name = names.get(row[side], row[side])
                told[row[side], task] = message(
                    "stability.lost", diverged, n, name, task if has_several else ""
                )
    return list(told.values())


def stability_table(rows: Sequence[Row], every: Sequence[Row], facts: StudyFacts) -> Table:
    """Returns rows of `analysis.stability` as a table.

    Its caption says how many of `every` would exclude 0 by chance.
    """

    def change(row: Row) -> str:
        if row["kind"] == "rate":
            return NOTHING
        return difference_of(row, direction_of(facts, row["task"], row["metric"]))

    names = names_of(facts)
    columns = [
        variant_column(names),
        CONDITION_COLUMN,
        metric_column(),
        Column("mean_variant", "Variant [95 %]", True, show=lambda row: side_words(row, "variant")),
        Column("mean_baseline", "Baseline [95 %]", True, show=lambda row: side_words(row, "baseline")),
        Column("difference", "Difference [95 %]", True, show=change),
        reason_column(facts),
    ]
    tested = sum(number(row["p"]) is not None for row in every)
    by_chance = wording.exact(round(0.05 * tested, 1))
    caption = message("stability.caption", less_in_caption(rows, facts), tested, by_chance)
    return tabulated(columns, rows, caption, "stability.csv")


def side_words(row: Row, side: str) -> str:
    """Returns `2 of 5 [0.05, 0.85]` of a rate, `0.12 [0.10, 0.14]` of anything else."""
    mean = number(row[f"mean_{side}"])
    low = number(row[f"low_{side}"])
    high = number(row[f"high_{side}"])
    if mean is None:
        return NOTHING
    if row["kind"] == "rate":
        n = int(number(row["n"]) or 0)
        places = 2
        value = message("stability.rate", round(mean * n), n)
    else:
        places = decimals(low, high)
        value = fixed(mean, places)
    return value if low is None or low == high else f"{value} {interval(low, high, places)}"
