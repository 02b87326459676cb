"""The error rates of looks before the last, against brute force and closed forms."""

import itertools

import numpy as np
import pytest
from scipy import stats

from ablate.analysis.chances import error_rate_with_another
from ablate.analysis.earlier_looks import (
    EarlierLook,
    error_rate_of_best_subset,
    error_rate_of_looks,
    looks_of,
)
from ablate.analysis.shared_runs import SharedComparison, error_rate_of_comparisons


def looks(*counts):
    return [look for count in counts for look in looks_of(range(count))]


# Simulated once, seed by seed, with four million studies (3, 6, 12, 24: one million).
@pytest.mark.parametrize(
    ("counts", "level"),
    [
        ((8,), 0.05),
        ((8, 16), 0.0852),
        ((3, 6), 0.0893),
        ((3, 6, 12, 24), 0.1532),
        ((6, 3), 0.0893),
        ((1, 8), 0.05),
    ],
)
def test_fixed_numbers_of_seeds_one_after_the_other(counts, level):
    assert error_rate_of_looks(looks(*counts)) == pytest.approx(level, abs=0.0015)


def test_the_same_look_twice_is_one_and_other_seeds_are_another_chance():
    assert error_rate_of_looks(looks(8, 8)) == error_rate_of_looks(looks(8))
    other = EarlierLook(frozenset(range(8, 16)))
    assert error_rate_of_looks([*looks(8), other]) == pytest.approx(error_rate_with_another(), abs=0.0015)
    assert error_rate_with_another() == pytest.approx(0.0975)
    assert error_rate_with_another(0.0975) == pytest.approx(1 - 0.95**3)


def test_looks_that_were_planned_keep_their_level_and_raising_the_last_adds_to_it():
    planned = looks_of(range(20), [5, 10, 15, 20])
    assert error_rate_of_looks(planned) == pytest.approx(0.037, abs=0.0015)  # METHODS 5: the size at K = 4
    raised = [*planned, *looks_of(range(30), [5, 10, 15, 20, 25, 30])]
    assert 0.042 < error_rate_of_looks(raised) < 0.05


def test_overlapping_seeds_against_brute_force():
    generator = np.random.default_rng(1)
    draws = generator.standard_normal((200_000, 10))
    found = np.zeros(len(draws), dtype=bool)
    for seeds in ([0, 1, 2, 3, 4, 5], [3, 4, 5, 6, 7, 8, 9]):
        found |= stats.ttest_1samp(draws[:, seeds], 0, axis=1).pvalue <= 0.05
    two = [EarlierLook(frozenset(range(6))), EarlierLook(frozenset(range(3, 10)))]
    assert error_rate_of_looks(two) == pytest.approx(found.mean(), abs=0.003)


@pytest.mark.slow
def test_the_best_choice_of_seeds_against_every_choice():
    generator = np.random.default_rng(2)
    draws = generator.standard_normal((20_000, 6))
    found = np.zeros(len(draws), dtype=bool)
    for size in (3, 4, 5, 6):
        for seeds in itertools.combinations(range(6), size):
            found |= stats.ttest_1samp(draws[:, seeds], 0, axis=1, alternative="greater").pvalue <= 0.025
    assert error_rate_of_best_subset(6) == pytest.approx(0.28, abs=0.006)
    assert error_rate_of_best_subset(6) == pytest.approx(found.mean(), abs=0.008)
    assert error_rate_of_best_subset(200) > 0.99


# Of 20,000 studies each: the best pair; the worst ones left out, and fresh ones in their place.
@pytest.mark.parametrize(
    ("num_seen", "num_chosen", "num_fresh", "rate"),
    [
        (10, 2, 0, 0.62),
        (5, 2, 0, 0.21),
        (10, 9, 1, 0.08),
        (10, 8, 2, 0.15),
        (10, 7, 3, 0.20),
        (10, 6, 1, 0.35),
    ],
)
def test_a_choice_of_so_many_seeds_with_fresh_ones(num_seen, num_chosen, num_fresh, rate):
    generator = np.random.default_rng(3)
    draws = np.sort(generator.standard_normal((20_000, num_seen)), axis=1)
    fresh = generator.standard_normal((20_000, num_fresh))
    is_better = np.zeros(len(draws), dtype=bool)
    for first in range(num_seen - num_chosen + 1) if num_chosen == 2 else [num_seen - num_chosen]:
        judged = np.hstack([draws[:, first : first + num_chosen], fresh])
        is_better |= stats.ttest_1samp(judged, 0, axis=1, alternative="greater").pvalue <= 0.025
    assert is_better.mean() == pytest.approx(rate, abs=0.01)
    stated = error_rate_of_best_subset(num_seen, num_chosen, num_fresh)
    assert stated == pytest.approx(is_better.mean(), abs=0.01)


@pytest.mark.fast_cases(2)
@pytest.mark.parametrize(("num_studies", "rate"), [(1, 0.05), (3, 0.13), (8, 0.27), (16, 0.41)])
def test_studies_of_one_variant_by_the_runs_of_one_baseline(num_studies, rate):
    studies = []
    for number in range(num_studies):
        pairs = {((f"variant {number}", seed), ("baseline", seed)) for seed in range(8)}
        studies.append(SharedComparison(frozenset(pairs)))
    assert error_rate_of_comparisons(studies) == pytest.approx(rate, abs=0.006)
    assert error_rate_of_comparisons([*studies, *studies]) == error_rate_of_comparisons(studies)


def test_comparisons_that_share_no_run_or_all_of_them():
    def on(seeds, name=""):
        return SharedComparison(frozenset(((f"a{name}", seed), (f"b{name}", seed)) for seed in seeds))

    assert error_rate_of_comparisons([on(range(8)), on(range(8, 16))]) == pytest.approx(0.0975, abs=0.003)
    assert error_rate_of_comparisons([on(range(8)), on(range(16))]) == pytest.approx(0.086, abs=0.003)
    assert error_rate_of_comparisons([on(range(8)), on([3])]) == error_rate_of_comparisons([on(range(8))])
    assert error_rate_of_comparisons([]) == 0.0
