import math
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from score_formulas import FORMULAS
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from ablate.base.registry import CATALOGUE
from ablate.components import scores
from ablate.components.scores import Cosine, Gaussian, Score
from ablate.components.sizes import Sizes
from ablate.components.weightings import Weighting
from ablate.models.build import initialise

CATALOGUE.load_builtin()
B, H, T_Q, T_K, D_Q, D_K = 2, 2, 4, 5, 2, 3
SIZES = Sizes(d_model=6, max_len=5, num_heads=H, d_q=D_K, d_k=D_K, d_v=3)
WIDE = Sizes(d_model=6, max_len=5, num_heads=H, d_q=D_Q, d_k=D_K, d_v=3)
SETTINGS: list[tuple[str, dict[str, Any]]] = [
    *((name, {}) for name in CATALOGUE.names("score")),
    ("gaussian", {"sigma": 0.7}),
    ("gaussian", {"sigma": 0.7, "learned": "on"}),
    ("cosine", {"temperature": 0.5}),
    ("additive", {"hidden": 7}),
]


def build(name: str, sizes: Sizes = SIZES, seed: int = 0, **settings: Any) -> Score:
    score = CATALOGUE.get("score", name).Config(**settings).build(sizes)
    initialise(score, seed)
    # Heads that begin alike must be seen to differ.
    generator = torch.Generator().manual_seed(seed + 5)
    with torch.no_grad():
        for parameter in score.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=generator), alpha=0.1)
    return score.double()


def queries_and_keys(d_q: int = D_K) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(1)
    shapes = (B, H, T_Q, d_q), (B, H, T_K, D_K)
    q, k = (torch.randn(s, generator=generator, dtype=torch.float64).requires_grad_() for s in shapes)
    return q, k


@pytest.mark.parametrize(("name", "settings"), SETTINGS)
def test_a_score_follows_its_formula(name, settings):
    score = build(name, **settings)
    q, k = queries_and_keys()
    torch.testing.assert_close(score.logits(q, k), FORMULAS[name](score, q, k))


def test_scores_that_join_widths_do():
    joins = [name for name in FORMULAS if CATALOGUE.get("score", name).joins_widths]
    assert joins == ["bilinear", "additive"]
    for name in joins:
        score = build(name, WIDE)
        q, k = queries_and_keys(D_Q)
        torch.testing.assert_close(score.logits(q, k), FORMULAS[name](score, q, k))


@pytest.mark.parametrize(("name", "settings"), SETTINGS)
def test_the_inner_form_has_the_same_softmax(name, settings):
    score = build(name, **settings)
    q, k = queries_and_keys()
    inner = score.inner(q, k)
    assert (inner is None) == (name == "additive")
    if inner is not None:
        q_, k_, scale = inner
        assert isinstance(scale, float)
        weights = torch.einsum("bhqd,bhkd->bhqk", q_, k_).mul(scale).softmax(-1)
        torch.testing.assert_close(weights, score.logits(q, k).softmax(-1))


class TestAdditive:
    @pytest.mark.parametrize("numbers", [1, 2 * B * H * T_K * 3, 3 * B * H * T_K * 3, 10**6])
    def test_the_size_of_the_groups_changes_nothing(self, monkeypatch, numbers):
        """One, two, three (and one left over) and all four queries at a time, against plain autograd."""
        monkeypatch.setattr(scores, "HIDDEN_NUMBERS", numbers)
        score = build("additive")
        q, k = queries_and_keys()
        logits = score.logits(q, k)
        expected = FORMULAS["additive"](score, q, k)
        torch.testing.assert_close(logits, expected)
        leaves = [q, k, *score.parameters()]
        direction = torch.arange(expected.numel()).view_as(expected)
        gradients = torch.autograd.grad((logits * direction).sum(), leaves)
        torch.testing.assert_close(gradients, torch.autograd.grad((expected * direction).sum(), leaves))

    @pytest.mark.parametrize("numbers", [1, 10**6])
    def test_second_derivatives(self, monkeypatch, numbers):
        monkeypatch.setattr(scores, "HIDDEN_NUMBERS", numbers)
        score = build("additive")
        q, k = queries_and_keys()
        assert torch.autograd.gradgradcheck(lambda q, k: score.logits(q, k), (q[:, :, :2], k[:, :, :3]))

    @pytest.mark.slow
    def test_no_tensor_grows_with_all_pairs_and_the_hidden_width(self, monkeypatch):
        t = 24
        hidden = 16
        monkeypatch.setattr(scores, "HIDDEN_NUMBERS", 2 * H * t * hidden)
        sizes = Sizes(d_model=6, max_len=t, num_heads=H, d_q=D_Q, d_k=D_K)
        score = build("additive", sizes, hidden=hidden)
        q, k = (torch.randn(1, H, t, d, dtype=torch.float64, requires_grad=True) for d in (D_Q, D_K))
        with Largest() as largest:
            score.logits(q, k).square().sum().backward()
        assert largest.numel == 2 * H * t * hidden  # of two queries, and more than the logits are
        assert largest.numel > H * t * t


class Largest(TorchDispatchMode):
    """Torch dispatch mode that keeps the number of elements of the largest tensor that any operation returns."""

    numel = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        tensors = [x for x in torch.utils._pytree.tree_leaves(result) if isinstance(x, Tensor)]
        self.numel = max([self.numel, *(x.numel() for x in tensors)])
        return result


def test_the_width_of_a_gaussian_divides_as_the_scaled_product_does_or_begins_as_configured():
    assert Gaussian.Config().build(SIZES).sigma ** 2 == pytest.approx(math.sqrt(D_K))
    score = Gaussian.Config(sigma=0.7, learned=True).build(SIZES)
    initialise(score, seed=0)
    torch.testing.assert_close(score.log_sigma.exp(), torch.full((H, 1, 1), 0.7))


def test_a_temperature_begins_as_configured_and_ends_at_its_bound():
    score = Cosine.Config(temperature=0.01).build(SIZES).double()
    q, k = queries_and_keys()
    initialise(score, seed=0)
    expected = FORMULAS["cosine"](score, q, k).detach()
    torch.testing.assert_close(score.log_temperature.exp(), torch.full_like(score.log_temperature, 0.01))
    score.logits(q, k).square().sum().backward()
    assert (score.log_temperature.grad != 0).all()
    with torch.no_grad():
        score.log_temperature.sub_(1)
    torch.testing.assert_close(score.logits(q, k), expected)


def test_the_cosine_of_a_vector_of_zeros_has_a_score_and_a_gradient():
    q, k = (torch.zeros(1, H, 1, D_K, dtype=torch.float64, requires_grad=True) for _ in range(2))
    logits = build("cosine").logits(q, k)
    assert (logits == 0).all()
    logits.sum().backward()
    assert all(x.grad.isfinite().all() for x in (q, k))


NAMES = CATALOGUE.names("weighting")


def weighting(name: str) -> Weighting:
    return CATALOGUE.get("weighting", name).Config().build(SIZES)


def weights(name: str, logits: list[float]) -> list[float]:
    row = torch.tensor(logits, dtype=torch.float64).view(1, 1, 1, -1)
    return weighting(name)(row).flatten().tolist()


def softmax(logits: list[float]) -> list[float]:
    top = max(logits)
    exponentials = [math.exp(a - top) for a in logits]
    return [e / sum(exponentials) for e in exponentials]


def uniform(logits: list[float]) -> list[float]:
    count = sum(a > -math.inf for a in logits)
    return [1 / count if a > -math.inf else 0.0 for a in logits]


def hard(logits: list[float]) -> list[float]:
    best = logits.index(max(logits))
    return [float(j == best) for j in range(len(logits))]


BY_HAND = {"softmax": softmax, "uniform": uniform, "hard": hard}
ROWS = st.lists(
    st.integers(-3, 3).map(float) | st.floats(-50, 50) | st.just(-math.inf), min_size=1, max_size=8
)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=40)
@given(row=ROWS.filter(lambda row: max(row) > -math.inf))
def test_weights_follow_their_definition(name, row):
    by_part = weights(name, row)
    assert by_part == pytest.approx(BY_HAND[name](row), abs=1e-12)
    assert sum(by_part) == pytest.approx(1)
    assert all(weight == 0 for weight, a in zip(by_part, row, strict=True) if a == -math.inf)
