from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.func import functional_call, stack_module_state, vmap

from ablate.base.registry import CATALOGUE
from ablate.components.norms import BatchNorm, LayerNorm, NoNorm, RMSNorm
from ablate.components.sizes import Sizes
from ablate.core.signature import Signature
from ablate.models.build import build_model
from ablate.models.initialise import initialise
from ablate.models.section import ModelSection

CATALOGUE.load_builtin()
SIZES = Sizes(d_model=6, max_len=5)


def built(part, **settings):
    norm = part.Config(**settings).build(SIZES)
    initialise(norm, seed=0)
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for parameter in norm.parameters():
            parameter.normal_(generator=generator)
    return norm.double()


@pytest.fixture
def x() -> torch.Tensor:
    return 3 + 2 * torch.randn(4, 5, 6, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


def test_layer_norm_against_torch(x):
    norm, reference = built(LayerNorm, eps=1e-3), nn.LayerNorm(6, eps=1e-3).double()
    reference.load_state_dict(norm.state_dict())
    torch.testing.assert_close(norm(x), reference(x))


def test_layer_norm_uses_the_features_of_one_position(x):
    norm = built(LayerNorm)
    expected = (x - x.mean(-1, keepdim=True)) / (x.var(-1, correction=0, keepdim=True) + 1e-5).sqrt()
    torch.testing.assert_close(norm(x), expected * norm.weight + norm.bias)


def test_rms_norm_against_torch_and_its_formula(x):
    norm, reference = built(RMSNorm), nn.RMSNorm(6, eps=1e-6).double()
    reference.load_state_dict(norm.state_dict())
    torch.testing.assert_close(norm(x), reference(x))
    torch.testing.assert_close(norm(x), x / (x.square().mean(-1, keepdim=True) + 1e-6).sqrt() * norm.weight)


def test_batch_norm_against_torch_in_training_and_evaluation(x):
    norm, reference = built(BatchNorm, momentum=0.3), nn.BatchNorm1d(6, momentum=0.3).double()
    reference.load_state_dict(norm.state_dict(), strict=False)
    for _ in range(3):
        torch.testing.assert_close(norm(x), reference(x.transpose(1, 2)).transpose(1, 2))
        x = x * 1.5 + 1
    norm.eval(), reference.eval()
    torch.testing.assert_close(norm(x), reference(x.transpose(1, 2)).transpose(1, 2))


def test_batch_norm_uses_all_positions_of_the_batch_for_each_feature():
    """FOUNDATIONS §1: for B = 32, T = 3, D = 64, 64 statistics over 96 values each."""
    norm = BatchNorm.Config(eps=1e-12, momentum=1.0).build(Sizes(d_model=64, max_len=3))
    initialise(norm, seed=0)
    x = torch.randn(32, 3, 64, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    y = norm.double()(x).reshape(96, 64)
    torch.testing.assert_close(y.mean(0), torch.zeros(64, dtype=torch.float64), rtol=0, atol=1e-12)
    torch.testing.assert_close(y.var(0, correction=0), torch.ones(64, dtype=torch.float64))
    assert norm.running_mean.shape == (64,)
    torch.testing.assert_close(norm.running_var, x.reshape(96, 64).var(0))


def test_batch_norm_in_evaluation_sees_each_example_alone(x):
    norm = built(BatchNorm)
    norm(x)
    norm.eval()
    before = norm.running_mean.clone()
    torch.testing.assert_close(norm(x)[:1], norm(x[:1]))
    assert torch.equal(norm.running_mean, before)


def test_batch_norm_keeps_its_statistics_in_the_state_and_starts_standard():
    norm = BatchNorm.Config().build(SIZES)
    initialise(norm, seed=0)
    state = norm.state_dict()
    assert torch.equal(state["running_mean"], torch.zeros(6))
    assert torch.equal(state["running_var"], torch.ones(6))


def test_none_changes_nothing(x):
    assert NoNorm.Config().build(SIZES)(x) is x


REAL = torch.tensor(
    [[True] * 5, [True, True, False, False, False], [False] * 5, [True, False, True, True, False]]
)


def packed(x: Tensor, real: Tensor) -> Tensor:
    """The real positions (N, D), which torch's batch norm takes as they are."""
    return x[real.expand(x.shape[:2])]


@settings(deadline=None, max_examples=40)
@given(data=st.data(), momentum=st.sampled_from([0.1, 0.7, 1.0]))
def test_batch_norm_with_padding_is_torchs_over_the_real_positions(data, momentum):
    norm, reference = built(BatchNorm, momentum=momentum), nn.BatchNorm1d(6, momentum=momentum).double()
    reference.load_state_dict(norm.state_dict(), strict=False)
    flags = st.lists(st.booleans(), min_size=20, max_size=20).filter(lambda all_of: sum(all_of) > 1)
    for step in range(3):
        real = torch.tensor(data.draw(flags)).view(4, 5)
        x = (
            torch.randn(4, 5, 6, generator=torch.Generator().manual_seed(step), dtype=torch.float64) * 3
            + step
        )
        x.requires_grad_()
        y = norm(torch.where(real[..., None], x, 1e6), real)
        expected = reference(packed(x, real))
        torch.testing.assert_close(y[real], expected)
        torch.testing.assert_close(norm.running_mean, reference.running_mean)
        torch.testing.assert_close(norm.running_var, reference.running_var)
        weights = torch.arange(6.0, dtype=torch.float64) + 1
        leaves = [[x, *module.parameters()] for module in (norm, reference)]
        sums = [(y[real].square() * weights).sum(), (expected.square() * weights).sum()]
        found, wanted = (torch.autograd.grad(*pair) for pair in zip(sums, leaves, strict=True))
        for a, b in zip(found, wanted, strict=True):
            torch.testing.assert_close(a, b)
    norm.eval(), reference.eval()
    torch.testing.assert_close(norm(x, real)[real], reference(packed(x, real)))


def test_batch_norm_with_a_mask_that_hides_nothing_is_that_without(x):
    one, other = built(BatchNorm), built(BatchNorm)
    torch.testing.assert_close(one(x), other(x, torch.ones(1, 5, dtype=torch.bool)))
    torch.testing.assert_close(one.running_mean, other.running_mean)
    torch.testing.assert_close(one.running_var, other.running_var)


@pytest.mark.parametrize("unreal", [1e6, torch.nan, torch.inf])
def test_padding_never_enters_the_statistics_whatever_stands_there(x, unreal):
    one, other = built(BatchNorm), built(BatchNorm)
    y = one(x, REAL)
    filled = torch.where(REAL[..., None], x, unreal).requires_grad_()
    z = other(filled, REAL)
    assert torch.equal(y, z)
    assert torch.equal(z[~REAL], one.bias.expand(10, 6))
    assert torch.equal(one.running_var, other.running_var)
    z.square().sum().backward()
    assert filled.grad.isfinite().all()
    assert (filled.grad[~REAL] == 0).all()


@pytest.mark.parametrize("count", [0, 1])
def test_batch_norm_of_a_single_real_position_is_finite_and_moves_no_variance(x, count):
    norm = built(BatchNorm)
    real = torch.zeros(4, 5, dtype=torch.bool)
    real[2, 3] = count == 1
    x.requires_grad_()
    y = norm(x, real)
    torch.testing.assert_close(y, norm.bias.expand_as(y))
    y.sum().backward()
    assert all(t.grad.isfinite().all() for t in (x, *norm.parameters()))
    torch.testing.assert_close(norm.running_mean, count * 0.1 * x[2, 3].detach())
    assert torch.equal(norm.running_var, torch.ones(6, dtype=torch.float64))


def test_batch_norm_trains_on_one_position_without_a_mask(x):
    """Torch's own refuses."""
    norm = built(BatchNorm)
    y = norm(x[:1, :1])
    torch.testing.assert_close(y, norm.bias.expand_as(y))
    torch.testing.assert_close(norm.running_mean, 0.1 * x[0, 0])


@pytest.mark.parametrize("part", [LayerNorm, RMSNorm, NoNorm])
def test_norms_of_one_position_do_not_ask_what_is_real(x, part):
    norm = built(part)
    assert torch.equal(norm(x, REAL), norm(x))


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("name", CATALOGUE.names("norm"))
def test_stacked_norms_agree_with_one_by_one(name, training, masked):
    part, real = CATALOGUE.get("norm", name), REAL if masked else None
    x = torch.randn(3, 4, 5, 6, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    norms = [built(part).train(training) for _ in range(3)]
    for seed, norm in enumerate(norms):
        for tensor in norm.state_dict().values():
            tensor.uniform_(0.5, 2, generator=torch.Generator().manual_seed(seed))
    parameters, buffers = stack_module_state(norms)

    def call(parameters, buffers, x):
        return functional_call(norms[0], (parameters, buffers), (x, real))

    together = vmap(call)(parameters, buffers, x)
    for index, norm in enumerate(norms):
        torch.testing.assert_close(together[index], norm(x[index], real))
        for key, buffer in norm.named_buffers():
            torch.testing.assert_close(buffers[key][index], buffer)


@pytest.mark.parametrize("placement", ["pre", "post", "sandwich"])
def test_padding_changes_nothing_in_training_of_a_model_with_batch_norm(placement):
    section = ModelSection.model_validate(
        {"d_model": 16, "num_layers": 2, "norm": "batch", "norm_placement": placement}
    )
    tokens = torch.randint(11, (4, 5), generator=torch.Generator().manual_seed(0))
    real = torch.arange(5) < torch.tensor([5, 2, 4, 3])[:, None]
    results = []
    for other in (0, 7):
        model = build_model(section, Signature(5, 3, vocab_size=11, readout="mean", padded=True))
        logits = model(torch.where(real, tokens, other), real[:, None, None])
        logits.sum().backward()
        results.append([logits, *model.buffers()])
    for one, two in zip(*results, strict=True):
        torch.testing.assert_close(one, two)
