"""A page draws a dozen figures, one of each kind first; the others are drawn when they are asked for."""

import numpy as np
import pandas as pd
import pytest
from harness import ablate_here

from ablate.report.few_figures import MOST, with_few_figures
from ablate.report.section import Folded, Picture, Text
from ablate.report.sections import SECTIONS, Shown, pictures


def drawings(count):
    """As many functions, each a kind of figure."""
    return [lambda data: data for _ in range(count)]


def section(*blocks):
    return Shown(SECTIONS[0], [*blocks], "", "", open=True, brief=True)


def picture(name, drawing):
    return Picture(name, name, "", "", pd.DataFrame(), drawing)


def names(sections):
    return [each.name for each in pictures(sections)]


@pytest.mark.parametrize("count", [0, 1, MOST])
def test_a_dozen_figures_are_all_drawn(count):
    sections = [section(*(picture(str(place), kind) for place, kind in enumerate(drawings(count))))]
    assert with_few_figures(sections, "toy") == sections


def test_each_kind_is_drawn_once_before_any_is_drawn_again():
    forest, curve, rare = drawings(3)
    sections = [
        section(*(picture(f"forest-{place}", forest) for place in range(30))),
        section(Text("x"), Folded("more", [picture(f"curve-{place}", curve) for place in range(30)])),
        section(picture("rare", rare)),
    ]
    few = with_few_figures(sections, "toy")
    assert len(names(few)) == MOST
    assert {"forest-0", "curve-0", "rare"} <= {*names(few)}
    assert names(few) == [name for name in names(sections) if name in names(few)]
    told = [block.words for each in few for block in each.blocks if isinstance(block, Text) and block.aside]
    assert [int(words.split()[0]) for words in told] == [30 - (MOST - 2), 29]


@pytest.mark.slow
def test_a_page_of_many_tasks_has_few_figures_until_all_are_asked_for(tmp_path):
    rng = np.random.default_rng(0)
    rows = [
        {"task": f"game{task}", "variant": variant, "seed": seed, "acc": 0.5 + 0.1 * rng.normal()}
        for task in range(14)
        for variant in ("base", "wide")
        for seed in range(3)
    ]
    pd.DataFrame(rows).to_csv(tmp_path / "games.csv", index=False)
    results = ("--results", tmp_path / "results")
    done = ablate_here(
        "analyse",
        tmp_path / "games.csv",
        "--baseline",
        "base",
        "--metric",
        "acc",
        "--direction",
        "max",
        *results,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    figures = tmp_path / "results/games/figures"
    few = len([*figures.glob("*.svg")])
    assert few <= MOST
    done = ablate_here("report", "games", "--figures", "all", *results, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert len([*figures.glob("*.svg")]) > few
