from __future__ import annotations

import math

import pytest
import torch

from ablate.components.scores import Additive, Dot, ScaledDot, Score
from ablate.components.sizes import Sizes
from ablate.models.initialise import initialise
from ablate.registry import PartConfig

SIZES = Sizes(d_model=6, max_len=5, num_heads=2, d_k=3, d_v=3)


@pytest.fixture
def qk() -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(1)
    return tuple(torch.randn(2, 2, t, 3, generator=generator, dtype=torch.float64) for t in (4, 5))


def by_hand(score, q, k):
    logits = torch.empty(2, 2, 4, 5, dtype=torch.float64)
    for b in range(2):
        for h in range(2):
            for i in range(4):
                for j in range(5):
                    logits[b, h, i, j] = score(h, q[b, h, i], k[b, h, j])
    return logits


def test_dot_is_the_inner_product(qk):
    expected = by_hand(lambda h, q, k: sum(q[n] * k[n] for n in range(3)), *qk)
    torch.testing.assert_close(Dot.Config().build(SIZES).logits(*qk), expected)


def test_scaled_dot_divides_by_the_root_of_the_width(qk):
    expected = by_hand(lambda h, q, k: sum(q[n] * k[n] for n in range(3)) / math.sqrt(3), *qk)
    torch.testing.assert_close(ScaledDot.Config().build(SIZES).logits(*qk), expected)


@pytest.mark.parametrize("hidden", [None, 7])
def test_additive_follows_its_formula_with_weights_per_head(qk, hidden):
    score = Additive.Config(hidden=hidden).build(SIZES).double()
    initialise(score, seed=0)
    width = hidden or SIZES.d_k

    def formula(h, q, k):
        total = 0.0
        for n in range(width):
            inner = sum(q[m] * score.query[h, m, n] + k[m] * score.key[h, m, n] for m in range(3))
            total += float(score.weight[h, n, 0]) * math.tanh(float(inner))
        return total

    with torch.no_grad():
        torch.testing.assert_close(score.logits(*qk), by_hand(formula, *qk))


def test_additive_counts_its_own_parameters():
    score = Additive.Config(hidden=7).build(SIZES)
    assert sum(p.numel() for p in score.parameters()) == 2 * (3 * 7 + 3 * 7 + 7)


def test_a_score_must_define_one_of_the_two_forms(qk):
    with pytest.raises(NotImplementedError, match="`inner` or `logits`"):
        Score(PartConfig(), SIZES).logits(*qk)


@pytest.mark.parametrize("d_k", [16, 256])
def test_variance_of_a_product_of_unit_variance_vectors_is_their_width(d_k):
    """FOUNDATIONS §2, number 8: mean 0 and variance d_k; variance 1 after scaling."""
    generator = torch.Generator().manual_seed(8)
    q, k = (torch.randn(40_000, 1, 1, d_k, generator=generator) for _ in range(2))
    dot, scaled = (part.Config().build(SIZES).logits(q, k).flatten() for part in (Dot, ScaledDot))
    # Standard errors at n = 40,000: √(d_k/n) of the mean, √((2 + 6/d_k)/n) of the relative variance.
    assert abs(dot.mean()) < 4 * math.sqrt(d_k / 40_000)
    assert dot.var() == pytest.approx(d_k, rel=4 * math.sqrt(2.4 / 40_000))
    assert scaled.var() == pytest.approx(1, rel=4 * math.sqrt(2.4 / 40_000))
