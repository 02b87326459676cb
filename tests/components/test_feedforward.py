import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from ablate.base.registry import CATALOGUE
from ablate.components.feedforward import MLP, hidden_width
from ablate.components.sizes import Sizes
from ablate.models.build import initialise
from ablate.study.patch import level_labels

CATALOGUE.load_builtin()
SIZES = Sizes(d_model=6, max_len=5)
GATES = {"tanh": None, "geglu": torch.nn.functional.gelu, "swiglu": torch.nn.functional.silu}


@pytest.mark.slow
@pytest.mark.parametrize("bias", ["on", "off"])
@pytest.mark.parametrize("activation", GATES)
def test_follows_its_formula_at_every_position(activation, bias):
    mlp = MLP.Config(activation=activation, expansion=2, bias=bias).build(SIZES)
    initialise(mlp, seed=0)
    x = torch.randn(2, 3, 6, generator=torch.Generator().manual_seed(0))

    def mapped(layer, y):
        return y @ layer.weight.T + (layer.bias if bias == "on" else 0)

    gate = GATES[activation]
    value = mapped(mlp.up, x)
    hidden = gate(mapped(mlp.gate, x)) * value if gate else value.tanh()
    torch.testing.assert_close(mlp(x), mapped(mlp.down, hidden))


def count(d_model: int, **config) -> int:
    with torch.device("meta"):
        mlp = MLP.Config(**config).build(Sizes(d_model=d_model, max_len=1))
    return sum(p.numel() for p in mlp.parameters())


@settings(deadline=None, max_examples=60)
@given(d_model=st.integers(1, 70), expansion=st.floats(0.1, 6), bias=st.booleans())
def test_no_other_width_brings_a_gated_layer_nearer_to_the_ungated_one(d_model, expansion, bias):
    plain = count(d_model, activation="gelu", expansion=expansion, bias=bias)
    gated = count(d_model, activation="geglu", expansion=expansion, bias=bias)
    one_more = 3 * d_model + 2 * bias
    width = hidden_width(expansion, d_model, gated=True, bias=bias)
    assert abs(gated - plain) <= abs(gated + one_more - plain)
    assert width == 1 or abs(gated - plain) <= abs(gated - one_more - plain)


def test_a_gated_width_is_that_of_its_paper():
    assert hidden_width(4, 768, gated=True, bias=False) == 2048  # Shazeer 2020, section 3: 3072 · 2 / 3


@pytest.mark.parametrize(("expansion", "hidden"), [(4, 24), (0.5, 3), (1.4, 8), (0.01, 1), (2 / 3, 4)])
def test_expansion_is_any_positive_number(expansion, hidden):
    assert MLP.Config(expansion=expansion).build(SIZES).up.weight.shape == (hidden, 6)


def test_a_whole_expansion_is_one_number_with_one_name():
    one, other, half = (MLP.Config(name="mlp", expansion=x).model_dump() for x in (4, 4.0, 2.5))
    assert one == other == MLP.Config(name="mlp").model_dump()
    assert str(other["expansion"]) == "4"
    assert list(level_labels([other, half]).values()) == ["mlp(expansion=4)", "mlp(expansion=2.5)"]
