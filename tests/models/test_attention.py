import pytest
import torch
from attention_by_hand import allowed_pairs, attention_output, attention_weights
from attention_cases import (
    COMBINATIONS,
    LENGTHS,
    MASKS,
    NO_POSITION,
    POSITIONS,
    SCORES,
    SWITCHES,
    B,
    D,
    H,
    T,
    Tilt,
    attention,
    named,
    position_for,
)
from torch import nn
from torch.func import functional_call, grad, stack_module_state, vmap
from torch.nn.attention import SDPBackend, sdpa_kernel

from ablate.base.registry import CATALOGUE
from ablate.models.attention import Attention

CATALOGUE.load_builtin()


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


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("settings", COMBINATIONS, ids=named)
def test_every_score_and_weighting_under_every_mask(x, settings, causal, mask):
    mixer, mask = attention(causal=causal, **settings), MASKS[mask]
    allowed = allowed_pairs((B, T, T), mask, causal)
    with torch.no_grad():
        expected = attention_weights(mixer, x, allowed)
        output = attention_output(mixer, x, expected)
    weights, y = mixer.weights(x, NO_POSITION, mask), mixer(x, NO_POSITION, mask)
    torch.testing.assert_close(weights, expected)
    torch.testing.assert_close(y, output)
    assert (weights[~allowed.unsqueeze(1).expand_as(weights)] == 0).all()
    assert (y[~allowed.any(-1)] == 0).all()


@pytest.mark.parametrize("mask", ["per row", "per query"])
@pytest.mark.parametrize("settings", SWITCHES, ids=named)
def test_every_switch_against_its_definition(x, settings, mask):
    mixer, mask = attention(causal=True, **settings), MASKS[mask]
    if mixer.query_norm is not None:
        weights = mixer.weights(x, NO_POSITION, mask)  # what the norm does is seen below
    else:
        weights = attention_weights(mixer, x, allowed_pairs((B, T, T), mask, causal=True)).detach()
        torch.testing.assert_close(mixer.weights(x, NO_POSITION, mask), weights)
    torch.testing.assert_close(mixer(x, NO_POSITION, mask), attention_output(mixer, x, weights))


@pytest.mark.parametrize("settings", [*COMBINATIONS, *SWITCHES], ids=named)
@pytest.mark.parametrize("causal", [False, True])
def test_rows_without_keys_give_zeros_and_gradients_stay_finite(x, settings, causal):
    mixer = attention(causal=causal, **settings)
    mask = MASKS["per query"].clone()
    mask[0, 0, 2] = False
    mask[1, 0] = False
    x.requires_grad_()
    with torch.autograd.set_detect_anomaly(True):  # no NaN on the way either
        weights, y = mixer.weights(x, NO_POSITION, mask), mixer(x, NO_POSITION, mask)
        rows, allowed = weights.sum(-1), allowed_pairs((B, T, T), mask, causal)
        torch.testing.assert_close(rows, allowed.any(-1).unsqueeze(1).expand_as(rows).to(rows))
        at_nothing = torch.zeros(D).double() if mixer.output.bias is None else mixer.output.bias
        assert torch.equal(y[0, 2], at_nothing)
        assert torch.equal(y[1], at_nothing.expand(T, D))
        (y.square().sum() + weights.square().sum()).backward()
    assert torch.isfinite(x.grad).all()
    assert all(torch.isfinite(p.grad).all() for p in mixer.parameters())


def without_the_kernel(mixer, x, position, mask=None):
    v = mixer._shared(mixer.read(x)[1])
    return mixer.output((mixer.weights(x, position, mask) @ v).transpose(1, 2).flatten(2))


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("position", ["none", "tilt"])
@pytest.mark.parametrize("score", SCORES)
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


@pytest.mark.parametrize(
    "settings", [{"score": s} for s in SCORES if s != "additive"] + [{"d_k": 3, "d_v": 5}], ids=named
)
def test_inner_products_never_form_the_weights(settings):
    """Also where the widths of keys and values differ, for which torch's kernel is not made."""
    from torch.utils._python_dispatch import TorchDispatchMode

    class Shapes(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            result = func(*args, **(kwargs or {}))
            seen.extend(
                tuple(t.shape) for t in torch.utils._pytree.tree_leaves(result) if hasattr(t, "shape")
            )
            return result

    seen: list[tuple[int, ...]] = []
    mixer, x = attention(causal=True, **settings), torch.randn(1, 50, D, dtype=torch.float64)
    with Shapes():
        mixer(x, NO_POSITION).square().sum().backward()
    assert seen
    assert not [shape for shape in seen if shape.count(50) > 1]


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("settings", [*COMBINATIONS, *SWITCHES], ids=named)
def test_stacked_parameters_agree_with_one_by_one(x, settings, masked):
    mixers = [attention(causal=True, seed=seed, **settings) for seed in range(2)]
    mask = MASKS["per query"] if masked else None

    def loss(parameters, x):
        return (functional_call(mixers[0], parameters, (x, NO_POSITION, mask)) * torch.arange(D)).sum()

    with sdpa_kernel(SDPBackend.MATH):  # the fused kernel warns that it takes the stacked models one by one
        gradients = vmap(grad(loss), in_dims=(0, None))(stack_module_state(mixers)[0], x)
    for index, mixer in enumerate(mixers):
        (mixer(x, NO_POSITION, mask) * torch.arange(D)).sum().backward()
        for path, parameter in mixer.named_parameters():
            torch.testing.assert_close(gradients[path][index], parameter.grad)
            # The bias of the keys adds the same to every score of a query.
            assert masked or path == "key.bias" or parameter.grad.abs().max() > 1e-12, path


@pytest.mark.parametrize("qk_norm", [False, True])
def test_position_acts_on_queries_and_keys_once_they_are_normed_and_on_logits(x, qk_norm):
    mixer, position = attention(score="dot", qk_norm=qk_norm), Tilt()
    q, k = ((x @ p.weight.T).view(B, T, H, D // H) for p in (mixer.query, mixer.key))
    if qk_norm:
        q, k = mixer.query_norm(q), mixer.key_norm(k)
    logits = torch.einsum("bqhd,bkhd->bhqk", 2 * q.flip(-1), 1 + k)
    for h in range(H):
        for i in range(T):
            for j in range(T):
                logits[:, h, i, j] += position.slope[h] * (i - j)
    torch.testing.assert_close(mixer.weights(x, position), logits.softmax(-1))


@pytest.mark.parametrize("settings", [*COMBINATIONS, *SWITCHES], ids=named)
@pytest.mark.parametrize("position", POSITIONS)
def test_steps_equal_the_whole_sequence(x, position, settings):
    mixer = attention(causal=True, **settings)
    inside = CATALOGUE.get("position", position).inside_attention
    if inside and ("d_q" in settings or mixer.score is None):
        pytest.skip("no study can have both")
    position, state, outputs = position_for(position, mixer), None, []
    for t in range(T):
        y, state = mixer.step(x[:, t : t + 1], position, state)
        outputs.append(y)
    torch.testing.assert_close(torch.cat(outputs, 1), mixer(x, position))


@pytest.mark.parametrize(
    "settings", [{}, {"score": "additive"}, {"weighting": "hard"}, {"weighting": "uniform"}], ids=named
)
def test_weights_dropout_acts_after_the_weighting(x, settings):
    mixer = attention(dropout=0.5, **settings)
    mixer.weights_dropout.reseed(3)
    y = mixer(x, NO_POSITION)
    mixer.weights_dropout.reseed(3)
    factor = mixer.weights_dropout(torch.ones(B, H, T, T, dtype=torch.float64))
    dropped = factor * mixer.weights(x, NO_POSITION)
    v = mixer.value(x).view(B, T, H, D // H)
    expected = mixer.output(torch.einsum("bhqk,bkhd->bqhd", dropped, v).flatten(2))
    torch.testing.assert_close(y, expected)
    torch.testing.assert_close(mixer.eval()(x, NO_POSITION), attention(**settings)(x, NO_POSITION))
