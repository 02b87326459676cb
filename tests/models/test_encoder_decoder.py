from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import nn

from ablate.base.errors import Invalid, StudyError
from ablate.base.registry import CATALOGUE, register
from ablate.components.mixer import Mixer
from ablate.components.positions import Position
from ablate.core.signature import Signature
from ablate.models.attention import Attention
from ablate.models.build import build_model
from ablate.models.model import Model
from ablate.models.reference import section_with
from ablate.models.section import ModelSection
from ablate.study.prepare import prepare

CATALOGUE.load_builtin()
B, T, S, D, H = 4, 5, 7, 8, 2
TARGET_VOCAB, SOURCE_VOCAB, OUTPUTS = 9, 6, 4
SOURCE_SIGNATURE = Signature(S, 0, vocab_size=SOURCE_VOCAB, padded=True)
SIGNATURE = Signature(T, OUTPUTS, vocab_size=TARGET_VOCAB, readout="all", source=SOURCE_SIGNATURE)
REAL_SOURCE = torch.arange(S) < torch.tensor([7, 4, 1, 6])[:, None]
REAL_TARGET = torch.arange(T) < torch.tensor([5, 2, 4, 1])[:, None]
MIXERS = [
    name
    for name in CATALOGUE.names("mixer")
    if (part := CATALOGUE.get("mixer", name)).causal and part.padding
]


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


def copy_attention(ours: Attention, theirs: nn.MultiheadAttention) -> None:
    parts = (ours.query, ours.key, ours.value.projection)
    theirs.in_proj_weight.copy_(torch.cat([part.weight for part in parts]))
    theirs.in_proj_bias.copy_(torch.cat([part.bias for part in parts]))
    theirs.out_proj.load_state_dict(ours.output.state_dict())


@torch.no_grad()
def torch_twin(model: Model, pre: bool, encoder_layers: int) -> nn.Transformer:
    """`torch.nn.Transformer` with the weights of `model`; torch ends a post-norm stack with a norm, we do not."""

    def stacked(kind: type[nn.Module], whole: Callable, layers: int, **options) -> nn.Module:
        layer = kind(D, H, 4 * D, dropout=0.0, batch_first=True, norm_first=pre)
        return whole(layer, layers, nn.LayerNorm(D) if pre else None, **options)

    encoder = stacked(
        nn.TransformerEncoderLayer, nn.TransformerEncoder, encoder_layers, enable_nested_tensor=False
    )
    decoder = stacked(nn.TransformerDecoderLayer, nn.TransformerDecoder, 2)
    twin = nn.Transformer(D, H, custom_encoder=encoder, custom_decoder=decoder, batch_first=True).double()
    for mine, theirs, names in (
        (model.stack.encoder, encoder, ("norm1", "norm2")),
        (model.stack.decoder, decoder, ("norm1", "norm3")),
    ):
        if pre:
            theirs.norm.load_state_dict(mine.norm.state_dict())
        for block, layer in zip(mine.blocks, theirs.layers, strict=True):
            copy_attention(block.mixer, layer.self_attn)
            for name, norm in zip(names, (block.mixer_norm, block.feedforward_norm), strict=True):
                getattr(layer, name).load_state_dict(norm.state_dict())
            layer.linear1.load_state_dict(block.feedforward.up.state_dict())
            layer.linear2.load_state_dict(block.feedforward.down.state_dict())
            if hasattr(block, "cross"):
                copy_attention(block.cross.attention, layer.multihead_attn)
                layer.norm2.load_state_dict(block.cross_norm.state_dict())
    return twin


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


@pytest.mark.parametrize("cross", [*CATALOGUE.names("cross"), {"weighting": "uniform"}])
@pytest.mark.parametrize("placement", ["pre", "post", "sandwich"])
def test_every_parameter_has_a_gradient_and_a_part(target, source, placement, cross):
    model = build_model(section(cross, norm_placement=placement), SIGNATURE).double()
    logits = model(target, None, source, REAL_SOURCE[:, None, None])
    assert logits.shape == (B, T, OUTPUTS)
    (logits * torch.arange(OUTPUTS)).square().sum().backward()
    for path, parameter in model.named_parameters():
        assert parameter.grad is not None, path
        assert parameter.grad.abs().max() > 0, path
    parts = model.parameters_by_part()
    assert sum(parts.values()) == sum(p.numel() for p in model.parameters())
    assert "other" not in parts


def test_parameters_by_part():
    """A block with cross-attention without biases: half attention, half feed-forward (FOUNDATIONS §2, 12)."""
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
    decoder = build_model(settings, SIGNATURE, device="meta").stack.decoder.blocks[0]
    counts = {name: sum(p.numel() for p in part.parameters()) for name, part in decoder.named_children()}
    assert counts["mixer"] + counts["cross"] == counts["feedforward"]
    norms = build_model(section(), SIGNATURE, device="meta").parameters_by_part()["norm"]
    assert norms == 2 * D * (2 * 2 + 1 + 2 * 3 + 1)


def test_without_a_reader_there_is_no_encoder(target, source):
    model = build(section("none"))
    assert model.stack.encoder is None
    assert model.source_embedding is model.source_position is None
    assert not [name for name, _ in model.named_parameters() if "source" in name or "cross" in name]
    expected = model(target)
    assert torch.equal(model(target, source=source, source_mask=REAL_SOURCE[:, None, None]), expected)
    with pytest.raises(ValueError, match="only such a model can take it"):
        model.encode(source)


def test_a_source_is_needed_where_one_is_read(target):
    with pytest.raises(ValueError, match="a model that reads a source needs one"):
        build(section())(target)


def test_without_a_reader_it_is_a_decoder(target):
    model = build(section("none"))
    decoder = build(
        section("none").model_copy(
            update={"topology": CATALOGUE.get("topology", "decoder").Config(name="decoder")}
        )
    )
    state = {name.replace("stack.decoder.", "stack."): value for name, value in model.state_dict().items()}
    decoder.load_state_dict(state)
    assert torch.equal(model(target), decoder(target))


def test_source_and_target_may_be_vectors():
    source = Signature(S, 0, num_features=3)
    model = build_model(section(), Signature(T, OUTPUTS, num_features=2, source=source, readout="mean"))
    assert model(torch.ones(B, T, 2), source=torch.ones(B, S, 3)).shape == (B, OUTPUTS)
    assert model.parameters_by_part()["embedding"] == (3 + 1) * D + (2 + 1) * D


@pytest.mark.parametrize("cross", ["attention", "mean"])
@pytest.mark.parametrize("position", CATALOGUE.names("position"))
def test_every_position_of_the_target_sees_the_source_and_none_the_future(target, source, position, cross):
    model = build(section(cross, position=position))
    before = model(target, source=source)
    other = model(target, source=(source + 1) % SOURCE_VOCAB)
    assert ((before - other).abs().amax(-1) > 1e-6).all()
    changed = target.clone()
    changed[:, 3:] = (changed[:, 3:] + 1) % TARGET_VOCAB
    after = model(changed, source=source)
    torch.testing.assert_close(after[:, :3], before[:, :3])
    assert not torch.allclose(after[:, 3:], before[:, 3:])


@pytest.mark.parametrize("cross", CATALOGUE.names("cross"))
@pytest.mark.parametrize("norm", CATALOGUE.names("norm"))
@pytest.mark.parametrize("mixer", MIXERS)
def test_padding_is_as_if_it_were_not_there(target, source, mixer, norm, cross):
    """Neither what stands at padding nor how much of it there is changes what is real."""
    settings = section_with(
        "mixer", mixer, d_model=D, topology={"name": "encoder_decoder", "cross": cross}, norm=norm
    )
    model = build(settings)
    masks = {"mask": REAL_TARGET[:, None, None], "source_mask": REAL_SOURCE[:, None, None]}
    logits = model(target, source=source, **masks)
    changed = model(
        torch.where(REAL_TARGET, target, (target + 1) % TARGET_VOCAB),
        source=torch.where(REAL_SOURCE, source, (source + 1) % SOURCE_VOCAB),
        **masks,
    )
    torch.testing.assert_close(changed[REAL_TARGET], logits[REAL_TARGET])
    for n in range(B):
        t, s = int(REAL_TARGET[n].sum()), int(REAL_SOURCE[n].sum())
        alone = model(target[n : n + 1, :t], source=source[n : n + 1, :s])
        torch.testing.assert_close(alone[0], logits[n, :t])


def test_a_source_of_padding_alone_gives_numbers(target, source):
    """An example without a source, beside others, trains without NaN and moves as if nothing were read."""
    real = REAL_SOURCE.clone()
    real[0] = False
    for cross in ("attention", "mean"):
        model = build(section(cross))
        logits = model(target, None, source, real[:, None, None])
        other = model(target, None, (source + 1) % SOURCE_VOCAB, real[:, None, None])
        assert logits.isfinite().all()
        torch.testing.assert_close(logits[0], other[0])
        (logits * torch.arange(OUTPUTS)).sum().backward()
        assert all(p.grad.isfinite().all() for p in model.parameters())


def test_the_mean_is_over_what_is_real(target, source):
    model = build(section("mean"))
    memory = model.encode(source, REAL_SOURCE[:, None, None])
    reader = model.stack.decoder.blocks[0].cross
    found = reader(torch.zeros(B, T, D, dtype=torch.float64), memory)
    for n in range(B):
        mean = memory.encoded_bsd[n, REAL_SOURCE[n]].mean(0)
        torch.testing.assert_close(found[n], (reader.projection.weight @ mean).expand(T, D))


def test_cross_attention_weights(target, source):
    model = build(section())
    memory = model.encode(source, REAL_SOURCE[:, None, None])
    x = torch.randn(B, T, D, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    weights = model.stack.decoder.blocks[0].cross.weights(x, memory)
    assert weights.shape == (B, 4, T, S)
    assert (weights[~REAL_SOURCE[:, None, None].expand_as(weights)] == 0).all()
    torch.testing.assert_close(weights.sum(-1), torch.ones(B, 4, T, dtype=torch.float64))


def test_variants_of_the_reader_share_the_initial_values_of_all_else():
    models = {
        cross: dict(build(section(cross)).named_parameters()) for cross in ("attention", "mean", "none")
    }
    for cross in ("mean", "none"):
        common = set(models[cross]) & set(models["attention"])
        assert common == {name for name in models[cross] if ".cross." not in name}
        assert all(torch.equal(models[cross][name], models["attention"][name]) for name in common)


def test_dropout_of_the_source_moves_no_mask_of_the_target(source):
    """Sites on each side have streams of their own, so that a longer source leaves the target's alone."""
    rates = dict.fromkeys(["embedding", "residual", "attention_output", "feedforward_hidden"], 0.5)
    model = build_model(section("none", dropout=rates), SIGNATURE).double()
    with_source = build_model(section("mean", dropout=rates), SIGNATURE).double()
    with torch.no_grad():
        for block in with_source.stack.decoder.blocks:
            block.cross.projection.weight.zero_()
            # A site that this reader has and the other model has not.
            block.cross_residual_dropout.rate = 0.0
    target = tokens(TARGET_VOCAB, T)
    found = []
    for each in (model, with_source):
        each.start_step(3)
        found.append(each(target, source=source))
    torch.testing.assert_close(*found)


def test_each_side_has_sizes_of_its_own():
    seen = []

    @register("position", "noting")
    class Noting(Position):
        def __init__(self, config, sizes):
            super().__init__(config, sizes)
            seen.append((sizes.max_len, sizes.padded))

    @register("mixer", "noting")
    class NotingMixer(Mixer):
        def __init__(self, config, sizes):
            super().__init__(config, sizes)
            seen.append((sizes.max_len, sizes.padded, sizes.causal))

        def forward(self, x_btd, position, mask=None):
            return x_btd

    build_model(section(position="noting", mixer="noting", num_layers=1), SIGNATURE)
    assert seen == [(T, False), (S, True), (S, True, False), (T, False, True)]


@pytest.mark.parametrize("ability", ["padding", "causal"])
def test_a_mixer_that_cannot_serve_one_of_the_sides_is_refused(ability):
    @register("mixer", "limited")
    class Limited(Mixer):
        padding = ability != "padding"
        causal = ability != "causal"

    with pytest.raises(Invalid) as caught:
        build_model(section(mixer="limited"), SIGNATURE)
    [problem] = caught.value.problems
    assert problem.path == ("mixer",)
    assert problem.given == "limited"
    assert "attention" in problem.allowed
    assert "limited" not in problem.allowed


REVERSE = "task: {name: reverse}\n"


@pytest.mark.parametrize(
    ("task", "model", "expected"),
    [
        (
            "task: {name: recall}\n",
            "  topology: encoder_decoder",
            "model.topology: must be one that task recall supports; given 'encoder_decoder'; "
            "allowed: encoder, decoder",
        ),
        (
            REVERSE,
            "  topology: decoder",
            "model.topology: must be one that task reverse supports; given 'decoder'; "
            "allowed: encoder_decoder",
        ),
        (
            REVERSE,
            "  topology: {name: encoder_decoder, cross: atention}",
            "model.topology.cross: unknown cross; given 'atention'; allowed: attention, mean, none. "
            "Did you mean 'attention'?",
        ),
        (
            REVERSE,
            "  topology: {name: encoder_decoder, cross: {num_heads: 5}}",
            "model.topology.cross.num_heads: must divide d_model = 64 unless d_k and d_v are both given; "
            "given 5; allowed: 1, 2, 4, 8, 16, 32, 64",
        ),
        (
            REVERSE,
            "  topology: {name: encoder_decoder, cross: {name: mean, num_heads: 4}}",
            "model.topology.cross.num_heads: unknown key",
        ),
        (
            REVERSE,
            "  topology: {name: encoder_decoder, num_encoder_layers: 0}",
            "model.topology.num_encoder_layers: must be",
        ),
    ],
)
def test_mistakes_in_a_study(task, model, expected, write: Callable[..., Path]):
    path = write(f"name: s\n{task}model:\n{model}\nfactors: {{model.norm: [rms]}}\n")
    with pytest.raises(StudyError) as caught:
        prepare(path)
    found = [str(problem) for problem in caught.value.problems]
    assert len(found) == 1, found
    assert found[0].startswith(f"{path}:4: {expected}")
