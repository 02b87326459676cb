"""The twelve worked numbers of the foundations, through the package's own parts."""

import math

import pytest
import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from ablate.base.registry import CATALOGUE, PartConfig
from ablate.components.feedforward import MLP
from ablate.components.positions import NoPosition, SinCos
from ablate.components.scores import Dot, Gaussian, ScaledDot
from ablate.components.sizes import Sizes
from ablate.components.values import Full, LowRank
from ablate.components.weightings import Softmax
from ablate.models.attention import Attention
from ablate.models.block import Block
from ablate.models.build import initialise
from ablate.models.section import ModelSection

CATALOGUE.load_builtin()
NO_POSITION = NoPosition(PartConfig(), Sizes(d_model=1, max_len=1))
SIZES = Sizes(d_model=4, max_len=3, num_heads=1, d_q=4, d_k=4, d_v=4)


def attention(sizes: Sizes, **settings: object) -> Attention:
    mixer: Attention = Attention.Config.model_validate(settings).build(sizes)
    return mixer


def count(module: nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


def random(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def selecting(mixer: Attention, widths: tuple[int, int, int]) -> Attention:
    """`mixer` that reads q, k and v side by side from its input and returns the weighted v in front."""
    starts = (0, widths[0], widths[0] + widths[1])
    with torch.no_grad():
        for projection, start in zip((mixer.query, mixer.key, mixer.value.projection), starts, strict=True):
            projection.weight.zero_()
            projection.weight.diagonal(start).fill_(1)
        mixer.output.weight.zero_()
        mixer.output.weight.diagonal().fill_(1)
    return mixer


@pytest.mark.parametrize(
    ("score", "weights"), [("dot", (0.51, 0.46, 0.03)), ("scaled_dot", (0.454, 0.429, 0.117))]
)
def test_1_one_query_over_apple_banana_and_car(score, weights):
    q = torch.tensor([1, 0.5, -0.3, 0.8])
    k = torch.tensor([[0.9, 0.4, -0.2, 0.7], [0.8, 0.6, -0.1, 0.6], [-0.5, 0.2, 0.9, -0.4]])
    v = torch.tensor([[1.2, 0.3, 0.5, 0.9], [1.0, 0.4, 0.6, 0.8], [0.2, 0.9, 1.1, 0.1]])
    x = torch.cat([q.expand(3, 4), k, v], dim=1).double()[None]
    built = attention(Sizes(d_model=12, max_len=3), num_heads=1, d_k=4, d_v=4, score=score).double()
    mixer = selecting(built, (4, 4, 4))

    products = torch.tensor([1.72, 1.61, -0.99] if score == "dot" else [0.86, 0.805, -0.495]).double()
    queries, keys = (projection(x).unsqueeze(1) for projection in (mixer.query, mixer.key))
    torch.testing.assert_close(mixer.score.logits(queries, keys)[0, 0, 0], products, rtol=0, atol=1e-6)
    precision = 0.005 if score == "dot" else 0.0005
    found = mixer.weights(x, NO_POSITION)[0, 0, 0]
    torch.testing.assert_close(found, torch.tensor(weights).double(), rtol=0, atol=precision + 1e-6)
    if score == "scaled_dot":
        output = torch.tensor([0.99712, 0.41314, 0.61314, 0.76345]).double()
        torch.testing.assert_close(mixer(x, NO_POSITION)[0, 0, :4], output, rtol=0, atol=1e-4)


def test_2_causal_softmax_of_a_six_by_six_matrix():
    """Column by column, the query's."""
    columns = [[3.53], [0.80, -0.30], [1.96, -0.21, 0.89], [4.48, 0.82, 0.67, 1.31]]
    columns += [[3.74, 0.29, 2.99, 1.73, 3.07], [-1.95, 2.91, -0.41, -1.48, 2.94, 0.31]]
    expected = [[1], [0.75, 0.25], [0.69, 0.08, 0.24], [0.92, 0.02, 0.02, 0.04]]
    expected += [[0.46, 0.01, 0.22, 0.06, 0.24], [0.00, 0.46, 0.02, 0.01, 0.48, 0.03]]
    scores = torch.full((6, 6), 50.0)  # queries × keys; what the mask must hide would win the softmax
    for i, column in enumerate(columns):
        scores[i, : i + 1] = torch.tensor(column)
    x = torch.cat([torch.eye(6), scores.T, torch.zeros(6, 6)], dim=1).double()[None]
    sizes = Sizes(d_model=18, max_len=6, causal=True)
    mixer = selecting(attention(sizes, num_heads=1, d_k=6, d_v=6, score="dot").double(), (6, 6, 6))
    weights = mixer.weights(x, NO_POSITION)[0, 0]
    for i, row in enumerate(expected):
        torch.testing.assert_close(weights[i, : i + 1], torch.tensor(row).double(), rtol=0, atol=0.006)
        assert (weights[i, i + 1 :] == 0).all()


def test_3_a_low_rank_value_map_has_48_times_fewer_weights():
    sizes = Sizes(d_model=12_288, max_len=1, num_heads=1, d_k=128, d_v=12_288)
    with torch.device("meta"):
        full, low_rank = Full.Config().build(sizes), LowRank.Config(rank=128).build(sizes)
        mixer = attention(sizes, num_heads=1, d_k=128, d_v=12_288, value={"name": "low_rank", "rank": 128})
    assert count(full) == 150_994_944
    assert count(low_rank) == 3_145_728 == 150_994_944 // 48
    assert count(mixer.query) == count(mixer.key) == 1_572_864
    assert count(mixer.value) == count(mixer.query) + count(mixer.key)


def test_4_the_hidden_layer_of_a_position_has_49152_neurons():
    with torch.device("meta"):
        mlp = MLP.Config().build(Sizes(d_model=12_288, max_len=1))
    assert mlp.up(torch.empty(1, 1, 12_288, device="meta")).shape == (1, 1, 49_152)


def test_5_shapes_of_two_examples():
    for batch, length, width, num_heads in ((1, 3, 64, 4), (2, 10, 512, 8)):
        with torch.device("meta"):
            mixer = attention(Sizes(d_model=width, max_len=length), num_heads=num_heads)
            x = torch.empty(batch, length, width)
        keys, values = mixer.read(x)
        assert keys.shape == values.shape == (batch, num_heads, length, width // num_heads)
        assert mixer.weights(x, NO_POSITION).shape == (batch, num_heads, length, length)
        assert mixer(x, NO_POSITION).shape == (batch, length, width)


def test_6_heads_divide_the_width_and_keep_the_cost():
    flops, weights = {}, {}
    with torch.device("meta"):
        for heads in (1, 8):
            mixer, x = attention(Sizes(d_model=512, max_len=10), num_heads=heads), torch.empty(1, 10, 512)
            keys, values = mixer.read(x)
            assert keys.shape[-1] == values.shape[-1] == 512 // heads  # 64 at H = 8
            with FlopCounterMode(display=False) as counter:
                mixer(x, NO_POSITION)
            flops[heads], weights[heads] = counter.get_total_flops(), mixer.weights(x, NO_POSITION).numel()
    assert flops[8] == flops[1] == 2 * (4 * 10 * 512**2 + 2 * 10**2 * 512)
    assert weights[8] == 8 * weights[1]


def test_7_a_neuron_is_an_and_gate():
    """Row M + J with bias −1 gives M·E + J·E − 1, of which ReLU keeps M·E = J·E = 1."""
    mlp = MLP.Config(activation="relu", expansion=1).build(Sizes(d_model=2, max_len=1))
    rows = {
        "up.weight": [[1, 1], [0, 0]],
        "up.bias": [-1, 0],
        "down.weight": [[1, 0], [0, 1]],
        "down.bias": [0, 0],
    }
    mlp.load_state_dict({name: torch.tensor(values) for name, values in rows.items()})
    inputs = torch.tensor([[[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]])
    assert mlp(inputs)[0, :, 0].tolist() == [0, 0, 0, 1]


@pytest.mark.parametrize("d_k", [16, 256])
def test_8_the_variance_of_a_product_of_unit_variance_vectors_is_their_width(d_k):
    generator, n = torch.Generator().manual_seed(8), 40_000
    q, k = (torch.randn(n, 1, 1, d_k, generator=generator) for _ in range(2))
    dot, scaled = (part.Config().build(SIZES).logits(q, k).flatten() for part in (Dot, ScaledDot))
    # Standard errors: √(d_k/n) of the mean, √((2 + 6/d_k)/n) of the relative variance.
    assert abs(dot.mean()) < 4 * math.sqrt(d_k / n)
    assert dot.var() == pytest.approx(d_k, rel=4 * math.sqrt(2.4 / n))
    assert scaled.var() == pytest.approx(1, rel=4 * math.sqrt(2.4 / n))


@pytest.mark.parametrize("score", [Dot, ScaledDot])
def test_9_the_gradient_by_the_query_is_the_covariance_of_the_keys(score):
    score, weighting = score.Config().build(SIZES), Softmax.Config().build(SIZES)
    q, k = random(4), random(5, 4, seed=1)

    def weights(q: Tensor) -> Tensor:
        return weighting(score.logits(q.view(1, 1, 1, 4), k.view(1, 1, 5, 4))).view(5)

    p = weights(q)
    mean = p @ k
    covariance = torch.einsum("j,ja,jb->ab", p, k - mean, k - mean)
    scale = math.sqrt(4) if isinstance(score, ScaledDot) else 1
    torch.testing.assert_close(
        torch.autograd.functional.jacobian(lambda q: weights(q) @ k, q), covariance / scale
    )


@pytest.mark.parametrize("sigma", [0.8, 2.0])
def test_10_gaussian_and_dot_scores_weigh_keys_of_one_length_alike(sigma):
    gaussian, dot = Gaussian.Config(sigma=sigma).build(SIZES), Dot.Config().build(SIZES)
    q, k = random(1, 1, 3, 4), random(1, 1, 5, 4, seed=1)
    difference = gaussian.logits(q, k) - dot.logits(q, k) / sigma**2
    by_norms = -(q.square().sum(-1).unsqueeze(-1) + k.square().sum(-1).unsqueeze(-2)) / (2 * sigma**2)
    torch.testing.assert_close(difference, by_norms)

    def weights(k: Tensor) -> tuple[Tensor, Tensor]:
        return gaussian.logits(q, k).softmax(-1), (dot.logits(q, k) / sigma**2).softmax(-1)

    torch.testing.assert_close(*weights(3 * k / k.norm(dim=-1, keepdim=True)))
    assert not torch.isclose(*weights(k), rtol=0.01).any()


def test_11_attention_without_positions_and_mask_is_permutation_equivariant():
    sizes, order = Sizes(d_model=8, max_len=6), torch.tensor([3, 0, 5, 1, 4, 2])
    mixer, position, x = attention(sizes).double(), SinCos.Config().build(sizes).double(), random(2, 6, 8)
    initialise(mixer, seed=0)
    initialise(position, seed=0)
    torch.testing.assert_close(mixer(x[:, order], NO_POSITION), mixer(x, NO_POSITION)[:, order])
    placed, moved = position.embed(x), position.embed(x[:, order])
    assert not torch.allclose(mixer(moved, position), mixer(placed, position)[:, order])
    causal = torch.ones(6, 6, dtype=torch.bool).tril()[None, None]
    assert not torch.allclose(
        mixer(x[:, order], NO_POSITION, causal), mixer(x, NO_POSITION, causal)[:, order]
    )


def test_12_attention_holds_a_third_of_a_block_and_half_of_one_with_cross_attention():
    model = {"d_model": 16, "topology": "encoder_decoder", "norm": "none", "feedforward": {"bias": "off"}}
    section, sizes = ModelSection.model_validate(model), Sizes(d_model=16, max_len=5)
    with torch.device("meta"):
        block, decoder = Block(section, sizes), Block(section, sizes, section.topology.cross)
    assert count(block.mixer) == count(decoder.mixer) == count(decoder.cross) == 4 * 16**2
    assert 3 * count(block.mixer) == count(block) == 12 * 16**2
    assert 2 * (count(decoder.mixer) + count(decoder.cross)) == count(decoder)
