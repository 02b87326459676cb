"""The verdicts' own error rates, by simulation with fixed seeds, beside those of the rules that they replaced."""

import numpy as np
import pytest
from calibration.judging import BOUNDED, verdicts
from calibration.simulations import Diverging, Mixture, family
from made_evidence import study
from scipy import stats

from ablate.analysis.compare import compare
from ablate.analysis.estimates import rate_p_beyond
from ablate.core.metric import Metric

PLAIN = {"accuracy": Metric("max", 0.001)}
NAMES = ["baseline", "a", "b", "c"]


@pytest.mark.slow
def test_simulated_studies_are_judged_as_comparisons_are():
    """Those of the calibration, which makes no frames: normal ones, mixtures, and some of whose runs diverged."""
    draw, seen = np.random.default_rng(0), set()
    d = family(draw, 6, [0.0, 1.0, -1.0], 20, 0.5)
    for values in d:
        frame = compare(
            study(dict(zip(NAMES, [np.zeros(20), *values], strict=True)), metrics=PLAIN, margin=1.0)
        )
        said = verdicts(values, np.zeros_like(values), m=3, margin=1.0)
        assert frame["verdict"].tolist() == said.tolist()
        seen.update(said)
    for margin, failing, n in ((0.02, 0.1, 10), (0.3, 0.05, 40), (0.3, 0.3, 20)):
        made = Mixture.of(draw, 12, n, failing)
        for a, b, said in zip(made.a, made.b, mixtures(made, margin), strict=True):
            row = compare(study({"baseline": b, "a": a}, margin=margin, outcome="all_or_nothing")).iloc[0]
            assert row["verdict"] == said
    made = Diverging.worst(draw, 12, 20, share=0.4)
    for i, said in enumerate(verdicts(made.a, made.b, metric=BOUNDED, lost=made.lost)):
        lost = {("a", int(seed)): "diverged" for seed in np.flatnonzero(made.lost[0][i])}
        assert compare(study({"baseline": made.b[i], "a": made.a[i]}, statuses=lost))["verdict"][0] == said
        seen.add(said)
    assert seen == {"equivalent", "better", "worse", "inconclusive"}


def mixtures(made, margin):
    """The verdict of each study on an all-or-nothing task."""
    return verdicts(made.a, made.b, margin=margin, metric=BOUNDED, outcome="all_or_nothing")


@pytest.mark.parametrize("n", [5, 10, 20])
@pytest.mark.parametrize("x", [0.1, 0.3])
def test_size_of_a_rate_that_is_more_than_a_margin(n, x):
    """At a true difference of x in the share of solved seeds, whatever share both fail alone."""
    worst = 0.0
    for theta in np.linspace(0, min(0.25, (1 - x) / 2), 26):
        wrong = [
            stats.multinomial.pmf([b, c, n - b - c], n, [theta + x, theta, max(0.0, 1 - 2 * theta - x)])
            for b in range(n + 1)
            for c in range(n + 1 - b)
            if rate_p_beyond(b, c, n, x) <= 0.025
        ]
        worst = max(worst, float(np.sum(wrong)))
    assert worst <= 0.0251


@pytest.mark.parametrize("shape", ["normal", "t3", "exponential"])
def test_size_of_the_test_of_spreads(shape):
    draw = np.random.default_rng(15)
    draws = {
        "normal": draw.normal,
        "t3": lambda size: draw.standard_t(3, size),
        "exponential": draw.exponential,
    }
    for n in (6, 10, 20):
        x = draws[shape](size=(2, 4000, n))
        away = np.abs(x - np.median(x, axis=2, keepdims=True))
        assert (stats.ttest_1samp(away[0] - away[1], 0, axis=1).pvalue <= 0.05).mean() <= 0.06
