import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from ablate.base.registry import CATALOGUE
from ablate.components.norms import BatchNorm, LayerNorm, NoNorm, RMSNorm
from ablate.components.sizes import Sizes
from ablate.models.build import initialise

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


def drawn(seed: int = 0) -> torch.Tensor:
    return torch.randn(4, 5, 6, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.fixture
def x() -> torch.Tensor:
    return 3 + 2 * drawn()


def test_norms_of_one_position_against_torch_whatever_is_padding(x):
    for norm, reference in (
        (built(LayerNorm, eps=1e-3), nn.LayerNorm(6, eps=1e-3)),
        (built(RMSNorm), nn.RMSNorm(6, eps=1e-6)),
        (built(NoNorm), nn.Identity()),
    ):
        reference.double().load_state_dict(norm.state_dict())
        torch.testing.assert_close(norm(x), reference(x))
        assert torch.equal(norm(x, REAL), norm(x))


@pytest.mark.parametrize("part", [LayerNorm, RMSNorm, BatchNorm])
def test_a_norm_begins_standard(part):
    norm = part.Config().build(SIZES)
    for tensor in norm.state_dict().values():
        tensor.fill_(torch.nan)
    initialise(norm, seed=0)
    begin = {"weight": 1.0, "bias": 0.0, "running_mean": 0.0, "running_var": 1.0}
    for name, tensor in norm.state_dict().items():
        assert tensor.tolist() == [begin[name]] * 6, name


REAL = torch.tensor(
    [[True] * 5, [True, True, False, False, False], [False] * 5, [True, False, True, True, False]]
)


@settings(deadline=None, max_examples=12)
@given(data=st.data(), momentum=st.sampled_from([0.1, 0.7, 1.0]))
def test_batch_norm_with_padding_is_torchs_over_the_real_positions(data, momentum):
    norm = built(BatchNorm, momentum=momentum)
    reference = nn.BatchNorm1d(6, momentum=momentum).double()
    reference.load_state_dict(norm.state_dict(), strict=False)
    flags = st.lists(st.booleans(), min_size=20, max_size=20).filter(lambda real: sum(real) > 1)
    for step in range(3):
        real = torch.tensor(data.draw(flags)).view(4, 5)
        x = (step + 3 * drawn(step)).requires_grad_()
        y = norm(torch.where(real[..., None], x, 1e6), real)
        expected = reference(x[real])
        torch.testing.assert_close(y[real], expected)
        for name, buffer in norm.named_buffers():
            torch.testing.assert_close(buffer, reference.get_buffer(name))
        weights = torch.arange(6.0, dtype=torch.float64) + 1
        gradients = torch.autograd.grad((y[real].square() * weights).sum(), [x, *norm.parameters()])
        by_torch = torch.autograd.grad((expected.square() * weights).sum(), [x, *reference.parameters()])
        torch.testing.assert_close(gradients, by_torch)
    norm.eval()
    reference.eval()
    torch.testing.assert_close(norm(x, real)[real], reference(x[real]))


def test_batch_norm_with_a_mask_that_hides_nothing_is_that_without(x):
    one = built(BatchNorm)
    other = built(BatchNorm)
    torch.testing.assert_close(one(x), other(x, torch.ones(1, 5, dtype=torch.bool)))
    torch.testing.assert_close(one.running_mean, other.running_mean)
    torch.testing.assert_close(one.running_var, other.running_var)


@pytest.mark.parametrize("unreal", [torch.nan, torch.inf])
def test_padding_never_enters_the_statistics_whatever_stands_there(x, unreal):
    one = built(BatchNorm)
    other = built(BatchNorm)
    y = one(x, REAL)
    filled = torch.where(REAL[..., None], x, unreal).requires_grad_()
    z = other(filled, REAL)
    assert torch.equal(y, z)
    assert torch.equal(z[~REAL], one.bias.expand(10, 6))
    assert torch.equal(one.running_var, other.running_var)
    z.square().sum().backward()
    assert filled.grad.isfinite().all()
    assert (filled.grad[~REAL] == 0).all()


@pytest.mark.parametrize("count", [0, 1, None])
def test_batch_norm_of_a_single_real_position_is_finite_and_moves_no_variance(x, count):
    """Among others that are padding, or alone, where torch's own refuses."""
    norm = built(BatchNorm)
    real = None
    if count is None:
        x = x[2:3, 3:4]
    else:
        real = torch.zeros(4, 5, dtype=torch.bool)
        real[2, 3] = count == 1
    y = norm(x.requires_grad_(), real)
    torch.testing.assert_close(y, norm.bias.expand_as(y))
    y.sum().backward()
    assert all(t.grad.isfinite().all() for t in (x, *norm.parameters()))
    only = x.detach()[0, 0] if count is None else x.detach()[2, 3]
    torch.testing.assert_close(norm.running_mean, 0.1 * only * (count != 0))
    assert torch.equal(norm.running_var, torch.ones(6, dtype=torch.float64))
