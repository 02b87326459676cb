import pytest
import torch
from small_models import copy_block
from torch import nn

from ablate.base.registry import CATALOGUE, PartConfig
from ablate.components.positions import Position
from ablate.components.sizes import Sizes
from ablate.models.block import Block
from ablate.models.build import initialise
from ablate.models.section import ModelSection

CATALOGUE.load_builtin()
B, T, D, H = 3, 5, 8, 2
SIZES = Sizes(d_model=D, max_len=T)
NO_POSITION = Position(PartConfig(), SIZES)
CAUSAL = torch.ones(T, T, dtype=torch.bool).triu(1)


def section(placement="pre", activation="relu", layers=2, **settings) -> ModelSection:
    model = {"d_model": D, "num_layers": layers, "norm_placement": placement}
    model |= {
        "mixer": {"num_heads": H, "bias": True},
        "feedforward": {"activation": activation, "expansion": 3},
    }
    return ModelSection.model_validate(model | settings)


def shaken(module: nn.Module) -> nn.Module:
    """Initialises a module and moves every parameter, so that norms are no identity and biases not 0."""
    initialise(module, seed=0)
    generator = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=generator), alpha=0.2)
    return module.double()


@pytest.fixture
def x() -> torch.Tensor:
    return torch.randn(B, T, D, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("placement", ["pre", "post"])
@pytest.mark.parametrize("topology", ["encoder", "decoder"])
def test_stack_against_torch(x, topology, placement, activation):
    settings = section(placement, activation, layers=3, topology=topology)
    stack = shaken(settings.topology.build(SIZES, settings))
    norm = nn.LayerNorm(D).double() if placement == "pre" else None
    layer = nn.TransformerEncoderLayer(
        D, H, 3 * D, 0.0, activation, batch_first=True, norm_first=placement == "pre"
    )
    twin = nn.TransformerEncoder(layer.double(), 3, norm, enable_nested_tensor=False)
    for ours, theirs in zip(stack.blocks, twin.layers, strict=True):
        copy_block(ours, theirs)
    assert (stack.norm is None) == (norm is None)
    if norm is not None:
        twin.norm.load_state_dict(stack.norm.state_dict())
    expected = twin(x, mask=CAUSAL if topology == "decoder" else None)
    torch.testing.assert_close(stack(x, NO_POSITION), expected)


PLACES = ("attention_weights", "attention_output", "feedforward_hidden", "feedforward_output", "residual")
RATES = {place: 0.1 * number for number, place in enumerate(PLACES, 1)}


@pytest.mark.parametrize("residual", ["on", "off"])
@pytest.mark.parametrize("placement", ["pre", "post", "sandwich"])
def test_norms_dropouts_and_residuals_stand_where_they_should(x, placement, residual):
    settings = section(placement, residual=residual, dropout=RATES)
    block = shaken(Block(settings, Sizes(d_model=D, max_len=T, dropout=settings.dropout.model_dump())))
    names = {
        f"{part}{at}_dropout": (B, T, D) for part in ("mixer", "feedforward") for at in ("", "_residual")
    }
    names |= {"mixer.weights_dropout": (B, H, T, T), "feedforward.hidden_dropout": (B, T, 3 * D)}
    factor = {}
    for seed, (name, shape) in enumerate(names.items()):
        site = block.get_submodule(name)
        site.reseed(seed)
        factor[name] = site(torch.ones(shape, dtype=torch.float64))
        site.reseed(seed)

    def mix(y):
        weights = block.mixer.weights(y, NO_POSITION) * factor["mixer.weights_dropout"]
        v = block.mixer.value(y).view(B, T, H, D // H)
        return block.mixer.output(torch.einsum("bhqk,bkhd->bqhd", weights, v).flatten(2))

    def feed(y):
        return block.feedforward.down(block.feedforward.up(y).relu() * factor["feedforward.hidden_dropout"])

    def sublayer(y, name, function):
        y_kept = y if residual == "on" else 0
        norm, dropped = block.get_submodule(f"{name}_norm"), factor[f"{name}_dropout"]
        dropped_sum = factor[f"{name}_residual_dropout"]
        if placement == "pre":
            return (y_kept + function(norm(y)) * dropped) * dropped_sum
        if placement == "post":
            return norm((y_kept + function(y) * dropped) * dropped_sum)
        after = block.get_submodule(f"{name}_norm_after")
        return (y_kept + after(function(norm(y))) * dropped) * dropped_sum

    expected = sublayer(sublayer(x, "mixer", mix), "feedforward", feed)
    torch.testing.assert_close(block(x, NO_POSITION), expected)


def test_without_a_feedforward_the_mixer_is_all_and_a_stack_of_sandwiches_ends_with_a_norm(x):
    settings = section("sandwich", layers=3, feedforward="none")
    stack = shaken(settings.topology.build(SIZES, settings))
    y = x
    for block in stack.blocks:
        norms = [name for name, _ in block.named_children() if "norm" in name]
        assert norms == ["mixer_norm", "mixer_norm_after"]
        y = y + block.mixer_norm_after(block.mixer(block.mixer_norm(y), NO_POSITION))
    expected = nn.functional.layer_norm(y, (D,), stack.norm.weight, stack.norm.bias)
    torch.testing.assert_close(stack(x, NO_POSITION), expected)


@pytest.mark.parametrize("placement", ["pre", "post", "sandwich"])
def test_every_norm_of_a_stack_is_told_what_is_padding(x, placement):
    """With batch norms, in training, what stands at padding changes nothing, nor how much of it there is."""
    settings, found = section(placement, norm="batch"), []
    for extra, other in ((0, 0.0), (4, 50.0)):
        stack = shaken(settings.topology.build(SIZES, settings))
        real = torch.arange(T + extra) < torch.tensor([5, 2, 3])[:, None]
        padded = nn.functional.pad(x, (0, 0, 0, extra)).masked_fill(~real[..., None], other)
        y = stack(padded, NO_POSITION, real[:, None, None])
        found.append([y[real], *stack.buffers()])
    torch.testing.assert_close(*found)
