"""What kept weights show without training again: evaluations, and attention as heat maps, a panel for each head."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
import pandas as pd

from ablate.core.facts import StudyFacts
from ablate.core.spelling import as_sentence, spelled
from ablate.records.evaluated import TEST, Evaluated
from ablate.report.figures.heads import attention_maps
from ablate.report.section import Block, Picture, ReportData, Section, Text
from ablate.report.tables.verdicts import names_of, variant_column
from ablate.report.words import (
    CONDITION_COLUMN,
    NOTHING,
    Column,
    Table,
    message,
    number,
    paragraph,
    plus_minus,
    rows_of,
    tabulated,
)


class KeptWeights(
    Section,
    title="From kept weights",
    inside="evaluations of the trained models, without training again",
):
    """A table of the evaluations, and which were left out."""

    def blocks(self, report_data: ReportData) -> Iterator[Block]:
        evaluations = evaluated(report_data)
        table = evaluation_table(evaluations.rows, report_data.facts)
        if table is not None:
            yield table
            yield Text(message("cost.weights_guide"), aside=True)
        if evaluations.left_out:
            yield Text(message("evaluate.gone", evaluations.left_out), aside=True)


def evaluated(report_data: ReportData) -> Evaluated:
    """Returns what was evaluated; nothing where it was not."""
    return report_data.evaluated or Evaluated()


def evaluation_table(rows: pd.DataFrame, facts: StudyFacts) -> Table | None:
    """Returns a row per variant, task and slice: mean ± standard deviation of each metric; None without rows.

    Numbers of single layers are left to the file.
    """
    place = ["variant", "task", "slice"]
    is_of_layer = rows["metric"].astype(str).str.contains("/", regex=False)
    values = rows[~is_of_layer].replace([np.inf, -np.inf], np.nan)
    if values.empty:
        return None
    by_metric = values.groupby([*place, "metric"])["value"]
    cells = by_metric.agg(lambda runs: plus_minus(number(runs.mean()), number(runs.std())))
    cells = cells.unstack("metric", NOTHING)
    cells.insert(0, "n", values.groupby(place)["seed"].nunique())
    cells = cells.rename_axis(None, axis=1).reset_index()
    # In the order of the study; its own task first, then in the order of the slices.
    order = {variant.name: i for i, variant in enumerate(facts.variants)}
    cells = cells.sort_values(place, key=lambda column: column.replace({**order, TEST: ""}))
    cells["slice"] = cells["slice"].str.replace(r"(^|, )task\.", r"\1", regex=True)
    columns = [
        variant_column(names_of(facts)),
        CONDITION_COLUMN,
        Column("slice", "Slice", words=True),
        Column("n", "Seeds", True),
    ]
    columns += [Column(metric, as_sentence(spelled(metric)), True) for metric in values["metric"].unique()]
    return tabulated(columns, rows_of(cells), message("cost.weights"), "evaluation.csv")


MAX_FIGURES = 8
"""The variants that the page shows, the baseline included; the rest are in the file."""


class Attention(
    Section,
    title="Attention",
    inside="the weights of one example, as heat maps of every layer and head",
):
    """A figure for each variant and task, in the order of the study, of the first example."""

    def blocks(self, report_data: ReportData) -> Iterator[Block]:
        facts = report_data.facts
        maps = evaluated(report_data).maps
        if maps.empty:
            return
        names = names_of(facts)
        weights_of_heads = heads(maps)
        order = {variant.name: i for i, variant in enumerate(facts.variants)}
        places = weights_of_heads[["variant", "task"]].drop_duplicates()
        places = places.sort_values("variant", key=lambda column: column.map(order), kind="stable")
        top = max(float(weights.max()) for weights in weights_of_heads["weights"]) or 1.0
        left = max(0, len(places) - MAX_FIGURES)
        more = message("figures.more_attention", left) if left else ""
        yield Text(paragraph(message("figures.attention", int(maps["seed"].iloc[0])), more), aside=True)
        for i, (variant, task) in enumerate(places.head(MAX_FIGURES).itertuples(index=False), 1):
            is_shown = (weights_of_heads["variant"] == variant) & (weights_of_heads["task"] == task)
            data = weights_of_heads[is_shown]
            short = names.get(variant, variant)
            name = f"{short} on {task}" if len(facts.tasks) > 1 else short
            counts = data["layer"].value_counts(sort=False)
            layers = [message("figures.layer", layer, count) for layer, count in counts.items()]
            yield Picture(
                f"attention-{i}",
                name,
                "",  # It would be the same for all: the text above them has it.
                message("figures.attention_alt", name, layers),
                data,
                attention_maps,
                (top,),
            )


def heads(maps: pd.DataFrame) -> pd.DataFrame:
    """Returns a row per layer and head of `Evaluated.maps`, for the first example.

    Columns: variant, task, layer, head (from 1), weights (T_q, T_k).

    Padding, which is NaN, is cut away.
    """
    rows = []
    for layer in maps.itertuples():
        for head, weights in enumerate(layer.weights[0], start=1):
            shown = pd.DataFrame(weights).dropna(how="all").dropna(axis=1, how="all").fillna(0.0)
            rows.append(
                {
                    "variant": layer.variant,
                    "task": layer.task,
                    "layer": layer_name(layer.path),
                    "head": head,
                    "weights": shown.to_numpy(),
                }
            )
    return pd.DataFrame(rows)


def layer_name(path: str) -> str:
    """Returns `stack.decoder.blocks.1.cross` as `decoder layer 2, cross`."""
    place = re.search(r"blocks\.(\d+)", path)
    name = path
    if place:
        sides = [side for side in ("encoder", "decoder") if f".{side}." in f".{path}."]
        name = " ".join([*sides, f"layer {int(place[1]) + 1}"])
    return f"{name}, cross" if re.search(r"\.cross\b", path) else name
