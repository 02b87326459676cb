"""The differences from the baseline: a forest plot, and the seeds one by one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from ablate.base import wording
from ablate.core.facts import BASELINE, Evidence, StudyFacts, TaskFacts
from ablate.core.metric import Metric
from ablate.report.figures.facets import cells_of, entries, figure_names
from ablate.report.figures.forest import forest, forest_limits, solved_seeds
from ablate.report.figures.rows import MAX_ROWS, largest
from ablate.report.figures.seeds import MOST_POINTS, seed_differences
from ablate.report.figures.tasks import MAX_VARIANTS, by_task
from ablate.report.figures.theme import EXPLORATORY
from ablate.report.section import Block, Picture, ReportData, Section
from ablate.report.section import by_task as tasks_of
from ablate.report.sections.conditions import over_pictures
from ablate.report.sentences.data_words import pairs_share_data
from ablate.report.sentences.levels import level_of
from ablate.report.sentences.replication_words import replication_words
from ablate.report.tables.directions import better_side, difference_label, own_direction
from ablate.report.tables.verdicts import compared_with, names_of, row_name
from ablate.report.words import decimals, message, number, paragraph, rows_of, text

MAIN_EFFECTS = "main effects"
VARIANTS = "variants, against the baseline"
CELLS = "cells, against the baseline"
GROUPS = {
    MAIN_EFFECTS: "figures.main_effects",
    VARIANTS: "figures.other_variants",
    CELLS: "figures.cells",
}
"""The groups of rows of a design that crosses its factors → what they are, in words."""


class Forest(Section, title="Differences", open=True):
    """A figure a task; of several tasks, first one of all; over conditions one alone."""

    def blocks(self, report_data: ReportData) -> Iterator[Block]:
        facts = report_data.facts
        if facts.over.joins_conditions:
            yield from over_pictures(report_data)
            return
        if len(facts.tasks) > 1:
            yield from _on_all_tasks(facts, report_data.comparisons)
        for task, end, of in tasks_of(facts):
            rows = forest_rows(facts, report_data.comparisons, task)
            if rows.empty or rows["value"].isna().all():
                continue
            verdicts = rows.loc[~rows["placebo"], "verdict"].value_counts()
            counts = [f"{count} {verdict}" for verdict, count in verdicts.items()]
            alt = message("figures.forest_alt", int(verdicts.sum()), facts.metric + of, counts)
            title = f"{self.title}{of}"
            if _is_by_rate(rows):
                rated = rows[rows["solved_variant"].notna()]
                code = replication_words(facts.replication).solved
                caption = message(code, compared_with(facts) or "the other side")
                label = "seeds that solved the task; hollow: the baseline"
                yield Picture(f"forest{end}", title, caption, alt, rated, solved_seeds, (label,))
                continue
            rows, left = _most_important(rows)
            metric = task.metrics[facts.metric]
            caption = paragraph(_forest_caption(rows, facts, metric), left)
            options = (difference_label(facts.metric, metric), facts.margin, metric.span)
            yield Picture(f"forest{end}", title, caption, alt, rows, forest, options)


def _forest_caption(rows: pd.DataFrame, facts: StudyFacts, metric: Metric) -> str:
    """Returns what the points, bands and panels of a forest plot are."""
    if (rows["group"] == MAIN_EFFECTS).any():
        groups = [_group_in_words(group, found) for group, found in rows.groupby("group", sort=False)]
        sentences = [message("figures.crossed_forest", facts.metric, groups, better_side(metric.direction))]
    else:
        code = replication_words(facts.replication).forest
        level = _level_of_shown(rows)
        sentences = [message(code, facts.metric, compared_with(facts), level, better_side(metric.direction))]
    if facts.margin:
        sentences.append(message("figures.margin", facts.margin))
    if rows["placebo"].any():
        sentences.append(message("figures.placebo"))
    if len(forest_limits(rows, facts.margin, metric.span)) > 1:
        sentences.append(message("figures.zoom"))
    return paragraph(*sentences)


def _group_in_words(group: str, rows: pd.DataFrame) -> str:
    """Returns what the rows of a group of a crossed design are, with the level of their own intervals."""
    return message(GROUPS[group], _level_of_shown(rows))


def _level_of_shown(rows: pd.DataFrame) -> str:
    """Returns the level of the intervals that some rows show; "" where they show none."""
    shown = rows[rows["low"].notna()]
    return level_of(rows_of(shown)) if len(shown) else ""


def forest_rows(facts: StudyFacts, comparisons: pd.DataFrame, task: TaskFacts) -> pd.DataFrame:
    """Returns a row a comparison on the primary metric of a task, the planned ones first, placebos last.

    Columns: variant, label, group (of `GROUPS`, of a design that crosses its factors), placebo, verdict (`exploratory`
    of what was not planned), value, low and high (in the metric's own direction), level (of these), told (its words at
    the right), n, solved_variant and solved_baseline (NaN where no rate was judged).
    """
    if facts.metric not in task.metrics:
        return pd.DataFrame()
    direction = task.metrics[facts.metric].direction
    is_shown = (comparisons["task"] == task.name) & (comparisons["metric"] == facts.metric)
    order = {entry.variant: i for i, entry in enumerate(entries(facts))}
    names = names_of(facts)
    placebos = facts.placebos
    cells = cells_of(facts)
    cell_names = figure_names(facts)
    rows = []
    for oriented in rows_of(comparisons[is_shown]):
        row = own_direction(oriented, direction)
        is_cell = row["baseline"] == BASELINE and row["variant"] in cells
        label = cell_names[row["variant"]] if is_cell else row_name(row, names)
        verdict = EXPLORATORY if row["exploratory"] else text(row["verdict"]) or EXPLORATORY
        rows.append(
            {
                "variant": row["variant"],
                "baseline": row["baseline"],
                "label": label,
                "group": _group(row) if cells else "",
                "placebo": row["variant"] in placebos,
                "verdict": verdict,
                "value": row["diff"],
                "low": row["ci_low"],
                "high": row["ci_high"],
                "level": row["level"],
                "told": _told(row, verdict),
                "n": row["n"],
                "solved_variant": row["solved_variant"],
                "solved_baseline": row["solved_baseline"],
                "order": order.get(row["variant"], -1),
            }
        )
    columns = [
        *(rows[0] if rows else ("variant", "baseline", "group", "placebo", "verdict", "value", "order"))
    ]
    found = pd.DataFrame(rows, columns=columns)
    is_exploratory = found["verdict"] == EXPLORATORY
    found = found.assign(is_exploratory=is_exploratory)
    found = found.astype(dict.fromkeys(("value", "low", "high"), float) if rows else {})
    places = ["is_other", "placebo", "is_exploratory", "order"]
    found = found.assign(is_other=found["group"] == VARIANTS)  # Rows of one group follow one another.
    found = found.sort_values(places, kind="stable", ignore_index=True)
    return found.drop(columns=["order", "is_exploratory", "is_other"])


def _group(row: Mapping[str, Any]) -> str:
    """Returns the group of a row of a design that crosses its factors."""
    if row["baseline"] != BASELINE:
        return MAIN_EFFECTS
    return CELLS if row["exploratory"] else VARIANTS


def _told(row: Mapping[str, Any], verdict: str) -> str:
    """Returns `worse −0.112`, or of a rate `worse, 3 of 8 solved`; of an exploratory comparison the number alone."""
    if not np.isnan(row["solved_variant"]):
        return f"{verdict}, {message('figures.solved_row', int(row['solved_variant']), int(row['n']))}"
    if number(row["diff"]) is None:
        return ""
    difference = wording.plus(row["diff"], decimals(row["ci_low"], row["ci_high"]))
    return difference if verdict == EXPLORATORY else f"{verdict} {difference}"


def _is_by_rate(rows: pd.DataFrame) -> bool:
    """Returns whether all planned comparisons were judged by the seeds that solved the task."""
    planned = rows[rows["verdict"] != EXPLORATORY]
    return len(planned) > 0 and bool(planned["solved_variant"].notna().all())


def _most_important(rows: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    """Returns the rows that have room, placebos and planned ones before others, and what a caption says of the rest."""
    rank = 2 * rows["placebo"] + (rows["verdict"] != EXPLORATORY)
    sizes = rows["value"].abs().fillna(0.0) + rank * rows["value"].abs().max()
    kept = rows.loc[sorted(sizes.nlargest(MAX_ROWS).index)]
    left = message("figures.largest", MAX_ROWS, len(rows)) if len(kept) < len(rows) else ""
    return kept, left


def _on_all_tasks(facts: StudyFacts, comparisons: pd.DataFrame) -> Iterator[Picture]:
    """Yields the figure with a row a task, where the tasks share the direction of the metric and can be compared."""
    tasks = [task for task in facts.tasks if facts.metric in task.metrics]
    parts = [forest_rows(facts, comparisons, task).assign(task=task.name) for task in tasks]
    rows = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()
    if len(tasks) < 2 or len({task.metrics[facts.metric].direction for task in tasks}) > 1:
        return
    rows = rows[rows["value"].notna() & ~rows["placebo"] & (rows["verdict"] != EXPLORATORY)]
    if rows.empty:
        return
    num_variants = rows["label"].nunique()
    caption = message("figures.tasks", facts.metric)
    if num_variants > MAX_VARIANTS:
        caption = paragraph(caption, message("figures.first_variants", MAX_VARIANTS, num_variants))
    yield Picture(
        "tasks",
        "Every task",
        caption,
        message("figures.tasks_alt", facts.metric, num_variants, len(tasks)),
        rows,
        by_task,
        (difference_label(facts.metric, tasks[0].metrics[facts.metric]), facts.margin, _span(facts, tasks)),
    )


def _span(facts: StudyFacts, tasks: Sequence[TaskFacts]) -> float | None:
    """Returns the largest difference that the metric can show on any of the tasks; None where one does not say."""
    spans = [task.metrics[facts.metric].span for task in tasks]
    known = [span for span in spans if span is not None]
    return max(known) if len(known) == len(spans) else None


class Seeds(Section, title="Every seed", inside="the difference from the baseline under each seed"):
    """A figure a task."""

    def blocks(self, report_data: ReportData) -> Iterator[Block]:
        facts = report_data.facts
        if not facts.replication.says_seeds:
            return
        for task, end, of in tasks_of(facts):
            if facts.metric not in task.metrics:
                continue
            pairs = seed_pairs(report_data.evidence, task)
            if not pairs["difference"].notna().any():
                continue
            pairs, left = _largest_pairs(pairs)
            comparisons = forest_rows(facts, report_data.comparisons, task)
            code = "figures.seeds_with_same_data" if pairs_share_data(facts) else "figures.seeds"
            yield Picture(
                f"seeds{end}",
                f"{self.title}{of}",
                paragraph(message(code, facts.metric), _crowded(pairs), left),
                message("figures.seeds_alt", facts.metric, int(pairs["difference"].notna().sum()), of),
                pairs,
                seed_differences,
                (
                    comparisons[comparisons["baseline"] == BASELINE],
                    difference_label(facts.metric, task.metrics[facts.metric]),
                    facts.margin,
                ),
            )


def _crowded(pairs: pd.DataFrame) -> str:
    """Returns what a caption says of points that stand for several seeds; nothing where none does."""
    is_crowded = pairs.groupby("variant")["difference"].count().max() > MOST_POINTS
    return message("figures.crowded", MOST_POINTS) if is_crowded else ""


def _largest_pairs(pairs: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    """Returns the pairs of the variants that differ most, and what a caption says of the others."""
    kept = largest(pairs, pairs["difference"])
    left = message("figures.largest", MAX_ROWS, pairs["variant"].nunique()) if len(kept) < len(pairs) else ""
    return kept, left


def seed_pairs(evidence: Evidence, task: TaskFacts) -> pd.DataFrame:
    """Returns a row a variant and seed that it was asked for: variant, label, seed, difference and lost.

    `difference` of the primary metric from the baseline's run of the seed, NaN where one of the two has no value;
    `lost` is the status of a variant's run that has none, or nothing.
    """
    facts = evidence.facts
    if not facts.replication.has_runs:
        return pd.DataFrame(columns=["variant", "label", "seed", "difference", "lost"])
    trials = evidence.trials[evidence.trials["task"] == task.name]
    values = pd.to_numeric(trials[facts.column], errors="coerce").astype(float)
    runs = trials[["variant", "seed", "status"]].assign(value=values.where(np.isfinite(values)))
    baseline = runs[runs["variant"] == BASELINE].set_index("seed")["value"]
    planned = []
    for entry in entries(facts):
        seeds = facts.seeds_of(entry.variant, task.name)
        planned += [(entry.variant, entry.label, seed) for seed in seeds]
    pairs = pd.DataFrame(planned, columns=["variant", "label", "seed"])
    pairs = pairs.merge(runs, "left", ["variant", "seed"])
    is_lost = pairs["value"].isna() & pairs["status"].notna()
    return pairs.assign(
        difference=pairs["value"] - pairs["seed"].map(baseline), lost=pairs["status"].where(is_lost, "")
    )[["variant", "label", "seed", "difference", "lost"]]
