"""How the factors of a study act together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np
import pandas as pd

from ablate.analysis.family import crossed_levels
from ablate.core.facts import BASELINE, Claim, Evidence, Less, StudyFacts, TaskFacts
from ablate.core.short_names import level_name, short_names
from ablate.core.spelling import as_sentence, spelled, spelled_paths
from ablate.report.figures.facets import cells_of
from ablate.report.figures.interaction import MAX_PAIRS, interaction
from ablate.report.section import Block, Picture, ReportData, Section, by_task
from ablate.report.sentences.dependence import MOST_ANSWERED, is_clear
from ablate.report.tables.directions import direction_of, less_is_better
from ablate.report.tables.verdicts import Names, difference_of, names_of
from ablate.report.words import (
    CONDITION_COLUMN,
    Column,
    Row,
    Table,
    count,
    message,
    number,
    paragraph,
    rows_of,
    tabulated,
)


class Interaction(Section, title="How changes act together", open=True):
    """A table of interactions, and a figure a task: pairs of factors, and what claims of an interaction compare."""

    def answers(self, report_data: ReportData) -> list[str]:
        """Returns the largest interactions of each task of a factorial, with their intervals.

        Those that are clear stand beside the main effects that hide them.
        """
        facts = report_data.facts
        if facts.over.joins_conditions:
            return []  # They are of single conditions, which are exploratory.
        names = names_of(facts)
        rows = rows_of(report_data.table("interactions"))
        lines = []
        for task in facts.tasks:
            estimated = [row for row in rows if row["task"] == task.name and number(row["diff"]) is not None]
            others = [row for row in estimated if not is_clear(row)]
            if not others:
                continue
            others.sort(key=lambda row: -abs(row["diff"]))
            told = [
                message("interaction.of", *_both(row, names), _difference(row, facts))
                for row in others[:MOST_ANSWERED]
            ]
            where = task.name if len(facts.tasks) > 1 else ""
            beside_clear = len(others) < len(estimated)
            if len(others) > len(told):
                lines.append(message("interaction.largest", where, told, len(others), beside_clear))
            else:
                lines.append(message("interaction.answer", where, told, beside_clear))
        return lines

    def blocks(self, report_data: ReportData) -> Iterator[Block]:
        facts = report_data.facts
        rows = rows_of(report_data.table("interactions"))
        if rows:
            yield interaction_table(rows, facts)
        for task, end, of in by_task(facts):
            if facts.metric not in task.metrics:
                continue
            data = interactions(report_data.evidence, task)
            if data["value"].isna().all():
                continue
            num_pairs = data["pair"].nunique()
            shown = min(num_pairs, MAX_PAIRS)
            caption = message("figures.interaction", facts.metric)
            if shown < num_pairs:
                caption = paragraph(caption, message("figures.first_pairs", shown, num_pairs))
            yield Picture(
                f"interaction{end}",
                f"{self.title}{of}",
                caption,
                message("figures.interaction_alt", facts.metric, shown, of),
                data,
                interaction,
                (spelled(facts.metric),),
            )


def interaction_table(rows: Sequence[Row], facts: StudyFacts) -> Table:
    """Returns the table of interactions: a row for each two levels."""
    names = names_of(facts)
    columns = [
        Column("first", "Changes", words=True, show=lambda row: " × ".join(_both(row, names))),
        CONDITION_COLUMN,
        Column("difference", "Interaction [95 %]", True, show=lambda row: _difference(row, facts)),
        Column(
            "n",
            as_sentence(f"{facts.replication.run_name}s"),
            True,
            show=lambda row: count(row["n"]),
            spare=True,
        ),
    ]
    less = message("interaction.less") if facts.metric in less_is_better(rows, facts) else ""
    caption = message("interaction.caption", facts.metric, less)
    if len(rows) > 1:
        caption += message("interaction.by_chance", len(rows), 0.05 * len(rows))
    return tabulated(columns, rows, caption, "interactions.csv")


def _both(row: Row, names: Names) -> tuple[str, str]:
    """Returns the names of the two changes of a row."""
    return names.get(row["first"], row["first"]), names.get(row["second"], row["second"])


def _difference(row: Row, facts: StudyFacts) -> str:
    """Returns an interaction with its interval, in the direction of the metric."""
    return difference_of(row, direction_of(facts, row["task"], row["metric"]))


def interactions(evidence: Evidence, task: TaskFacts) -> pd.DataFrame:
    """Returns a row a seed and combination of two levels: pair, x, line, x_name, line_name, seed, value.

    x_name and line_name: what the levels x and line are levels of. Pairs are what claims of an interaction compare, and
    the factors of a design that crosses them; the value is the mean of the primary metric, of completed runs, over the
    levels of all other factors.
    """
    facts = evidence.facts
    pairs = _factor_pairs(facts) if crossed_levels(facts) else []
    parts = [_of_claim(claim, evidence, task) for claim in facts.claims if claim.less is not None]
    parts += [_of_factors(evidence, task, *pair) for pair in pairs]
    found = [part for part in parts if len(part)]
    columns = ["pair", "x", "line", "x_name", "line_name", "seed", "value"]
    if not found:
        return pd.DataFrame(columns=columns)
    # Claims that share a side share its runs, which count once.
    return pd.concat(found)[columns].drop_duplicates(["pair", "x", "line", "seed"], ignore_index=True)


def _factor_pairs(facts: StudyFacts) -> list[tuple[str, str]]:
    """Returns the pairs of factors that are crossed, the one with fewer levels as lines."""
    names = cells_of(facts)
    cells = [variant for variant in facts.variants if variant.name in names]
    pairs = []
    for first, second in combinations(facts.factors, 2):
        lines, along = sorted((first, second), key=lambda path: len(facts.factors[path]))
        if any(first in cell.changes and second in cell.changes for cell in cells):
            pairs.append((along, lines))
    return pairs


def _of_factors(evidence: Evidence, task: TaskFacts, along: str, lines: str) -> pd.DataFrame:
    """Returns the rows of two factors: the levels of one along x, those of the other as lines."""
    facts = evidence.facts
    ends = spelled_paths([along, lines])
    cells = cells_of(facts)
    levels = []
    for variant in facts.variants:
        if variant.name != BASELINE and variant.name not in cells:
            continue
        here = variant.changes.get(along, facts.factors[along][0])
        line = variant.changes.get(lines, facts.factors[lines][0])
        levels.append(
            {
                "variant": variant.name,
                "x": _level(facts, along, here),
                "line": _level(facts, lines, line),
                "x_order": facts.factors[along].index(here),
                "line_order": facts.factors[lines].index(line),
            }
        )
    data = pd.DataFrame(levels).merge(_runs(evidence, task, facts.column), on="variant")
    keys = ["line_order", "x_order", "line", "x", "seed"]
    means = data.groupby(keys, as_index=False)["value"].mean().sort_values(keys, kind="stable")
    return means.assign(pair=f"{ends[lines]} × {ends[along]}", x_name=ends[along], line_name=ends[lines])


def _of_claim(claim: Claim, evidence: Evidence, task: TaskFacts) -> pd.DataFrame:
    """Returns the rows of a claim that A beats B by more here than there: A and B as lines, the two places along x.

    Nothing where the claim is about a metric that trials do not have as a column, or about two conditions, which the
    figure of conditions has side by side.
    """
    facts = evidence.facts
    less = claim.less
    if less is None or claim.constant or less.condition:
        return pd.DataFrame()
    if any(facts.column_of(metric) not in evidence.trials for metric in claim.metrics):
        return pd.DataFrame()
    if crossed_levels(facts) and claim.metrics == [facts.metric]:
        return pd.DataFrame()  # The figure of the two factors has it.
    names = short_names(facts)
    x_name, here, there = _places(claim, less, facts)
    sides = [(here, claim.a, claim.b, claim.metric), (there, less.a, less.b, less.metric)]
    rows = []
    for x, a, b, metric in sides:
        for line, variants in ((_side(claim.b, names), b), (_side(claim.a, names), a)):
            runs = _runs(evidence, task, facts.column_of(metric))
            rows.append(runs[runs["variant"].isin(variants)].assign(x=x, line=line))
    data = pd.concat(rows, ignore_index=True)
    means = data.groupby(["line", "x", "seed"], as_index=False, sort=False)["value"].mean()
    pair = f"{_side(claim.a, names)} and {_side(claim.b, names)} × {here}"
    return means.assign(pair=pair, x_name=x_name, line_name=message("interaction.lines"))


def _places(claim: Claim, less: Less, facts: StudyFacts) -> tuple[str, str, str]:
    """Returns what the two places of a claim of an interaction are of, and their names: slices, or levels of a path."""
    if less.metric != claim.metric:
        return message("interaction.metric"), spelled(claim.metric), spelled(less.metric)
    changes = {variant.name: variant.changes for variant in facts.variants}
    for path, (base, *_) in facts.factors.items():
        here = {changes[name].get(path, base) for name in claim.a}
        there = {changes[name].get(path, base) for name in less.a}
        if len(here) == len(there) == 1 and here != there:
            return spelled(path), _level(facts, path, here.pop()), _level(facts, path, there.pop())
    return message("interaction.places"), "where by more", "where by less"


def _side(variants: Sequence[str], names: dict[str, str]) -> str:
    """Returns the name of a side of a claim: that of its variant, or the shortest of several."""
    first = min(variants, key=len)
    return names.get(first, first)


def _level(facts: StudyFacts, path: str, label: str) -> str:
    """Returns the name of a level for readers."""
    return facts.labels.get(f"{path}={label}") or level_name(path, label)


def _runs(evidence: Evidence, task: TaskFacts, column: str) -> pd.DataFrame:
    """Returns the variant, seed and value of each completed run on a task that has a finite value in a column."""
    trials = evidence.trials
    rows = trials[(trials["task"] == task.name) & (trials["status"] == "completed")]
    values = pd.to_numeric(rows[column], errors="coerce").astype(float)
    runs = rows[["variant", "seed"]].assign(value=values.where(np.isfinite(values)))
    return runs.dropna(subset="value")
