import numpy as np
import pandas as pd
import pytest
from matplotlib import colormaps
from matplotlib.collections import QuadMesh

from ablate.report.figures.heads import COLOUR_MAP, attention_maps
from ablate.report.figures.saving import saved
from ablate.report.figures.theme import theme


def maps(layers=2, heads=4, queries=5, keys=5):
    rng = np.random.default_rng(heads + queries)
    rows = [
        (f"layer {layer + 1}", head + 1, rng.dirichlet(np.ones(keys), size=queries))
        for layer in range(layers)
        for head in range(heads)
    ]
    return pd.DataFrame(rows, columns=["layer", "head", "weights"])


def figure(data, top=1.0):
    with theme():
        found = attention_maps(data, top)
        found.draw_without_rendering()
    return found


def panels(drawn):
    """The axes of heads with the weights that they show."""
    shown = {}
    for ax in drawn.axes:
        meshes = [mesh for mesh in ax.collections if isinstance(mesh, QuadMesh)]
        if meshes and ax.get_visible() and ax.get_xlabel().startswith("head"):
            shown[ax] = np.asarray(meshes[0].get_array())
    return shown


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize("heads", [1, 2, 4, 12])
def test_every_head_of_every_layer_has_a_panel_inside_the_figure(heads):
    data = maps(heads=heads)
    shown = panels(figure(data, 0.7))
    np.testing.assert_array_equal(list(shown.values()), list(data["weights"]))
    assert [ax.get_xlabel() for ax in shown] == [f"head {head}" for head in data["head"]]
    boxes = [ax.get_position() for ax in shown]
    assert all(0 <= box.x0 < box.x1 <= 1 and 0 <= box.y0 < box.y1 <= 1 for box in boxes)
    for i, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[:i])
    assert {mesh.get_clim() for ax in shown for mesh in ax.collections} == {(0.0, 0.7)}


def test_the_first_query_is_above_and_keys_go_across():
    """Also where there are more queries than keys."""
    data = maps(1, 1, queries=6, keys=3)
    ((ax, weights),) = panels(figure(data)).items()
    assert weights.shape == (6, 3)
    low, high = ax.get_ylim()
    assert low > high
    assert ax.get_ylabel() == "query"


def test_the_colours_are_perceptually_uniform_and_dark_means_little():
    """Lightness rises evenly from the smallest weight to the largest (CIE 1976 L*)."""
    rgb = colormaps[COLOUR_MAP](np.linspace(0, 1, 64))[:, :3]
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    luminance = linear @ [0.2126, 0.7152, 0.0722]
    lightness = np.where(luminance > 0.008856, 116 * np.cbrt(luminance) - 16, 903.3 * luminance)
    assert (np.diff(lightness) > 0).all()
    assert np.diff(lightness).std() < 0.3 * np.diff(lightness).mean()


def test_many_cells_are_pictures_in_a_file():
    with theme():
        large = saved(attention_maps(maps(1, 2, 40, 40), 1.0), "x")["svg"].decode()
    assert large.count("data:image/png;base64,") >= 2
    assert len(large) < 100_000
