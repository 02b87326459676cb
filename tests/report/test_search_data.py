"""The tables of searches as sections read them, and the data of their figures."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import searches as made
from hypothesis import given
from hypothesis import strategies as st

from ablate.core.search_table import undominated
from ablate.report import searches
from ablate.report.draw import settings
from ablate.report.sections.sweep_contour import triangles
from ablate.report.sections.sweep_front import trades
from ablate.report.sections.sweep_importances import unjudged
from ablate.report.sections.sweep_parallel import parallel
from ablate.report.sections.sweep_slices import slices
from ablate.report.tables import short
from ablate.search.importances import importances


def test_the_best_so_far_never_gets_worse_and_ignores_what_has_no_value() -> None:
    data = searches.history(made.sweep(40), made.ACCURACY)
    assert list(data["number"]) == list(range(40))
    assert data.loc[data["status"].isin(["pruned", "failed", "invalid"]), "value"].isna().all()
    assert (data["best"].diff().dropna() >= 0).all()
    assert data["best"].iloc[-1] == data["value"].max()
    size = searches.history(made.sweep(20, (made.PARAMETERS,)), made.PARAMETERS)
    assert (size["best"].diff().dropna() <= 0).all()


def test_slices_have_a_conditional_path_only_where_it_is_searched() -> None:
    search = made.sweep(40)
    data = slices(search, made.ACCURACY)
    heads = data[data["parameter"] == "model.mixer.num_heads"]
    assert len(heads) == (search.trials["model.mixer"] == "attention").sum()
    lr = data[data["parameter"] == "training.lr"]
    np.testing.assert_array_equal(lr["place"], search.trials["training.lr"])


@given(
    st.floats(-6, 3).flatmap(lambda low: st.tuples(st.just(low), st.floats(low + 0.3, low + 6))),
    st.booleans(),
    st.integers(3, 8),
)
def test_ticks_lie_on_their_axis_and_say_where(ends: tuple[float, float], log: bool, most: int) -> None:
    low, high = (10 ** ends[0], 10 ** ends[1]) if log else ends
    found = settings.ticks(low, high, log=log, most=most)
    assert 1 <= len(found) <= most
    for place in found:
        assert low - 1e-6 <= place <= high + 1e-6 * max(1, abs(high))
        assert float(settings.tick_label(place).replace("−", "-").replace("k", "e3").replace("M", "e6")) == (
            pytest.approx(place, rel=0.01, abs=1e-9)
        )


def test_the_places_of_parallel_coordinates_are_shares() -> None:
    search = made.sweep(40)
    data = parallel(search, made.ACCURACY)
    shares = data[search.paths].to_numpy(float)
    assert np.nanmin(shares) >= 0
    assert np.nanmax(shares) <= 1
    lr = data.set_index("number")["training.lr"]
    expected = (np.log10(search.trials.set_index("number")["training.lr"][lr.index]) + 4) / 3
    np.testing.assert_allclose(lr, expected)
    assert data["value"].is_monotonic_increasing
    assert data.loc[data["best"], "value"].min() >= data.loc[~data["best"], "value"].max()
    assert data["model.mixer.num_heads"].isna().any()


def test_nothing_is_drawn_between_few_points_on_a_line_or_between_whole_numbers() -> None:
    unit = searches.Range(0, 1)
    rng = np.random.default_rng(0)
    points = pd.DataFrame({"x": rng.random(10), "y": rng.random(10), "value": 1.0, "status": "completed"})
    mesh = triangles(points, unit, unit)
    assert mesh is not None
    assert set(mesh.ravel()) == set(range(10))
    assert triangles(points[:9], unit, unit) is None
    assert triangles(points.assign(status="diverged"), unit, unit) is None
    assert triangles(points.assign(y=points["x"]), unit, unit) is None
    assert triangles(points, searches.Range(0, 1, whole=True), unit) is None
    assert triangles(points, unit, searches.Range(0, 1, stepped=True)) is None
    assert triangles(points, unit, searches.Range(0, 1, whole=True)) is None
    twice = pd.concat([points, points], ignore_index=True)
    assert triangles(twice, unit, unit) is not None


@given(
    st.integers(1, 3).flatmap(
        lambda d: st.lists(st.tuples(*[st.integers(0, 4)] * d), min_size=1, max_size=12)
    )
)
def test_the_front_is_what_nothing_dominates(points: list[tuple[int, ...]]) -> None:
    def beaten(p: tuple[int, ...]) -> bool:
        return any(all(a >= b for a, b in zip(q, p, strict=True)) and q != p for q in points)

    assert list(undominated(np.array(points))) == [not beaten(p) for p in points]


def test_what_is_set_against_what() -> None:
    one = made.sweep(20)
    assert [(a.name, b.name) for a, b in trades(one)] == [("accuracy", "parameters")]
    one.trials["flops"] = np.arange(20)
    assert [b.name for _, b in trades(one)] == ["parameters", "flops"]
    alike = one.trials.assign(parameters=5.0, flops=7.0)
    assert trades(type(one)(one.facts, alike)) == []
    three = made.sweep(20, (made.ACCURACY, made.PARAMETERS, made.DIVERGENCE))
    assert [b.name for _, b in trades(three)] == ["parameters", "divergence_rate"]


def test_why_importances_are_missing() -> None:
    few = made.sweep(4)
    assert "have not been computed" in unjudged(few, None, "accuracy")
    assert "3 settings" in unjudged(made.sweep(3), importances(few), "accuracy")
    flat = made.sweep(20, trouble=False)
    flat.trials["accuracy"] = 0.5
    assert "have the same" in unjudged(flat, importances(flat), "accuracy")
    some = made.sweep(12)
    told = unjudged(some, importances(some, 2), "accuracy")
    assert told.startswith("Not judged")
    assert "model.mixer.num_heads" in told


def test_a_few_bad_values_are_not_in_view() -> None:
    values = pd.Series([0.9, 0.91, 0.92, 0.93, 0.1, np.nan])
    shown = searches.in_view(values, made.ACCURACY)
    assert list(shown) == [True] * 4 + [False] * 2
    assert "grey band" in searches.band(values, made.ACCURACY)
    assert searches.band(values[:4], made.ACCURACY) == ""
    assert searches.in_view(pd.Series([0.5, 0.5]), made.ACCURACY).all()


def test_winners_are_in_order() -> None:
    search = made.sweep(60, (made.ACCURACY, made.PARAMETERS), winners=3)
    assert list(search.winners["chosen"]) == ["winner", "winner-2", "winner-3"]


def test_paths_are_as_short_as_they_are_clear() -> None:
    found = short(["training.lr", "model.a.size", "model.b.size", "size", "x"])
    assert found == {
        "training.lr": "lr",
        "model.a.size": "a.size",
        "model.b.size": "b.size",
        "size": "size",
        "x": "x",
    }


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.0031415, ".00314"), (1e-5, "1e−05"), (64, "64"), (0, "0"), (2.0, "2"), ("lstm", "lstm"), (None, "")],
)
def test_values_in_few_characters(value: object, shown: str) -> None:
    assert searches.value(value) == shown
