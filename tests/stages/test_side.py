from __future__ import annotations

import pytest

from ablate.stages.side import MISSING, Pair, Row, matched, seeds_in_words, settings


def row(diff: float, low: float | str, high: float | str, verdict: str = "better", **more: object) -> Row:
    """As `comparisons.csv` has it: text."""
    found = {"diff": diff, "ci_low": low, "ci_high": high, "verdict": verdict, **more}
    return {key: str(value) for key, value in found.items()}


@pytest.mark.parametrize(
    ("other", "changed"),
    [
        (row(0.02, 0.01, 0.03), False),
        # Two digits of a half-width of .010 are .001: half of that is rounding.
        (row(0.0204, 0.0104, 0.0304), False),
        (row(0.0206, 0.0106, 0.0306), True),
        (row(0.02, 0.005, 0.035), True),
        (row(0.02, "", ""), True),
    ],
)
def test_a_number_has_changed_when_it_would_be_read_otherwise(other: Row, changed: bool) -> None:
    first = row(0.02, 0.01, 0.03)
    assert Pair(first, other).numbers_changed == Pair(other, first).numbers_changed == changed


@pytest.mark.parametrize(
    ("bounds", "apart"),
    [
        ((0.031, 0.05), True),
        ((0.03, 0.05), False),
        ((-0.1, 0.1), False),
        ((-0.1, 0.009), True),
        (("", ""), None),
    ],
)
def test_intervals_lie_apart_when_they_share_no_point(
    bounds: tuple[float, float], apart: bool | None
) -> None:
    pair = Pair(row(0.02, 0.01, 0.03), row(0.04, *bounds))
    assert pair.apart is apart
    assert Pair(pair.b, pair.a).apart is apart


def test_rows_are_matched_by_their_key_in_the_order_of_the_first() -> None:
    a = [{"variant": name, "verdict": "better"} for name in "xyz"]
    b = [{"variant": name, "verdict": "worse" if name == "y" else "better"} for name in "wyx"]
    both, first, second = matched(a, b, ["variant"])
    assert [(pair.a["variant"], pair.verdict_changed) for pair in both] == [("x", False), ("y", True)]
    assert [one["variant"] for one in (*first, *second)] == ["z", "w"]


def test_settings_differ_path_by_path() -> None:
    a = {"model": {"norm": {"name": "layer", "eps": 1e-5}}, "factors": {}, "seeds": [0, 1]}
    b = {"model": {"norm": {"name": "batch"}}, "factors": {}, "seeds": [0, 1], "tune": None}
    assert settings(a, b) == {
        "model.norm.name": ("layer", "batch"),
        "model.norm.eps": (1e-5, MISSING),
        "tune": (MISSING, None),
    }
    assert settings(a, a) == {}


@pytest.mark.parametrize(
    ("seeds", "words"), [([2, 0, 1], "3 (0 to 2)"), ([0, 3, 7], "3 (0, 3, 7)"), ([4, 5], "2 (4, 5)")]
)
def test_seeds_are_named(seeds: list[int], words: str) -> None:
    assert seeds_in_words(seeds) == words
