"""Heat maps of attention weights."""

import numpy as np
import pandas as pd
import pytest
import synthetic

from ablate.core.facts import BASELINE
from ablate.records.evaluated import MAP_COLUMNS, Evaluated
from ablate.report.section import Picture, ReportData, Text
from ablate.report.sections.kept_weights import MAX_FIGURES, Attention, layer_name

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
    data = ReportData(STUDY, pd.DataFrame(), pd.DataFrame(), Evaluated(maps=pd.DataFrame(layers)))
    legend, *pictures = Attention().blocks(data)
    assert isinstance(legend, Text)
    return legend.words, [picture for picture in pictures if isinstance(picture, Picture)]


def test_every_head_of_every_layer_has_the_weights_of_the_first_example():
    layers = [layer(), layer(path="stack.blocks.1.mixer")]
    (picture,) = section(*layers)[1]
    expected = [weights for each in layers for weights in each["weights"][0]]
    np.testing.assert_array_equal(list(picture.data["weights"]), expected)
    assert list(picture.data["head"]) == [1, 2, 3, 4] * 2
    assert picture.options == (float(np.max(expected)),)


def test_variants_come_in_the_order_of_the_study_with_words_for_who_cannot_see():
    legend, found = section(layer(LAST), layer(), layer(path="stack.blocks.1.mixer"))
    assert [picture.title for picture in found] == [BASELINE, LAST]
    assert [picture.name for picture in found] == ["attention-1", "attention-2"]
    assert "layer 1 with 4 heads, layer 2 with 4 heads" in found[0].alt
    assert "seed 0" in legend
    assert not any(picture.caption for picture in found)
    assert list(Attention().blocks(ReportData(STUDY, pd.DataFrame(), pd.DataFrame()))) == []


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
    np.testing.assert_array_equal(list(picture.data["weights"]), weights[0, :, :4, :3])


def test_the_figures_of_a_report_share_their_scale():
    light = layer(LAST) | {"weights": layer(LAST)["weights"] / 2}
    tops = {picture.options for picture in section(layer(), light)[1]}
    assert tops == {(float(layer()["weights"][0].max()),)}


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
