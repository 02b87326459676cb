import itertools
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from made_evidence import crossed, study
from matplotlib.colors import to_hex
from scipy import stats

from ablate.core.facts import Claim, Less
from ablate.core.metric import Metric
from ablate.report.figures.interaction import MAX_PAIRS, interaction
from ablate.report.figures.theme import colour, theme
from ablate.report.sections.interaction import interactions

SEEDS = 4
A, B, C = ["x", "y"], ["p", "q", "r"], ["s", "t"]
VALUES = np.random.default_rng(3).uniform(0.5, 0.9, (len(A), len(B), len(C), SEEDS))


@pytest.fixture(scope="module")
def evidence():
    def value(levels, seed):
        return VALUES[
            A.index(levels["model.a"]), B.index(levels["model.b"]), C.index(levels["model.c"]), seed
        ]

    return crossed({"model.a": A, "model.b": B, "model.c": C}, value, seeds=SEEDS)


@pytest.fixture(scope="module")
def data(evidence):
    return interactions(evidence, evidence.facts.tasks[0])


def test_each_pair_of_factors_has_the_means_over_the_levels_of_the_others(data):
    means = {
        "a × b": (VALUES.mean(axis=2), A, B),
        "a × c": (VALUES.mean(axis=1), A, C),
        "c × b": (VALUES.mean(axis=0).swapaxes(0, 1), C, B),
    }
    assert set(data["pair"]) == set(means)
    for pair, (by_hand, lines, along) in means.items():
        mine = data[data["pair"] == pair]
        assert len(mine) == by_hand.size
        assert [line.split()[-1] for line in mine["line"].unique()] == lines, "the baseline's level first"
        assert [x.split()[-1] for x in mine["x"].unique()] == along
        for row in mine.itertuples():
            i, j = lines.index(row.line.split()[-1]), along.index(row.x.split()[-1])
            assert row.value == pytest.approx(by_hand[i, j, row.seed])


@pytest.mark.slow
def test_lines_are_means_with_intervals_over_seeds(data):
    with theme():
        figure = interaction(data, "accuracy")
    titled = {ax.get_title("left"): ax for ax in figure.axes}
    ax = titled["a × b"]
    means = VALUES.mean(axis=2)
    shown = [line for line in ax.lines if len(line.get_xdata()) == len(B)]
    bars = [line for line in ax.lines if len(line.get_xdata()) == 2]
    assert [to_hex(line.get_color()) for line in shown] == [colour("ink"), colour("blue")]
    for line, of_level in zip(shown, means, strict=True):
        np.testing.assert_allclose(line.get_ydata(), of_level.mean(axis=1))
    half = stats.t.ppf(0.975, SEEDS - 1) * means.std(axis=2, ddof=1) / np.sqrt(SEEDS)
    ends = [tuple(line.get_ydata()) for line in bars]
    np.testing.assert_allclose(
        sorted(ends),
        sorted(zip((means.mean(axis=2) - half).ravel(), (means.mean(axis=2) + half).ravel(), strict=True)),
    )
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert [name.split()[-1] for name in names] == A
    assert [label.get_text().split()[-1] for label in ax.get_xticklabels()] == B
    for title, panel in titled.items():
        names = panel.get_legend().get_title().get_text(), panel.get_xlabel()
        assert " × ".join(names) == title


@pytest.mark.slow
def test_runs_that_did_not_complete_are_left_out_and_one_seed_has_no_interval(evidence):
    alone = evidence.trials["seed"] == 0
    broken = evidence.trials.assign(status=evidence.trials["status"].where(alone, "failed"))
    data = interactions(replace(evidence, trials=broken), evidence.facts.tasks[0])
    assert set(data["seed"]) == {0}
    with theme():
        figure = interaction(data[data["pair"] == "a × c"], "accuracy")
    (ax,) = figure.axes
    lines = [line.get_ydata() for line in ax.lines if len(line.get_ydata())]
    assert sum(np.isnan(line).all() for line in lines) == 4
    assert sum(np.isfinite(line).all() for line in lines) == 2


def test_one_factor_at_a_time_has_no_pairs():
    found = study({"baseline": [0.8, 0.9], "a": [0.7, 0.8]})
    assert interactions(found, found.facts.tasks[0]).empty
    beats = Claim("a beats b", "beats", "accuracy", ["a"], ["baseline"], 0.0)
    claimed = study({"baseline": [0.8, 0.9], "a": [0.7, 0.8]}, claims=[beats])
    assert interactions(claimed, claimed.facts.tasks[0]).empty


def test_a_claim_of_an_interaction_has_the_means_of_its_four_cells():
    names = ("baseline", "a", "p", "a,p")
    values = {name: list(0.5 + 0.1 * i + 0.01 * np.arange(3)) for i, name in enumerate(names)}
    more = Claim(
        "x", "interaction", "accuracy", ["a,p"], ["p"], 0.0, less=Less(["a"], ["baseline"], "accuracy")
    )
    found = study(values, claims=[more], metrics={"accuracy": Metric("max")})
    data = interactions(found, found.facts.tasks[0])
    cells = data.groupby(["x", "line"], sort=False)["value"].mean()
    assert cells.tolist() == pytest.approx([0.71, 0.81, 0.51, 0.61]), "B first, and where by more"
    assert data["pair"].nunique() == 1
    with theme():
        (ax,) = interaction(data, "accuracy").axes
    assert len(ax.get_legend().get_texts()) == 2
    assert ax.get_legend().get_title().get_text() == "variant"
    assert ax.get_xlabel()


def test_runs_that_two_claims_share_count_once():
    names = ("baseline", "a", "p", "a,p", "b", "b,p")
    values = {name: [0.5, 0.6] for name in names}
    claims = [
        Claim("x", "interaction", "accuracy", ["a,p"], [beside], 0.0, less=Less(["a"], [less], "accuracy"))
        for beside, less in (("p", "baseline"), ("b,p", "b"))
    ]
    found = study(values, claims=claims)
    data = interactions(found, found.facts.tasks[0])
    assert not data.duplicated(["pair", "x", "line", "seed"]).any()
    assert set(data.groupby(["pair", "line", "x"]).size()) == {2}


@pytest.mark.slow
def test_of_many_pairs_the_first_are_shown():
    cells = itertools.product(range(MAX_PAIRS + 2), "pq", "ab", (0, 1))
    rows = [(f"pair {i}", x, line, seed, i + seed) for i, x, line, seed in cells]
    with theme():
        data = pd.DataFrame(rows, columns=["pair", "x", "line", "seed", "value"])
        figure = interaction(data.assign(x_name="b", line_name="a"), "accuracy")
    assert [ax.get_title("left") for ax in figure.axes] == [f"pair {i}" for i in range(MAX_PAIRS)]
