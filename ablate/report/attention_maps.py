"""Attention weights as heat maps: a row of small panels a layer, a panel a head, without what is padding."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from ablate.core.facts import Facts
from ablate.records.evaluated import AttentionMap
from ablate.report import layout, style
from ablate.report.drawings import Drawing
from ablate.report.style import colour
from ablate.report.tables import significant

COLOUR_MAP = "viridis"
"Perceptually uniform, and readable in grey and by every eye."
MAX_FIGURES = 8
"Variants that the page shows, the baseline included; the rest are in the file."
MAX_SIZE = 1.5
"Inches of a panel: a few heads leave the right side empty rather than grow."
SMALL = style.TEXT_SIZE - 0.8
GAP = 0.08
LABEL = 0.24
"Inches of the line above the panels of a layer."
MARGIN = 0.22
"Inches left of the panels, for what their rows are."
BAR = 0.4
"Inches below the panels, for the key of the colours."


def drawings(maps: Sequence[AttentionMap], facts: Facts) -> list[Drawing]:
    """One a variant and task, in the order of the study, of the first example."""
    order = {variant.name: i for i, variant in enumerate(facts.variants)}
    found: dict[tuple[str, str], list[AttentionMap]] = {}
    for layer in sorted(maps, key=lambda m: (order.get(m.variant, len(order)), m.task)):
        found.setdefault((layer.variant, layer.task), []).append(layer)
    shown = list(found.items())[:MAX_FIGURES]
    top_weight = _top_weight([layer for _, layers in shown for layer in layers])
    legend = _legend([layer for _, layers in shown for layer in layers], len(found) - len(shown))
    result = []
    for i, ((variant, task), layers) in enumerate(shown, 1):
        of = f" on {task}" if len(facts.tasks) > 1 else ""
        alt = f"Heat maps of the attention weights of {variant}{of}: {_summary(layers)}."
        draw = functools.partial(figure, layers, top_weight=top_weight, key=i == 1)
        result.append(Drawing(f"attention-{i}", f"{variant}{of}", "", alt, draw, "Attention", legend))
    return result


def figure(
    layers: Sequence[AttentionMap],
    width: float = style.WIDE,
    example: int = 0,
    *,
    top_weight: float | None = None,
    key: bool = True,
) -> Figure:
    """The maps of one variant, `width` inches wide; of long sequences panels are as wide, cells smaller.

    `top_weight` is the weight of the last colour, by default the largest there is; `key` draws which colour is
    which weight.
    """
    across = 8 if width > (style.NARROW + style.WIDE) / 2 else 4
    rows = [(layer, heads) for layer in layers for heads in _chunks(range(layer.weights.shape[1]), across)]
    widest = max(len(heads) for _, heads in rows)
    size = min(MAX_SIZE, (width - MARGIN - 0.05) / widest - GAP)
    heights = [size * _aspect(layer, example) for layer, _ in rows]
    bar = BAR if key else LABEL
    total = sum(heights) + len(rows) * LABEL + (len(rows) - 1) * GAP + bar
    fig = layout.figure(width, total)
    if top_weight is None:
        top_weight = _top_weight(layers, example)
    top = total
    for (layer, heads), height in zip(rows, heights, strict=True):
        layout.write(fig, MARGIN, top - LABEL / 2, _row_label(layer, heads), size=SMALL)
        bottom = top - LABEL - height
        weights = _real(layer, example)
        for column, head in enumerate(heads):
            _panel(
                fig,
                weights[head],
                (MARGIN + column * (size + GAP), bottom, size, height),
                top_weight,
            )
        layout.write(
            fig,
            MARGIN / 2,
            bottom + height / 2,
            "query",
            ha="center",
            rotation=90,
            size=SMALL,
            color=colour("soft"),
        )
        top = bottom - GAP
    layout.write(fig, MARGIN, bar / 2, "key →", size=SMALL, color=colour("soft"))
    if key:
        _key(fig, MARGIN + 0.7, bar / 2 - 0.05, top_weight)
    return fig


def layer_name(path: str) -> str:
    """`stack.decoder.blocks.1.cross` as `decoder layer 2, cross`."""
    words = [word for word in ("encoder", "decoder") if f".{word}." in f".{path}."]
    number = re.search(r"blocks\.(\d+)", path)
    name = " ".join([*words, f"layer {int(number[1]) + 1}"]) if number else path
    return f"{name}, cross" if re.search(r"\.cross\b", path) else name


def _panel(
    fig: Figure, weights: NDArray[np.float32], place: tuple[float, float, float, float], top_weight: float
) -> None:
    ax = layout.axes(fig, *place)
    ax.imshow(weights, cmap=COLOUR_MAP, vmin=0, vmax=top_weight, aspect="auto", interpolation="none")
    ax.set_xticks([])
    ax.set_yticks([])
    for spine in ax.spines.values():
        spine.set_visible(True)
        spine.set_color(colour("line"))


def _key(fig: Figure, left: float, bottom: float, top_weight: float) -> None:
    """Which colour is which weight."""
    layout.write(fig, left, bottom + 0.05, "weight 0", size=SMALL)
    ramp = np.linspace(0, top_weight, 64, dtype=np.float32)[None]
    _panel(fig, ramp, (left + 0.62, bottom, 1.2, 0.1), top_weight)
    layout.write(fig, left + 1.9, bottom + 0.05, significant(top_weight), size=SMALL)


def _row_label(layer: AttentionMap, heads: range) -> str:
    few = f"head {heads[0] + 1}" if len(heads) == 1 else f"heads {heads[0] + 1} to {heads[-1] + 1}"
    return f"{layer_name(layer.path)}: {few}"


def _real(layer: AttentionMap, example: int = 0) -> NDArray[np.float32]:
    """The weights (H, T_q, T_k) of one example without its padding."""
    weights = layer.weights[example]
    padding = np.isnan(weights).all(0)
    if padding.all():
        return np.nan_to_num(weights)
    return weights[:, ~padding.all(1)][:, :, ~padding.all(0)]


def _top_weight(layers: Sequence[AttentionMap], example: int = 0) -> float:
    return max((float(_real(layer, example).max()) for layer in layers), default=0.0) or 1.0


def _legend(layers: Sequence[AttentionMap], left_out: int) -> str:
    """What is said once of all figures."""
    if not layers:
        return ""
    variants = "variant is" if left_out == 1 else "variants are"
    padded = any(_real(layer).shape != layer.weights.shape[1:] for layer in layers)
    return (
        f"Attention weights of the first test example, seed {layers[0].seed}: each panel is a head, each of its "
        "rows a query, each column a key. The colours of all panels have one scale, given below the first; masked "
        "weights are zero."
        + (" Queries and keys that are padding are cut away." if padded else "")
        + (f" {left_out} more {variants} in attention.npz." if left_out else "")
    )


def _aspect(layer: AttentionMap, example: int) -> float:
    queries, keys = _real(layer, example).shape[1:]
    return float(np.clip(queries / keys, 0.25, 2.5))


def _chunks(heads: range, size: int) -> list[range]:
    return [heads[start : start + size] for start in range(0, len(heads), size)]


def _summary(layers: Sequence[AttentionMap]) -> str:
    parts = []
    for layer in layers:
        heads, queries, keys = _real(layer).shape
        parts.append(
            f"{layer_name(layer.path)}, {heads} heads of {queries} queries by {keys} keys, "
            f"largest weight {significant(_top_weight([layer]))}"
        )
    return "; ".join(parts)
