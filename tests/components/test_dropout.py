import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from ablate.components.layers import Dropout


def seeded(rate: float, seed: int = 0) -> Dropout:
    site = Dropout(rate)
    site.reseed(seed)
    return site


@pytest.mark.slow
@settings(deadline=None, max_examples=10)
@given(rate=st.floats(0.01, 0.99), seed=st.integers(0, 2**62))
def test_drops_at_its_rate_and_scales_what_it_keeps(rate, seed):
    count = 20_000
    x = torch.linspace(1, 2, count, dtype=torch.float64)
    y = seeded(rate, seed)(x)
    kept = y != 0
    torch.testing.assert_close(y[kept], x[kept] / (1 - rate))
    assert abs(float((~kept).double().mean()) - rate) < 6 * math.sqrt(rate * (1 - rate) / count)


def test_masks_are_a_function_of_the_seed_and_their_number_alone():
    site = seeded(0.5, 7)
    x = torch.ones(1000)
    before = torch.get_rng_state()
    first = site(x)
    assert not torch.equal(first, site(x))
    assert not torch.equal(first, seeded(0.5, 8)(x))
    site.reseed(7)
    assert torch.equal(site(x), first)
    assert torch.equal(torch.get_rng_state(), before)


def test_gradient_passes_where_the_value_did():
    x = torch.ones(1000, requires_grad=True)
    y = seeded(0.25)(x)
    y.sum().backward()
    assert torch.equal(x.grad, y.detach())


def test_evaluation_and_rate_zero_change_nothing():
    x = torch.ones(10)
    assert seeded(0.5).eval()(x) is x
    assert Dropout(0.0)(x) is x


def test_training_without_a_stream_is_refused():
    with pytest.raises(RuntimeError, match=r"call `model\.start_step\(step\)`"):
        Dropout(0.5)(torch.ones(3))
