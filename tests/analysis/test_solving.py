"""Seeds that exclude failures."""

import pytest
from ablate.analysis.solving import seeds_without_failure
from scipy.stats import binom


@pytest.mark.parametrize("margin", [0.02, 0.1, 0.5])
@pytest.mark.parametrize("alpha", [0.05, 0.005])
def test_no_failure_in_so_many_excludes_the_share_and_in_one_less_does_not(
    margin: float, alpha: float
) -> None:
    n = seeds_without_failure(margin, 0.875, alpha)
    share = margin / (2 * 0.875)
    assert binom.cdf(0, n, share) <= alpha < binom.cdf(0, n - 1, share)


def test_a_margin_of_twice_the_span_takes_the_fewest_pairs() -> None:
    assert seeds_without_failure(2.0, 1.0, 0.05) == seeds_without_failure(3.0, 1.0, 0.05) == 2
