"""Published results that take no training: Bhojanapalli et al. 2020, Dong et al. 2021; claim 1 at initialisation."""

import math

import pytest
import torch
from torch import Tensor

from ablate.base.registry import CATALOGUE
from ablate.components.scores import Dot, ScaledDot
from ablate.components.sizes import Sizes
from ablate.core.signature import Signature
from ablate.models.build import build_model
from ablate.models.inspection import entropy
from ablate.models.section import ModelSection

CATALOGUE.load_builtin()
T = 6


def test_without_scaling_the_softmax_saturates_as_the_width_grows():
    generator, sizes = torch.Generator().manual_seed(1), Sizes(d_model=4, max_len=16)
    found = []
    for d_k in (4, 16, 64, 256, 1024):
        q, k = (torch.randn(64, 1, 16, d_k, generator=generator) for _ in range(2))
        scores = (part.Config().build(sizes).logits(q, k) for part in (Dot, ScaledDot))
        found.append([entropy(logits.softmax(-1)).mean().item() for logits in scores])
    dot, scaled = zip(*found, strict=True)
    assert list(dot) == sorted(dot, reverse=True)
    assert dot[-1] < 0.15 < math.log(16) / 2 < min(scaled)
    assert max(scaled) - min(scaled) < 0.1


def fitted(weights: Tensor, width: int) -> float:
    """The largest error of a softmax of q kᵀ, with q and k of a width, that is fitted to weights (T, T)."""
    # A softmax ignores what is added to a row: the best such logits of low rank are those of the centred rows.
    logits = weights.log() - weights.log().mean(1, keepdim=True)
    u, s, v = torch.linalg.svd(logits)
    q, k = (part.contiguous().requires_grad_() for part in (u[:, :width] * s[:width], v[:width].clone()))
    optimizer = torch.optim.LBFGS([q, k], max_iter=200, line_search_fn="strong_wolfe")

    def loss() -> Tensor:
        optimizer.zero_grad()
        error = -(weights * (q @ k).log_softmax(-1)).sum()
        error.backward()
        return error

    optimizer.step(loss)
    return float(((q @ k).softmax(-1) - weights).abs().max().detach())


@pytest.mark.slow
def test_a_head_as_wide_as_the_sequence_has_any_pattern_of_attention():
    """Width T − 1 is enough, as a softmax ignores a shift of its rows; a narrower one is not."""
    generator = torch.Generator().manual_seed(2)
    weights = torch.randn(T, T, generator=generator, dtype=torch.float64).mul(2).softmax(-1)
    errors = [fitted(weights, width) for width in range(1, T)]
    assert errors[-1] < 1e-6
    assert min(errors[: T // 2]) > 0.01


@pytest.mark.parametrize("residual", ["on", "off"])
def test_without_residuals_attention_collapses_to_rank_one_with_depth(residual):
    depths = (1, 2, 4, 8)
    shares = []
    for depth in depths:
        config = {
            "d_model": 32,
            "num_layers": depth,
            "residual": residual,
            "norm": "none",
            "feedforward": "none",
        }
        section = ModelSection.model_validate(config | {"position": "none"})
        model = build_model(section, Signature(T, num_outputs=2, vocab_size=64), seed=0).double()
        with torch.no_grad():
            x = model.stack(model.embed(torch.arange(T)[None]), model.position)[0]
            # What is left of x without what all positions share.
            shares.append(float((x - x.mean(0)).norm() / x.norm()))
    if residual == "on":
        assert min(shares) > 0.5
    else:
        assert shares[-1] < 1e-3 * shares[0]
        # Below that it is rounding, which processors do differently.
        seen = [share for share in shares if share > 1e-12]
        assert len(seen) >= 2
        # Faster than by a constant factor a layer.
        assert seen == sorted(seen, reverse=True)
