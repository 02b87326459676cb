"""Heat maps of attention weights."""

import numpy as np
import pandas as pd
import pytest
import synthetic
from ablate.report.draw import style
from matplotlib import colormaps
from matplotlib.backends.backend_agg import FigureCanvasAgg

from ablate.core.facts import BASELINE
from ablate.features.evaluate.sections.kept_weights import COLOUR_MAP, MAX_FIGURES, Attention, layer_name
from ablate.features.evaluate.stage import MAP_COLUMNS, Evaluated
from ablate.report.section import Material, Picture, Text

STUDY = synthetic.study(num_seeds=2)
LAST = STUDY.facts.variants[-1].name


def layer(variant=BASELINE, path="stack.blocks.0.mixer", heads=4, queries=5, keys=5):
    rng = np.random.default_rng(heads + queries)
    weights = rng.dirichlet(np.ones(keys), size=(2, heads, queries)).astype(np.float32)
    return dict(
        zip(MAP_COLUMNS, (f"id-{variant}", variant, "recall", 0, path, weights, "final"), strict=True)
    )


def section(*layers):
    """The explanation of the section, and its pictures."""
    material = Material(
        STUDY, pd.DataFrame(), pd.DataFrame(), {"evaluate": Evaluated(maps=pd.DataFrame(layers))}
    )
    legend, *pictures = Attention().blocks(material)
    assert isinstance(legend, Text)
    return legend.words, [picture for picture in pictures if isinstance(picture, Picture)]


def drawn(picture):
    with style.context():
        figure = picture.draw()
        FigureCanvasAgg(figure).draw()
    return figure


def panels(figure):
    return [np.asarray(ax.images[0].get_array()) for ax in figure.axes if ax.images]


@pytest.mark.parametrize("heads", [1, 2, 4, 12])
def test_every_head_of_every_layer_has_a_panel_inside_the_figure(heads):
    layers = [layer(heads=heads), layer(path="stack.blocks.1.mixer", heads=heads)]
    figure = drawn(section(*layers)[1][0])
    expected = [weights for each in layers for weights in each["weights"][0]]
    np.testing.assert_array_equal(panels(figure), expected)
    shown = [ax for ax in figure.axes if ax.images]
    boxes = [ax.get_position() for ax in shown]
    assert all(0 <= box.x0 < box.x1 <= 1 and 0 <= box.y0 < box.y1 <= 1 for box in boxes)
    for i, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[:i])
    assert {ax.images[0].get_clim() for ax in shown} == {(0.0, float(np.max(expected)))}


def test_the_colours_are_perceptually_uniform_and_dark_means_little():
    """Lightness rises evenly from the smallest weight to the largest (CIE 1976 L*)."""
    rgb = colormaps[COLOUR_MAP](np.linspace(0, 1, 64))[:, :3]
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    luminance = linear @ [0.2126, 0.7152, 0.0722]
    lightness = np.where(luminance > 0.008856, 116 * np.cbrt(luminance) - 16, 903.3 * luminance)
    assert (np.diff(lightness) > 0).all()
    assert np.diff(lightness).std() < 0.3 * np.diff(lightness).mean()


def test_cells_stay_sharp_in_the_page():
    (picture,) = section(layer(heads=2, queries=40, keys=40))[1]
    with style.context():
        source = style.saved(picture.draw(), picture.name)["svg"].decode()
    assert source.count("data:image/png;base64,") == 3
    assert source.count("image-rendering:crisp-edges;image-rendering:pixelated") >= 2


def test_variants_come_in_the_order_of_the_study_with_words_for_who_cannot_see():
    legend, found = section(layer(LAST), layer(), layer(path="stack.blocks.1.mixer"))
    assert [picture.title for picture in found] == [BASELINE, LAST]
    assert [picture.name for picture in found] == ["attention-1", "attention-2"]
    assert "layer 1 with 4 heads, layer 2 with 4 heads" in found[0].alt
    assert "seed 0" in legend
    assert not any(picture.caption for picture in found)
    assert list(Attention().blocks(Material(STUDY, pd.DataFrame(), pd.DataFrame()))) == []


def test_a_page_shows_so_many_variants_and_says_where_the_rest_is():
    legend, found = section(*(layer(f"v{i}") for i in range(MAX_FIGURES + 2)))
    assert len(found) == MAX_FIGURES
    assert legend.endswith("2 more variants in attention.npz.")


def test_padding_is_cut_away():
    whole = layer(queries=6, keys=4)
    weights = whole["weights"].copy()
    weights[0, :, 4:] = np.nan
    weights[0, :, :, 3:] = np.nan
    _, (picture,) = section(whole | {"weights": weights})
    np.testing.assert_array_equal(panels(drawn(picture)), weights[0, :, :4, :3])


def test_the_figures_of_a_report_share_their_scale():
    light = layer(LAST) | {"weights": layer(LAST)["weights"] / 2}
    figures = [drawn(picture) for picture in section(layer(), light)[1]]
    assert len({ax.images[0].get_clim() for figure in figures for ax in figure.axes if ax.images}) == 1
    assert [[ax.get_ylabel() for ax in figure.axes][-1] for figure in figures] == [
        "attention weight (across: keys)"
    ] * 2


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("stack.blocks.0.mixer", "layer 1"),
        ("stack.encoder.blocks.11.mixer", "encoder layer 12"),
        ("stack.decoder.blocks.1.cross", "decoder layer 2, cross"),
        ("something", "something"),
    ],
)
def test_layers_are_counted_from_one(path, name):
    assert layer_name(path) == name
