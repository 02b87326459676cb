"""What kept weights show without training again: evaluations, and attention as heat maps, a panel for each head."""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Iterator, Sequence
from itertools import groupby

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from ablate.core.facts import Facts
from ablate.features.evaluate.kept import TEST, AttentionMap, Evaluated
from ablate.report.draw import style
from ablate.report.section import Block, Material, Picture, Section, Text
from ablate.report.tables import NOTHING, Column, Table, fixed
from ablate.report.verdicts import names_of
from ablate.report.words import say


class KeptWeights(Section):
    """A table of the evaluations, and which were left out."""

    place = 300
    title = "From kept weights"
    inside = "evaluations of the trained models, without training again"

    def blocks(self, material: Material) -> Iterator[Block]:
        found = evaluated(material)
        if table := evaluation_table(found.rows, material.facts):
            yield from (table, Text(say("cost.weights_guide"), aside=True))
        if found.left_out:
            yield Text(say("evaluate.gone", found.left_out), aside=True)


def evaluated(material: Material) -> Evaluated:
    """What was evaluated; nothing where it was not."""
    found: Evaluated = material.kept.get("evaluate") or Evaluated()
    return found


def evaluation_table(rows: pd.DataFrame, facts: Facts) -> Table | None:
    """A row per variant, task and slice: mean ± standard deviation over seeds of each metric; None without rows.

    Numbers of single layers are left to the file.
    """
    found = rows[~rows["metric"].astype(str).str.contains("/", regex=False)]
    if found.empty:
        return None
    order = {variant.name: i for i, variant in enumerate(facts.variants)}
    metrics = found["metric"].unique()
    cells = []
    for (variant, task, of), mine in found.groupby(["variant", "task", "slice"]):
        values = {metric: list(group) for metric, group in mine.groupby("metric")["value"]}
        cells.append(
            {"variant": variant, "task": task, "slice": of, "n": str(max(map(len, values.values())))}
            | {metric: _spread(values.get(metric, [])) for metric in metrics}
        )
    # By variant, its own task first, then in the order of the slices.
    cells.sort(key=lambda c: (order.get(c["variant"], len(order)), c["task"], c["slice"] != TEST, c["slice"]))
    columns = [
        Column("variant", "Variant"),
        *([Column("task", "Task")] if len(facts.tasks) > 1 else []),
        Column("slice", "Slice", words=True),
        Column("n", "Seeds", True),
        *(Column(metric, metric.replace("_", " ").capitalize(), True) for metric in metrics),
    ]
    shown = [cell | {"slice": re.sub(r"(^|, )task\.", r"\1", cell["slice"])} for cell in cells]
    return Table(columns, shown, say("cost.weights"), "evaluation.csv")


def _spread(values: Sequence[float]) -> str:
    finite = [value for value in values if math.isfinite(value)]
    if not finite:
        return NOTHING
    mean = fixed(statistics.fmean(finite), 3)
    return mean if len(finite) == 1 else f"{mean} ± {fixed(statistics.stdev(finite), 3)}"


COLOUR_MAP = "viridis"
"Perceptually uniform, and readable in grey and by every eye."
MAX_FIGURES = 8
"Variants that the page shows, the baseline included; the rest are in the file."
ACROSS = 8
"Heads beside one another."
MAX_SIZE = 1.1
"Inches of a panel: a few heads leave the right side empty rather than grow."


class Attention(Section):
    """A figure for each variant and task, in the order of the study, of the first example."""

    place = 950
    title = "Attention"
    inside = "the weights of one example, as heat maps of every layer and head"

    def blocks(self, material: Material) -> Iterator[Block]:
        facts, maps = material.facts, evaluated(material).maps
        if not maps:
            return
        names = names_of(facts)
        order = {variant.name: i for i, variant in enumerate(facts.variants)}
        ordered = sorted(maps, key=lambda m: (order.get(m.variant, len(order)), m.variant, m.task))
        found = {place: list(same) for place, same in groupby(ordered, lambda m: (m.variant, m.task))}
        shown = {place: heads(layers) for place, layers in list(found.items())[:MAX_FIGURES]}
        top = max(float(weights.max()) for data in shown.values() for weights in data["weights"]) or 1.0
        padded = any(np.isnan(layer.weights[0]).any() for place in shown for layer in found[place])
        yield Text(say("figures.attention", maps[0].seed, padded, len(found) - len(shown)), aside=True)
        for i, ((variant, task), data) in enumerate(shown.items(), 1):
            short = names.get(variant, variant)
            name = f"{short} on {task}" if len(facts.tasks) > 1 else short
            layers = list(data.groupby("layer", sort=False).size().items())
            alt = say("figures.attention_alt", name, layers)
            # A caption would be the same for all: the text above them has it.
            yield Picture(f"attention-{i}", name, "", alt, data, draw_attention, [top])


def heads(layers: Sequence[AttentionMap]) -> pd.DataFrame:
    """One row per layer and head: layer, head (from 1), and weights (T_q, T_k) of the first example without padding."""
    rows = []
    for layer in layers:
        weights = layer.weights[0]
        padding = np.isnan(weights).all(0)
        if not padding.all():
            weights = weights[:, ~padding.all(1)][:, :, ~padding.all(0)]
        for head, shown in enumerate(np.nan_to_num(weights), 1):
            rows.append({"layer": layer_name(layer.path), "head": head, "weights": shown})
    return pd.DataFrame(rows)


def draw_attention(data: pd.DataFrame, top: float) -> Figure:
    """The maps of one variant. `data` is `heads`; `top` is the weight of the last colour."""
    lines = []
    for _, rows in data.groupby("layer", sort=False):
        # In lines of almost equal length.
        length = -(-len(rows) // -(-len(rows) // ACROSS))
        lines += [rows.iloc[start : start + length] for start in range(0, len(rows), length)]
    across = max(map(len, lines))
    size = min(MAX_SIZE, (style.width() - 0.8) / across)
    shapes = [line["weights"].iloc[0].shape for line in lines]
    aspects = [min(2.5, max(0.25, queries / keys)) for queries, keys in shapes]
    fig = style.new_figure(sum(size * aspect + 0.26 for aspect in aspects) + 0.2)
    axes = fig.subplots(len(lines), across, squeeze=False, height_ratios=aspects)
    for panels, line, aspect in zip(axes, lines, aspects, strict=True):
        for ax in panels[len(line) :]:
            ax.set_visible(False)
        for ax, weights in zip(panels, line["weights"], strict=False):
            image = ax.imshow(weights, COLOUR_MAP, aspect="auto", vmin=0, vmax=top, interpolation="none")
            ax.set(xticks=[], yticks=[], box_aspect=aspect)
            ax.spines[:].set_visible(False)
        first, last = line["head"].iloc[[0, -1]]
        few = f"head {first}" if first == last else f"heads {first} to {last}"
        panels[0].set_title(f"{line['layer'].iloc[0]}: {few}", weight="normal", size=style.SMALL)
        panels[0].set_ylabel("query", size=style.SMALL)
    for ax in axes[-1]:
        ax.set_xlabel("key", size=style.SMALL)
    fig.colorbar(image, ax=axes, label="attention weight", fraction=0.05, aspect=30)
    return fig


def layer_name(path: str) -> str:
    """`stack.decoder.blocks.1.cross` as `decoder layer 2, cross`."""
    words = [word for word in ("encoder", "decoder") if f".{word}." in f".{path}."]
    number = re.search(r"blocks\.(\d+)", path)
    name = " ".join([*words, f"layer {int(number[1]) + 1}"]) if number else path
    return f"{name}, cross" if re.search(r"\.cross\b", path) else name
