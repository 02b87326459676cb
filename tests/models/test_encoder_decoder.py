import pytest
import torch
from small_models import copy_block
from torch import nn

from ablate.base.registry import CATALOGUE
from ablate.core.signature import Signature
from ablate.models.build import build_model
from ablate.models.model import Model
from ablate.models.section import ModelSection

CATALOGUE.load_builtin()
B, T, S, D, H = 4, 5, 7, 8, 2
TARGET_VOCAB, SOURCE_VOCAB, OUTPUTS = 9, 6, 4
SOURCE_SIGNATURE = Signature(S, 0, vocab_size=SOURCE_VOCAB, padded=True)
SIGNATURE = Signature(T, OUTPUTS, vocab_size=TARGET_VOCAB, readout="all", source=SOURCE_SIGNATURE)
REAL_SOURCE = torch.arange(S) < torch.tensor([7, 4, 1, 6])[:, None]
REAL_TARGET = torch.arange(T) < torch.tensor([5, 2, 4, 1])[:, None]


def section(cross: object = "attention", **settings) -> ModelSection:
    given = {"d_model": D, "num_layers": 2, "mixer": {"num_heads": H}} | settings
    topology = {"name": "encoder_decoder", "cross": cross} | given.pop("topology", {})
    return ModelSection.model_validate(given | {"topology": topology})


def tokens(vocab: int, length: int, seed: int = 0) -> torch.Tensor:
    return torch.randint(vocab, (B, length), generator=torch.Generator().manual_seed(seed))


@pytest.fixture
def target() -> torch.Tensor:
    return tokens(TARGET_VOCAB, T)


@pytest.fixture
def source() -> torch.Tensor:
    return tokens(SOURCE_VOCAB, S, seed=1)


def build(settings: ModelSection, signature: Signature = SIGNATURE) -> Model:
    return build_model(settings, signature).double().eval()


@torch.no_grad()
def torch_twin(model: Model, pre: bool, encoder_layers: int) -> nn.Transformer:
    """Builds `torch.nn.Transformer` with the weights of `model`.

    Torch ends a post-norm stack with a norm, which is left out here.
    """

    options = {"dim_feedforward": 4 * D, "dropout": 0.0, "batch_first": True, "norm_first": pre}
    layers = {"num_encoder_layers": encoder_layers, "num_decoder_layers": 2}
    twin = nn.Transformer(D, H, **layers, **options).double()
    for side in ("encoder", "decoder"):
        ours, theirs = getattr(model.stack, side), getattr(twin, side)
        if pre:
            theirs.norm.load_state_dict(ours.norm.state_dict())
        else:
            theirs.norm = None
        for block, layer in zip(ours.blocks, theirs.layers, strict=True):
            copy_block(block, layer)
    return twin


@pytest.mark.filterwarnings("ignore:enable_nested_tensor:UserWarning")
@pytest.mark.parametrize("encoder_layers", [2, 1])
@pytest.mark.parametrize("masks", ["none", "source", "both"])
@pytest.mark.parametrize("placement", ["pre", "post"])
def test_against_torch(target, source, placement, masks, encoder_layers):
    settings = section(
        {"num_heads": H, "bias": "on"},
        mixer={"num_heads": H, "bias": "on"},
        norm_placement=placement,
        topology={"num_encoder_layers": encoder_layers},
    )
    model = build(settings)
    with torch.no_grad():  # so that biases and norms count
        for name, parameter in model.named_parameters():
            if parameter.ndim == 1:
                parameter.add_(torch.linspace(-0.5, 0.5, len(parameter)) * (1 + len(name) % 3))
    twin = torch_twin(model, placement == "pre", encoder_layers)
    mask = REAL_TARGET[:, None, None] if masks == "both" else None
    source_mask = None if masks == "none" else REAL_SOURCE[:, None, None]
    found = model(target, mask, source, source_mask)
    hidden = twin(
        model.source_embedding.weight[source] + model.source_position.weight,
        model.embedding.weight[target] + model.position.weight,
        tgt_mask=torch.ones(T, T, dtype=torch.bool).triu(1),
        src_key_padding_mask=None if source_mask is None else ~REAL_SOURCE,
        memory_key_padding_mask=None if source_mask is None else ~REAL_SOURCE,
        tgt_key_padding_mask=None if mask is None else ~REAL_TARGET,
    )
    torch.testing.assert_close(found, model.output(hidden), rtol=1e-10, atol=1e-10)


def test_parameters_by_part():
    settings = section(norm="none", feedforward={"bias": "off"}, topology={"num_encoder_layers": 1})
    parts = build_model(settings, SIGNATURE, device="meta").parameters_by_part()
    assert parts == {
        "embedding": (TARGET_VOCAB + SOURCE_VOCAB) * D,
        "position": (T + S) * D,
        "mixer": 3 * 4 * D * D,
        "cross": 2 * 4 * D * D,
        "feedforward": 3 * 8 * D * D,
        "output": D * OUTPUTS + OUTPUTS,
    }
    norms = build_model(section(), SIGNATURE, device="meta").parameters_by_part()["norm"]
    assert norms == 2 * D * (2 * 2 + 1 + 2 * 3 + 1)


def test_without_a_reader_there_is_no_encoder_and_the_rest_is_a_decoder(target, source):
    model = build(section("none"))
    assert model.stack.encoder is None
    assert model.source_embedding is model.source_position is None
    assert not [name for name, _ in model.named_parameters() if "source" in name or "cross" in name]
    expected = model(target)
    assert torch.equal(model(target, source=source, source_mask=REAL_SOURCE[:, None, None]), expected)
    decoder = build(ModelSection.model_validate(section("none").model_dump() | {"topology": "decoder"}))
    state = {name.replace("stack.decoder.", "stack."): value for name, value in model.state_dict().items()}
    decoder.load_state_dict(state)
    assert torch.equal(expected, decoder(target))


def test_the_mean_is_over_what_is_real(target, source):
    model = build(section("mean"))
    memory = model.encode(source, REAL_SOURCE[:, None, None])
    reader = model.stack.decoder.blocks[0].cross
    found = reader(torch.zeros(B, T, D, dtype=torch.float64), memory)
    for n in range(B):
        mean = memory.encoded_bsd[n, REAL_SOURCE[n]].mean(0)
        torch.testing.assert_close(found[n], (reader.projection.weight @ mean).expand(T, D))


def test_variants_of_the_reader_share_the_initial_values_of_all_else():
    attention, *others = (dict(build(section(c)).named_parameters()) for c in ("attention", "mean", "none"))
    for other in others:
        common = set(other) & set(attention)
        assert common == {name for name in other if ".cross." not in name}
        assert all(torch.equal(other[name], attention[name]) for name in common)
