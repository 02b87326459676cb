from __future__ import annotations

import pytest
import torch
from torch import nn

from ablate.components.positions import Position
from ablate.components.sizes import Sizes
from ablate.errors import Invalid
from ablate.models.attention import Attention
from ablate.models.initialise import initialise
from ablate.registry import CATALOGUE, PartConfig

CATALOGUE.load_builtin()
B, T, D, H = 3, 7, 8, 2
SIZES = Sizes(d_model=D, max_len=T)
NO_POSITION = Position(PartConfig(), SIZES)
LENGTHS = torch.arange(T) < torch.tensor([7, 4, 1])[:, None]


class Tilt(Position):
    """Adds a slope per head, masks nothing, and turns queries."""

    def __init__(self) -> None:
        super().__init__(PartConfig(), SIZES)
        self.slope = nn.Parameter(torch.tensor([0.3, -0.7], dtype=torch.float64))

    def rotate(self, q, k):
        return 2 * q.flip(-1), k + 1

    def bias(self, t_q, t_k, device):
        return self.slope[:, None, None] * (torch.arange(t_q)[:, None] - torch.arange(t_k))


def attention(causal=False, dropout=0.0, seed=0, **settings) -> Attention:
    sizes = Sizes(d_model=D, max_len=T, causal=causal, dropout={"attention_weights": dropout})
    mixer = Attention.Config(**{"num_heads": H, **settings}).build(sizes)
    initialise(mixer, seed)
    return mixer.double()


@pytest.fixture
def x() -> torch.Tensor:
    return torch.randn(B, T, D, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


def torch_twin(mixer: Attention) -> nn.MultiheadAttention:
    twin = nn.MultiheadAttention(D, H, bias=mixer.query.bias is not None, batch_first=True).double()
    projections = (mixer.query, mixer.key, mixer.value.projection)
    with torch.no_grad():
        twin.in_proj_weight.copy_(torch.cat([p.weight for p in projections]))
        twin.out_proj.weight.copy_(mixer.output.weight)
        if mixer.query.bias is not None:
            twin.in_proj_bias.copy_(torch.cat([p.bias for p in projections]))
            twin.out_proj.bias.copy_(mixer.output.bias)
    return twin


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("padded", [False, True])
def test_against_torch(x, bias, causal, padded):
    mixer = attention(causal=causal, bias=bias)
    expected, weights = torch_twin(mixer)(
        x,
        x,
        x,
        key_padding_mask=~LENGTHS if padded else None,
        attn_mask=torch.ones(T, T, dtype=torch.bool).triu(1) if causal else None,
        average_attn_weights=False,
    )
    mask = LENGTHS[:, None, None] if padded else None
    torch.testing.assert_close(mixer(x, NO_POSITION, mask), expected)
    torch.testing.assert_close(mixer.weights(x, NO_POSITION, mask), weights)


def without_the_kernel(mixer, x, position, mask=None):
    v = mixer._split(mixer.value(x))
    return mixer.output((mixer.weights(x, position, mask) @ v).transpose(1, 2).flatten(2))


MASKS = {
    "none": None,
    "padding": LENGTHS[:, None, None],
    "any": torch.rand(B, 1, T, T, generator=torch.Generator().manual_seed(4)) < 0.4,
    "nothing": torch.zeros(B, 1, T, T, dtype=torch.bool),
}


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("position", ["none", "tilt"])
@pytest.mark.parametrize("score", ["dot", "scaled_dot"])
def test_fused_and_explicit_paths_agree(x, score, position, causal, mask):
    mixer, mask = attention(causal=causal, score=score), MASKS[mask]
    position = Tilt() if position == "tilt" else NO_POSITION
    results = []
    for path in (mixer, lambda *args: without_the_kernel(mixer, *args)):
        x = x.detach().requires_grad_()
        y = path(x, position, mask)
        leaves = [x, *mixer.parameters(), *position.parameters()]
        results.append([y, *torch.autograd.grad((y * torch.arange(D)).sum(), leaves)])
    for fused, explicit in zip(*results, strict=True):
        assert torch.isfinite(fused).all()
        torch.testing.assert_close(fused, explicit)


def test_position_acts_on_queries_keys_and_logits(x):
    mixer, position = attention(score="dot"), Tilt()
    q = 2 * (x @ mixer.query.weight.T).view(B, T, H, D // H).flip(-1)
    k = 1 + (x @ mixer.key.weight.T).view(B, T, H, D // H)
    logits = torch.einsum("bqhd,bkhd->bhqk", q, k)
    for h in range(H):
        for i in range(T):
            for j in range(T):
                logits[:, h, i, j] += position.slope[h] * (i - j)
    torch.testing.assert_close(mixer.weights(x, position), logits.softmax(-1))


@pytest.mark.parametrize("score", CATALOGUE.names("score"))
@pytest.mark.parametrize("causal", [False, True])
def test_masked_weights_are_exactly_zero_and_empty_rows_give_zeros(x, score, causal):
    mixer = attention(causal=causal, score=score)
    mask = MASKS["any"].clone()
    mask[0, 0, 2] = False
    x.requires_grad_()
    with torch.autograd.set_detect_anomaly(True):
        weights, y = mixer.weights(x, NO_POSITION, mask), mixer(x, NO_POSITION, mask)
    allowed = mask.tril() if causal else mask
    assert (weights[~allowed.expand_as(weights)] == 0).all()
    rows = weights.sum(-1)
    torch.testing.assert_close(rows, allowed.any(-1).expand_as(rows).to(rows))
    assert torch.equal(y[0, 2], torch.zeros(D, dtype=torch.float64))
    with torch.autograd.set_detect_anomaly(True):  # no NaN on the way either
        (y.square().sum() + weights.square().sum()).backward()
    assert torch.isfinite(x.grad).all()
    assert all(torch.isfinite(p.grad).all() for p in mixer.parameters())


def test_padding_hides_what_stands_there(x):
    mixer, mask = attention(), LENGTHS[:, None, None]
    changed = torch.where(LENGTHS[..., None], x, x + 100)
    y, z = mixer(x, NO_POSITION, mask), mixer(changed, NO_POSITION, mask)
    torch.testing.assert_close(y[LENGTHS], z[LENGTHS])


@pytest.mark.parametrize("score", CATALOGUE.names("score"))
def test_future_never_changes_the_past(x, score):
    mixer = attention(causal=True, score=score)
    changed = x.clone()
    changed[:, 4:] += 100
    y, z = mixer(x, NO_POSITION), mixer(changed, NO_POSITION)
    torch.testing.assert_close(y[:, :4], z[:, :4])
    assert not torch.isclose(y[:, 4:], z[:, 4:]).all(-1).any()


@pytest.mark.parametrize("score", CATALOGUE.names("score"))
def test_without_positions_and_mask_it_is_permutation_equivariant(x, score):
    """FOUNDATIONS §2, number 11."""
    mixer, order = attention(score=score), torch.tensor([3, 0, 6, 1, 5, 2, 4])
    torch.testing.assert_close(mixer(x[:, order], NO_POSITION), mixer(x, NO_POSITION)[:, order])


def test_weights_dropout_acts_after_the_softmax(x):
    mixer = attention(dropout=0.5)
    mixer.weights_dropout.reseed(3)
    y = mixer(x, NO_POSITION)
    mixer.weights_dropout.reseed(3)
    dropped = mixer.weights_dropout(torch.ones(B, H, T, T, dtype=torch.float64)) * mixer.weights(
        x, NO_POSITION
    )
    v = mixer.value(x).view(B, T, H, D // H)
    expected = mixer.output(torch.einsum("bhqk,bkhd->bqhd", dropped, v).flatten(2))
    torch.testing.assert_close(y, expected)
    torch.testing.assert_close(mixer.eval()(x, NO_POSITION), attention()(x, NO_POSITION))


def test_heads_must_divide_the_width_unless_both_widths_are_given():
    with pytest.raises(Invalid) as error:
        attention(num_heads=3, d_k=2)
    assert str(error.value) == (
        "num_heads: must divide d_model = 8 unless d_k and d_v are both given; given 3; allowed: 1, 2, 4, 8"
    )
    mixer = attention(num_heads=3, d_k=2, d_v=5)
    assert [
        tuple(p.weight.shape) for p in (mixer.query, mixer.key, mixer.value.projection, mixer.output)
    ] == [
        (6, 8),
        (6, 8),
        (15, 8),
        (8, 15),
    ]


@pytest.mark.parametrize("score", CATALOGUE.names("score"))
def test_query_and_value_widths_may_differ(x, score):
    mixer = attention(num_heads=3, d_k=2, d_v=5, score=score, causal=True)
    torch.testing.assert_close(mixer(x, NO_POSITION), without_the_kernel(mixer, x, NO_POSITION))


def test_all_problems_are_found_at_once():
    with pytest.raises(Invalid) as error:
        attention(num_heads=12, value={"name": "low_rank", "rank": 9})
    assert [".".join(p.path) for p in error.value.problems] == ["num_heads", "value.rank"]


def test_queries_keys_and_low_rank_values_cost_the_same():
    """FOUNDATIONS §2, number 3: for one head with d_k = 128 and d_v = D = 12,288."""
    config = Attention.Config(num_heads=1, d_k=128, d_v=12_288, value={"name": "low_rank", "rank": 128})
    with torch.device("meta"):
        mixer = config.build(Sizes(d_model=12_288, max_len=1))
    assert mixer.query.weight.numel() == mixer.key.weight.numel() == 1_572_864
    assert sum(p.numel() for p in mixer.value.parameters()) == 3_145_728 == 2 * 1_572_864


def test_shapes_of_the_worked_examples():
    """FOUNDATIONS §2, numbers 5 and 6."""
    with torch.device("meta"):
        mixer = Attention.Config(num_heads=4).build(Sizes(d_model=64, max_len=3))
        x = torch.empty(1, 3, 1000) @ torch.empty(1000, 64)
        assert mixer._split(mixer.query(x)).shape == (1, 4, 3, 16)
        assert mixer.weights(x, NO_POSITION).shape == (1, 4, 3, 3)
        assert mixer(x, NO_POSITION).shape == (1, 3, 64)

        mixer = Attention.Config(num_heads=8).build(Sizes(d_model=512, max_len=10))
        x = torch.empty(2, 10, 512)
        assert mixer(x, NO_POSITION).shape == (2, 10, 512)
        assert mixer.weights(x, NO_POSITION).shape == (2, 8, 10, 10)
        assert mixer._split(mixer.query(x)).shape[-1] == mixer._split(mixer.value(x)).shape[-1] == 64


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
def test_one_query_over_apple_banana_and_car(score, weights):
    """FOUNDATIONS §2, number 1."""
    q = torch.tensor([1, 0.5, -0.3, 0.8])
    k = torch.tensor([[0.9, 0.4, -0.2, 0.7], [0.8, 0.6, -0.1, 0.6], [-0.5, 0.2, 0.9, -0.4]])
    v = torch.tensor([[1.2, 0.3, 0.5, 0.9], [1.0, 0.4, 0.6, 0.8], [0.2, 0.9, 1.1, 0.1]])
    x = torch.cat([q.expand(3, 4), k, v], dim=1).double()[None]
    config = Attention.Config(num_heads=1, d_k=4, d_v=4, score=score)
    mixer = selecting(config.build(Sizes(d_model=12, max_len=3)).double(), (4, 4, 4))

    q_, k_ = mixer._split(mixer.query(x)), mixer._split(mixer.key(x))
    scale = 1 if score == "dot" else 2
    expected = torch.tensor([1.72, 1.61, -0.99], dtype=torch.float64) / scale
    torch.testing.assert_close(mixer.score.logits(q_, k_)[0, 0, 0], expected, rtol=0, atol=1e-6)
    precision = 0.005 if score == "dot" else 0.0005
    found = mixer.weights(x, NO_POSITION)[0, 0, 0]
    torch.testing.assert_close(found, torch.tensor(weights).double(), rtol=0, atol=precision + 1e-6)
    if score == "scaled_dot":
        output = torch.tensor([0.99712, 0.41314, 0.61314, 0.76345]).double()
        torch.testing.assert_close(mixer(x, NO_POSITION)[0, 0, :4], output, rtol=0, atol=1e-4)


def test_causal_softmax_of_a_six_by_six_matrix():
    """FOUNDATIONS §2, number 2: column by column, the query's."""
    columns = [
        [3.53],
        [0.80, -0.30],
        [1.96, -0.21, 0.89],
        [4.48, 0.82, 0.67, 1.31],
        [3.74, 0.29, 2.99, 1.73, 3.07],
        [-1.95, 2.91, -0.41, -1.48, 2.94, 0.31],
    ]
    expected = [
        [1],
        [0.75, 0.25],
        [0.69, 0.08, 0.24],
        [0.92, 0.02, 0.02, 0.04],
        [0.46, 0.01, 0.22, 0.06, 0.24],
        [0.00, 0.46, 0.02, 0.01, 0.48, 0.03],
    ]
    scores = torch.full((6, 6), 50.0)  # queries × keys; what the mask must hide would win the softmax
    for i, column in enumerate(columns):
        scores[i, : i + 1] = torch.tensor(column)
    x = torch.cat([torch.eye(6), scores.T, torch.zeros(6, 6)], dim=1).double()[None]
    config = Attention.Config(num_heads=1, d_k=6, d_v=6, score="dot")
    mixer = selecting(config.build(Sizes(d_model=18, max_len=6, causal=True)).double(), (6, 6, 6))
    weights = mixer.weights(x, NO_POSITION)[0, 0]
    for i, row in enumerate(expected):
        torch.testing.assert_close(weights[i, : i + 1], torch.tensor(row).double(), rtol=0, atol=0.006)
        assert (weights[i, i + 1 :] == 0).all()
