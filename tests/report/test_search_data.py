from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import searches
from hypothesis import given
from hypothesis import strategies as st

from ablate.core.search_table import undominated
from ablate.report import search_data
from ablate.search.importances import importances


def test_the_best_so_far_never_gets_worse_and_ignores_what_has_no_value() -> None:
    made = searches.sweep(40)
    data = search_data.history(made, searches.ACCURACY)
    assert list(data["number"]) == list(range(40))
    assert data.loc[data["status"].isin(["pruned", "failed", "invalid"]), "value"].isna().all()
    assert (data["best"].diff().dropna() >= 0).all()
    assert data["best"].iloc[-1] == data["value"].max()
    size = search_data.history(searches.sweep(20, (searches.PARAMETERS,)), searches.PARAMETERS)
    assert (size["best"].diff().dropna() <= 0).all()


def test_slices_have_a_conditional_path_only_where_it_is_searched() -> None:
    made = searches.sweep(40)
    data = search_data.slices(made, searches.ACCURACY)
    heads = data[data["parameter"] == "model.mixer.num_heads"]
    assert len(heads) == (made.trials["model.mixer"] == "attention").sum()
    lr = data[data["parameter"] == "training.lr"]
    np.testing.assert_allclose(lr["place"], np.log10(made.trials["training.lr"]))


@given(
    st.floats(-6, 3).flatmap(lambda low: st.tuples(st.just(low), st.floats(low + 0.3, low + 6))),
    st.booleans(),
)
def test_ticks_lie_on_their_axis_and_say_where(ends: tuple[float, float], log: bool) -> None:
    low, high = (10 ** ends[0], 10 ** ends[1]) if log else ends
    found = search_data.scale(low, high, log=log)
    assert len(found.ticks) >= 1
    for place, label in found.ticks:
        assert found.low - 1e-6 <= place <= found.high + 1e-6
        shown = float(label.replace("−", "-"))
        assert shown == pytest.approx(10**place if log else place, rel=0.01, abs=1e-9)


def test_the_places_of_parallel_coordinates_are_shares() -> None:
    made = searches.sweep(40)
    data = search_data.parallel(made, searches.ACCURACY)
    places = data[made.paths].to_numpy(float)
    assert np.nanmin(places) >= 0
    assert np.nanmax(places) <= 1
    assert data["value"].is_monotonic_increasing
    assert data.loc[data["best"], "value"].min() >= data.loc[~data["best"], "value"].max()
    assert data["model.mixer.num_heads"].isna().any()


def test_nothing_is_drawn_between_few_points_or_those_on_a_line() -> None:
    scale = search_data.scale(0, 1)
    rng = np.random.default_rng(0)
    points = pd.DataFrame({"x": rng.random(10), "y": rng.random(10), "value": 1.0, "status": "completed"})
    assert search_data.triangles(points, scale, scale) is not None
    assert search_data.triangles(points[:9], scale, scale) is None
    assert search_data.triangles(points.assign(status="diverged"), scale, scale) is None
    assert search_data.triangles(points.assign(y=points["x"]), scale, scale) is None
    twice = pd.concat([points, points.assign(value=3.0)])
    merged, _ = search_data.triangles(twice, scale, scale)  # type: ignore[misc]
    assert (len(merged), set(merged["value"])) == (10, {2.0})


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
    one = searches.sweep(20)
    assert [(a.name, b.name) for a, b in search_data.trades(one)] == [("accuracy", "parameters")]
    one.trials["flops"] = np.arange(20)
    assert [b.name for _, b in search_data.trades(one)] == ["parameters", "flops"]
    alike = one.trials.assign(parameters=5.0, flops=7.0)
    assert search_data.trades(type(one)(one.facts, alike)) == []
    three = searches.sweep(20, (searches.ACCURACY, searches.PARAMETERS, searches.DIVERGENCE))
    assert [b.name for _, b in search_data.trades(three)] == ["parameters", "divergence_rate"]


def test_why_importances_are_missing() -> None:
    few = searches.sweep(4)
    assert "have not been computed" in search_data.unjudged(few, None, "accuracy")
    assert "3 settings" in search_data.unjudged(searches.sweep(3), importances(few), "accuracy")
    flat = searches.sweep(20, trouble=False)
    flat.trials["accuracy"] = 0.5
    assert "have the same" in search_data.unjudged(flat, importances(flat), "accuracy")
    some = searches.sweep(12)
    told = search_data.unjudged(some, importances(some, 2), "accuracy")
    assert told.startswith("Not judged")
    assert "model.mixer.num_heads" in told


def test_winners_are_in_order() -> None:
    made = searches.sweep(60, (searches.ACCURACY, searches.PARAMETERS), winners=3)
    assert list(made.winners["chosen"]) == ["winner", "winner-2", "winner-3"]


def test_paths_are_as_short_as_they_are_clear() -> None:
    found = search_data.short(["training.lr", "model.a.size", "model.b.size", "size", "x"])
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
    assert search_data.value(value) == shown
