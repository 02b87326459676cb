"""Documents in clusters: the jackknife with its degrees of freedom, against reference values."""

import numpy as np
import pytest
from scipy import stats

from ablate.analysis.clusters import (
    Clustered,
    OverSources,
    by_source,
    degrees_of_freedom,
    effective_sources,
)
from ablate.analysis.paired import Differences


def clustered(groups):
    values = np.concatenate([np.array(group, float) for group in groups])
    sources = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
    return Clustered.of_documents(Differences.between(values, 0 * values), sources)


@pytest.mark.parametrize(
    ("groups", "mean", "variance", "df", "p"),
    [
        ([[1, 2, 3], [0, 1], [4]], 1.833333, 0.44, 1.5291005, 0.1460447),
        ([[0.2, 0.4, 0.1, 0.3], [-0.1, 0, 0.2], [0.5, 0.3], [-0.4]], 0.15, 0.010938947, 2.2052006, 0.2769570),
    ],
)
def test_variance_degrees_of_freedom_and_p_are_those_of_the_reference(groups, mean, variance, df, p):
    d = clustered(groups)
    (error,) = d.errors
    assert (d.mean, error.se**2) == (pytest.approx(mean, rel=1e-6), pytest.approx(variance, rel=1e-7))
    assert error.df == pytest.approx(df, rel=1e-7)
    assert 2 * min(d.above(0.0), d.below(0.0)) == pytest.approx(p, rel=1e-6)


def test_sources_of_equal_size_have_one_degree_less_than_their_number():
    assert degrees_of_freedom(np.full(7, 3)) == pytest.approx(6)
    d = clustered(np.random.default_rng(0).normal(size=(7, 3)))
    means = d.values.reshape(7, 3).mean(axis=1)
    assert d.interval() == pytest.approx(tuple(stats.ttest_1samp(means, 0).confidence_interval(0.95)))


def test_one_source_has_no_error_and_effective_sources_count_by_size():
    assert np.isnan(clustered([[1.0, 2.0, 3.0]]).errors[0].se)
    assert effective_sources(np.repeat([0, 1, 2], [6, 3, 1])) == pytest.approx(100 / 46)
    assert effective_sources(np.arange(8)) == 8


def test_more_documents_in_like_sources_narrow_the_interval():
    d = clustered(np.random.default_rng(1).normal(size=(6, 4)))
    (now,), (later,) = d.errors, d.errors_at(4 * d.n)
    assert (later.se, later.df) == (pytest.approx(now.se / 2), pytest.approx(4 * now.df))


def test_scores_by_source_have_the_means_of_the_runs_and_the_sums_of_residuals():
    scores = np.random.default_rng(2).normal(size=(3, 6))
    sources = np.array([0, 0, 0, 1, 1, 2])
    found = by_source(scores, sources)
    assert found.mean(axis=1) == pytest.approx(scores.mean(axis=1))
    residuals = scores - scores.mean(axis=1, keepdims=True)
    assert (found - found.mean(axis=1, keepdims=True))[:, 1] == pytest.approx(
        residuals[:, 3:5].sum(axis=1) / 2
    )


def over_seeds(scores, sources):
    differences = Differences.between(
        scores.mean(axis=1), np.zeros(len(scores)), examples=by_source(scores, sources)
    )
    return OverSources.of_seeds(differences, sources)


SOURCES = np.repeat([0, 1, 2, 3], [3, 2, 2, 1])
FAR_SEEDS = [
    (0.2, 0.4, 0.1, 0.3, 0.1, 0.5, 0.3, 0.2),
    (0.5, 0.6, 0.4, 0.5, 0.4, 0.9, 0.6, 0.3),
    (0.1, 0.2, 0, 0, -0.1, 0.3, 0.1, 0.1),
]
NEAR_SEEDS = [
    (0.4, 0.3, 0.5, 0, 0.1, 0.5, 0.3, 0.1),
    (0.3, 0.2, 0.5, 0.1, 0, 0.5, 0.4, 0),
    (0.5, 0.5, 0.6, 0.1, 0.2, 0.6, 0.4, 0.3),
    (0.2, 0.3, 0.3, 0, -0.1, 0.4, 0.2, 0),
]


@pytest.mark.parametrize(
    ("scores", "over_seeds_p", "over_sources_p", "variance", "df", "p"),
    [
        (FAR_SEEDS, 0.1487434692, 0.02100130909, 0.01886886338, 2.652503603, 0.1355611231),
        (NEAR_SEEDS, 0.01157493893, 0.0866976021, 0.0118666959, 3.591010576, 0.07418927036),
    ],
)
def test_over_several_seeds_errors_are_those_of_the_reference(
    scores, over_seeds_p, over_sources_p, variance, df, p
):
    d = over_seeds(np.array(scores), SOURCES)
    of_seeds, of_sources, of_both = d.errors
    assert (of_both.se**2, of_both.df) == (pytest.approx(variance, rel=1e-9), pytest.approx(df, rel=1e-9))
    found = [2 * stats.t.sf(d.mean / error.se, error.df) for error in (of_seeds, of_sources, of_both)]
    assert found == pytest.approx([over_seeds_p, over_sources_p, p], rel=1e-9)
    assert 2 * d.above(0.0) == pytest.approx(max(found), rel=1e-9), "the largest p counts"
    lows = [stats.t.interval(0.95, error.df, d.mean, error.se)[0] for error in d.errors]
    assert d.interval()[0] == pytest.approx(min(lows), rel=1e-9)


def test_over_sources_the_error_is_the_jackknife_of_documents_averaged_over_seeds():
    d = over_seeds(np.array(FAR_SEEDS), SOURCES)
    means = np.mean(FAR_SEEDS, axis=0)
    (of_documents,) = Clustered.of_documents(Differences.between(means, 0 * means), SOURCES).errors
    assert d.errors[1].se ** 2 == pytest.approx(0.002970049131, rel=1e-9)
    assert d.errors[1].se == pytest.approx(of_documents.se)
    assert d.errors[1].df == pytest.approx(of_documents.df)


def test_seeds_that_add_nothing_to_what_sources_add_leave_the_error_over_sources():
    rng = np.random.default_rng(3)
    scores = rng.normal(size=(4, 10))
    scores -= (
        scores.mean(axis=1, keepdims=True) * 0.999
    )  # nearly equal means, and other documents under each seed
    d = over_seeds(scores, np.repeat([0, 1, 2, 3], [4, 3, 2, 1]))
    assert len(d.errors) == 2
    assert d.errors[1].se > d.errors[0].se


def test_more_seeds_narrow_the_error_down_to_that_of_sources():
    d = over_seeds(np.array(FAR_SEEDS), SOURCES)
    few, many = (max(error.se for error in d.errors_at(n)) ** 2 for n in (3, 1000))
    beyond = 0.002970049131 - 0.0002643801965
    assert many == pytest.approx(beyond + np.var(d.values, ddof=1) / 1000, rel=1e-6)
    assert many < few


def test_over_several_seeds_a_large_source_makes_no_false_verdicts():
    rng = np.random.default_rng(4)
    sizes = np.array([300] + [5] * 29)
    sources = np.repeat(np.arange(30), sizes)
    found = 0
    for _ in range(400):
        of_sources = rng.normal(size=30)[sources]
        scores = of_sources + rng.normal(size=len(sources)) + 0.3 * rng.normal(size=(5, len(sources)))
        d = over_seeds(scores, sources)
        found += min(d.above(0.0), d.below(0.0)) <= 0.025
    assert found <= 0.06 * 400
