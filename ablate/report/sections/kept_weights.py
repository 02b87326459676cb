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
from ablate.report.verdicts import names_of, variant_column
from ablate.report.words import (
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
        found = evaluated(report_data)
        if table := evaluation_table(found.rows, report_data.facts):
            yield from (table, Text(message("cost.weights_guide"), aside=True))
        if found.left_out:
            yield Text(message("evaluate.gone", found.left_out), aside=True)


def evaluated(report_data: ReportData) -> Evaluated:
    """What was evaluated; nothing where it was not."""
    return report_data.evaluated or Evaluated()


def evaluation_table(rows: pd.DataFrame, facts: StudyFacts) -> Table | None:
    """A row per variant, task and slice: mean ± standard deviation over seeds of each metric; None without rows.

    Numbers of single layers are left to the file.
    """
    place = ["variant", "task", "slice"]
    found = rows[~rows["metric"].astype(str).str.contains("/", regex=False)].replace(
        [np.inf, -np.inf], np.nan
    )
    if found.empty:
        return None
    cells = (
        found.groupby([*place, "metric"])["value"]
        .agg(lambda values: plus_minus(number(values.mean()), number(values.std())))
        .unstack("metric", NOTHING)
    )
    cells.insert(0, "n", found.groupby(place)["seed"].nunique())
    order = {variant.name: i for i, variant in enumerate(facts.variants)}
    # In the order of the study; its own task first, then in the order of the slices.
    cells = (
        cells.rename_axis(None, axis=1)
        .reset_index()
        .sort_values(place, key=lambda column: column.replace({**order, TEST: ""}))
    )
    cells["slice"] = cells["slice"].str.replace(r"(^|, )task\.", r"\1", regex=True)
    return tabulated(
        [
            variant_column(names_of(facts)),
            Column("task", "Task", varying=True),
            Column("slice", "Slice", words=True),
            Column("n", "Seeds", True),
            *(Column(m, as_sentence(spelled(m)), True) for m in found["metric"].unique()),
        ],
        rows_of(cells),
        message("cost.weights"),
        "evaluation.csv",
    )


MAX_FIGURES = 8  # Variants that the page shows, the baseline included; the rest are in the file.


class Attention(
    Section,
    title="Attention",
    inside="the weights of one example, as heat maps of every layer and head",
):
    """A figure for each variant and task, in the order of the study, of the first example."""

    def blocks(self, report_data: ReportData) -> Iterator[Block]:
        facts, maps = report_data.facts, evaluated(report_data).maps
        if maps.empty:
            return
        names, found = names_of(facts), heads(maps)
        order = {variant.name: i for i, variant in enumerate(facts.variants)}
        places = found[["variant", "task"]].drop_duplicates()
        places = places.sort_values("variant", key=lambda column: column.map(order), kind="stable")
        top = max(float(weights.max()) for weights in found["weights"]) or 1.0
        left = max(0, len(places) - MAX_FIGURES)
        more = message("figures.more_attention", left) if left else ""
        yield Text(paragraph(message("figures.attention", int(maps["seed"].iloc[0])), more), aside=True)
        for i, (variant, task) in enumerate(places.head(MAX_FIGURES).itertuples(index=False), 1):
            data = found[(found["variant"] == variant) & (found["task"] == task)]
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
    """One row per layer and head of `Evaluated.maps`: variant, task, layer, head (from 1), and weights (T_q, T_k) of
    the first example.

    Padding, which is NaN, is cut away.
    """
    return pd.DataFrame(
        {
            "variant": layer.variant,
            "task": layer.task,
            "layer": layer_name(layer.path),
            "head": head,
            "weights": pd.DataFrame(weights)
            .dropna(how="all")
            .dropna(axis=1, how="all")
            .fillna(0.0)
            .to_numpy(),
        }
        for layer in maps.itertuples()
        for head, weights in enumerate(layer.weights[0], 1)
    )


def layer_name(path: str) -> str:
    """`stack.decoder.blocks.1.cross` as `decoder layer 2, cross`."""
    words = [word for word in ("encoder", "decoder") if f".{word}." in f".{path}."]
    number = re.search(r"blocks\.(\d+)", path)
    name = " ".join([*words, f"layer {int(number[1]) + 1}"]) if number else path
    return f"{name}, cross" if re.search(r"\.cross\b", path) else name
