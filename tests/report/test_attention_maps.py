"""Heat maps of attention, and the table beside them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import synthetic
from matplotlib import colormaps
from matplotlib.figure import Figure

from ablate.analysis.compare import compare
from ablate.base.errors import AblateError
from ablate.core.facts import BASELINE
from ablate.records.evaluated import AttentionMap, Evaluated
from ablate.report import style, svg
from ablate.report.attention_maps import COLOUR_MAP, MAX_FIGURES, drawings, figure, layer_name
from ablate.report.evaluations import evaluation_table
from ablate.report.page import render, write_report

FACTS = synthetic.study(num_seeds=2).facts


def layer(
    variant: str = BASELINE,
    path: str = "stack.blocks.0.mixer",
    heads: int = 4,
    queries: int = 5,
    keys: int = 5,
) -> AttentionMap:
    rng = np.random.default_rng(heads + queries)
    weights = rng.dirichlet(np.ones(keys), size=(2, heads, queries)).astype(np.float32)
    return AttentionMap(f"id-{variant}", variant, "recall", 0, path, weights)


def drawn(layers: list[AttentionMap], width: float) -> Figure:
    with style.context():
        return figure(layers, width)


@pytest.mark.parametrize("width", [style.WIDE, style.NARROW])
@pytest.mark.parametrize("heads", [1, 2, 4, 12])
def test_every_head_of_every_layer_has_a_panel_inside_the_figure(width: float, heads: int) -> None:
    layers = [layer(heads=heads), layer(path="stack.blocks.1.mixer", heads=heads)]
    fig = drawn(layers, width)
    panels = [ax for ax in fig.axes if ax.images[0].get_array().shape == (5, 5)]  # type: ignore[union-attr]
    assert len(panels) == 2 * heads
    shown = [np.asarray(ax.images[0].get_array()) for ax in panels]
    for found, expected in zip(shown, [w for each in layers for w in each.weights[0]], strict=True):
        np.testing.assert_array_equal(found, expected)
    boxes = [ax.get_position() for ax in fig.axes]
    assert all(0 <= box.x0 < box.x1 <= 1 and 0 <= box.y0 < box.y1 <= 1 for box in boxes)
    for i, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[:i])
    limits = {ax.images[0].get_clim() for ax in fig.axes}
    assert limits == {(0.0, max(float(each.weights[0].max()) for each in layers))}


def test_the_colours_are_perceptually_uniform_and_dark_means_little() -> None:
    """Lightness rises evenly from the smallest weight to the largest (CIE 1976 L*)."""
    rgb = colormaps[COLOUR_MAP](np.linspace(0, 1, 64))[:, :3]
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    luminance = linear @ [0.2126, 0.7152, 0.0722]
    lightness = np.where(luminance > 0.008856, 116 * np.cbrt(luminance) - 16, 903.3 * luminance)
    assert (np.diff(lightness) > 0).all()
    assert np.diff(lightness).std() < 0.3 * np.diff(lightness).mean()


def test_the_picture_in_the_page_keeps_its_cells_and_takes_the_colours_of_the_theme(tmp_path: Path) -> None:
    (drawing,) = drawings([layer(heads=2, queries=40, keys=40)], FACTS)
    classes: dict[str, str] = {}
    picture = render(drawing, tmp_path, classes)
    assert (tmp_path / "figures/attention-1.png").is_file()
    assert picture.wide.count("<image ") == 3
    assert 'href="data:image/png;base64,' in picture.wide
    assert "image-rendering: pixelated" in svg.css(classes)
    assert "var(--ink)" in svg.css(classes)


def test_variants_come_in_the_order_of_the_study_with_words_for_who_cannot_see() -> None:
    last = FACTS.variants[-1].name
    found = drawings([layer(last), layer(), layer(path="stack.blocks.1.mixer")], FACTS)
    assert [drawing.title for drawing in found] == [BASELINE, last]
    assert {drawing.section for drawing in found} == {"Attention"}
    assert [drawing.file for drawing in found] == ["figures/attention-1.png", "figures/attention-2.png"]
    assert "layer 1, 4 heads of 5 queries by 5 keys, largest weight" in found[0].alt
    assert "; layer 2, 4 heads" in found[0].alt
    assert "seed 0" in found[0].legend
    assert "padding" not in found[0].legend
    assert found[0].legend == found[1].legend
    assert not any(drawing.caption for drawing in found)
    assert drawings([], FACTS) == []


def test_a_page_shows_so_many_variants_and_says_where_the_rest_is() -> None:
    found = drawings([layer(f"v{i}") for i in range(MAX_FIGURES + 2)], FACTS)
    assert len(found) == MAX_FIGURES
    assert found[-1].legend.endswith("2 more variants are in attention.npz.")


def test_padding_is_cut_away_and_the_legend_says_so() -> None:
    whole = layer(queries=6, keys=4)
    weights = whole.weights.copy()
    weights[0, :, 4:] = np.nan
    weights[0, :, :, 3:] = np.nan
    padded = replace(whole, weights=weights)
    for ax, expected in zip(drawn([padded], style.WIDE).axes, weights[0], strict=False):
        np.testing.assert_array_equal(np.asarray(ax.images[0].get_array()), expected[:4, :3])
    (drawing,) = drawings([padded], FACTS)
    assert "Queries and keys that are padding are cut away." in drawing.legend
    assert "4 queries by 3 keys" in drawing.alt


def test_figures_of_one_section_share_their_scale_and_its_key(tmp_path: Path) -> None:
    light = replace(layer("other"), weights=layer("other").weights / 2)
    with style.context():
        figures = [drawing.draw(style.WIDE) for drawing in drawings([layer(), light], FACTS)]
    assert len({ax.images[0].get_clim() for fig in figures for ax in fig.axes}) == 1
    assert [len(fig.axes) for fig in figures] == [4 + 1, 4]


def test_the_page_has_one_section_with_a_subheading_a_variant(tmp_path: Path) -> None:
    evidence = synthetic.study(num_seeds=2)
    last = FACTS.variants[-1].name
    comparisons = compare(evidence)
    found = Evaluated([], [layer(), layer(last)])
    write_report(evidence, comparisons, pd.DataFrame(), ["One."], tmp_path, found, "Left out: a reason.")
    page = (tmp_path / "report.html").read_text()
    assert page.count('<a href="#attention') == 1
    assert page.count('<h2 id="attention">Attention</h2>') == 1
    assert page.count('<h3 id="attention-') == 2
    assert page.count("each panel is a head") == 1
    assert page.count("Left out: a reason.") == 1
    text = (tmp_path / "report.md").read_text()
    assert text.count("each panel is a head") == text.count("## Attention\n") == 1
    assert "### baseline\n" in text
    assert "Left out: a reason." in text


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("stack.blocks.0.mixer", "layer 1"),
        ("stack.encoder.blocks.11.mixer", "encoder layer 12"),
        ("stack.decoder.blocks.1.cross", "decoder layer 2, cross"),
        ("something", "something"),
    ],
)
def test_layers_are_counted_from_one(path: str, name: str) -> None:
    assert layer_name(path) == name


def test_the_table_has_means_over_seeds_and_leaves_single_layers_out() -> None:
    rows = [
        {
            "id": f"{seed}",
            "variant": BASELINE,
            "task": "recall",
            "seed": seed,
            "slice": of,
            "metric": m,
            "value": v,
        }
        for of, values in (("task.seq_len=9", (0.5,)), ("test", (0.25, 0.75)))
        for seed, value in enumerate(values)
        for m, v in (("accuracy", value), ("attention_entropy/stack.blocks.0.mixer", 1.0))
    ]
    table = evaluation_table(rows, FACTS)
    assert table is not None
    assert [column.heading for column in table.columns] == ["Variant", "Slice", "Seeds", "Accuracy"]
    assert [row["slice"] for row in table.rows] == ["test", "seq_len=9"]
    assert [column.key for column in table.columns if column.words] == ["slice"]
    assert [row["accuracy"] for row in table.rows] == [".500 ± .354", ".500"]
    assert evaluation_table([], FACTS) is None


def test_what_was_evaluated_comes_back_and_is_brought_up_to_date(tmp_path: Path) -> None:
    def row(trial: str, of: str, value: float) -> dict[str, object]:
        return {
            "id": trial, "variant": "v", "task": "", "seed": 0, "weights": "final", "slice": of, "metric": "m",
            "value": value,
        }  # fmt: skip

    assert Evaluated.load(tmp_path) == Evaluated()
    first = Evaluated([row("a", "test", 0.1), row("a", "long", 0.2), row("b", "test", 0.3)], [layer()])
    first.save(tmp_path)
    loaded = Evaluated.load(tmp_path)
    assert loaded.rows == first.rows
    np.testing.assert_array_equal(loaded.maps[0].weights, first.maps[0].weights)
    newer = loaded.updated(Evaluated([row("a", "test", 0.5)]))
    assert [(r["id"], r["slice"], r["value"]) for r in newer.rows] == [
        ("b", "test", 0.3), ("a", "test", 0.5),
    ]  # fmt: skip
    assert [r["id"] for r in newer.of({"b"}).rows] == ["b"]
    current, reason = newer.current({"b"}, "none")
    assert [r["id"] for r in current.rows] == ["b"]
    assert reason == "Left out: 1 trial that is no longer in the study."
    current, reason = newer.current({"a", "b"}, "best")
    assert current == Evaluated([], [])
    assert reason == "Left out: the final weights of 2 trials; the study keeps the best ones."
    current, reason = newer.current({"a", "b"}, "final")
    assert (current.rows, reason) == (newer.rows, "")
    (tmp_path / "attention.npz").write_bytes(b"PK cut")
    with pytest.raises(AblateError, match="cannot be read"):
        Evaluated.load(tmp_path)
