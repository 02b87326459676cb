from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

from ablate.base.errors import AblateError, Invalid
from ablate.base.registry import CATALOGUE, PartConfig, register
from ablate.components.norms import LayerNorm
from ablate.components.scores import Score
from ablate.core.signature import Signature
from ablate.models.build import build_model
from ablate.models.parameters import decay_groups
from ablate.models.section import ModelSection

CATALOGUE.load_builtin()
TOKENS = Signature(seq_len=6, num_outputs=5, vocab_size=11)


def section(**settings) -> ModelSection:
    return ModelSection.model_validate({"d_model": 16, "num_layers": 1, **settings})


@pytest.fixture
def tokens() -> torch.Tensor:
    return torch.randint(11, (4, 6), generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize(("readout", "shape"), [("last", (4, 5)), ("mean", (4, 5)), ("all", (4, 6, 5))])
def test_readouts(tokens, readout, shape):
    settings = section()
    logits = {
        r: build_model(settings, Signature(seq_len=6, num_outputs=5, vocab_size=11, readout=r))(tokens)
        for r in ("all", readout)
    }
    assert logits[readout].shape == shape
    whole = {"all": logits["all"], "last": logits["all"][:, -1], "mean": logits["all"].mean(1)}
    torch.testing.assert_close(logits[readout], whole[readout])


@pytest.mark.parametrize("readout", ["last", "mean"])
@pytest.mark.parametrize("side", ["right", "left", "scattered"])
def test_readouts_take_no_padding(tokens, readout, side):
    model = build_model(section(), Signature(6, 5, vocab_size=11, readout=readout)).eval()
    every = build_model(section(), Signature(6, 5, vocab_size=11, readout="all")).eval()
    real = {
        "right": torch.arange(6) < torch.tensor([6, 1, 3, 5])[:, None],
        "left": torch.arange(6) >= torch.tensor([0, 5, 3, 1])[:, None],
        "scattered": torch.tensor(
            [[1, 0, 1, 0, 1, 0], [0, 1, 0, 0, 0, 0], [1, 1, 1, 1, 1, 1], [0, 0, 1, 1, 0, 1]]
        )
        == 1,
    }[side]
    mask = real[:, None, None]
    logits, whole = model(tokens, mask), every(tokens, mask)
    for b in range(4):
        kept = whole[b][real[b]]
        torch.testing.assert_close(logits[b], kept[-1] if readout == "last" else kept.mean(0))
    shared = model(tokens, real[2:3, None, None])
    torch.testing.assert_close(shared, model(tokens, mask[2:3].expand(4, 1, 1, 6)))


@pytest.mark.parametrize("readout", ["last", "mean"])
def test_a_readout_of_padding_alone_is_finite(tokens, readout):
    model = build_model(section(), Signature(6, 5, vocab_size=11, readout=readout))
    real = torch.ones(4, 6, dtype=torch.bool)
    real[1] = False
    logits = model(tokens, real[:, None, None])
    logits.sum().backward()
    assert logits.isfinite().all()
    assert all(p.grad.isfinite().all() for p in model.parameters())


def test_inputs_may_be_vectors():
    model = build_model(section(), Signature(seq_len=6, num_outputs=5, num_features=3))
    assert model(torch.ones(4, 6, 3)).shape == (4, 5)
    assert model.parameters_by_part()["embedding"] == 3 * 16 + 16


def test_a_signature_without_inputs_is_refused():
    with pytest.raises(ValueError, match="vocab_size"):
        build_model(section(), Signature(seq_len=6, num_outputs=5))


def test_parts_sum_to_the_total_and_are_named_for_what_they_are():
    model = build_model(section(num_layers=2, norm_placement="pre"), TOKENS)
    parts = model.parameters_by_part()
    assert parts == {
        "embedding": 11 * 16,
        "position": 6 * 16,
        "mixer": 2 * 4 * 16 * 16,
        "norm": 2 * 2 * 32 + 32,
        "feedforward": 2 * (2 * 4 * 16 * 16 + 64 + 16),
        "output": 16 * 5 + 5,
    }
    assert sum(parts.values()) == sum(p.numel() for p in model.parameters())


@pytest.mark.parametrize("expansion", [2, 4])
def test_attention_holds_a_third_of_a_block_at_expansion_four(expansion):
    """FOUNDATIONS §2, number 12: attention 4D², feed-forward 2·expansion·D²."""
    settings = section(norm="none", feedforward={"expansion": expansion, "bias": "off"})
    parts = build_model(settings, TOKENS, device="meta").parameters_by_part()
    assert parts["mixer"] == 4 * 16**2
    assert parts["feedforward"] == 2 * expansion * 16**2
    if expansion == 4:
        assert 3 * parts["mixer"] == parts["mixer"] + parts["feedforward"]


def test_decay_exempts_norms_and_biases():
    model = build_model(section(mixer={"bias": "on", "score": "additive"}, norm="layer"), TOKENS)
    decayed, exempt = (
        {name for name, p in model.named_parameters() if any(p is q for q in group)}
        for group in decay_groups(model)
    )
    assert decayed | exempt == {name for name, _ in model.named_parameters()}
    assert not decayed & exempt
    assert exempt == {n for n in decayed | exempt if n.endswith("bias") or "norm" in n}


def test_decay_exempts_all_of_a_norm_that_is_made_of_modules():
    @register("norm", "mixing")
    class Mixing(nn.Module):
        def __init__(self, config, sizes):
            super().__init__()
            self.gain = nn.Linear(sizes.d_model, sizes.d_model)

        def forward(self, x_btd):
            return self.gain(x_btd)

    model = build_model(section(norm="mixing"), TOKENS)
    _, exempt = decay_groups(model)
    assert any(p is model.stack.norm.gain.weight for p in exempt)


def test_meta_model_has_shapes_and_no_values():
    model = build_model(section(d_model=4096, num_layers=4, mixer="attention"), TOKENS, device="meta")
    assert all(p.is_meta for p in model.parameters())
    assert model.parameters_by_part()["mixer"] == 4 * 4 * 4096**2


def test_every_problem_is_reported_at_once_with_its_path():
    @register("activation", "picky")
    class Picky(nn.Module):
        def __init__(self, config, sizes):
            raise Invalid("width", "must be odd", sizes.d_model)

    settings = section(
        num_layers=3,
        mixer={"num_heads": 5, "value": {"name": "low_rank", "rank": 64}},
        feedforward={"activation": "picky"},
    )
    with pytest.raises(Invalid) as error:
        build_model(settings, TOKENS)
    assert str(error.value).splitlines() == [
        "mixer.num_heads: must divide d_model = 16 unless d_k and d_v are both given; given 5; "
        "allowed: 1, 2, 4, 8, 16",
        "mixer.value.rank: must not exceed d_model = 16; given 64; allowed: 1 to 16",
        "feedforward.activation.width: must be odd; given 16",
    ]


def test_forward_changes_only_registered_buffers_and_generators(tokens):
    model = build_model(section(norm="batch", dropout={"residual": 0.1}), TOKENS)
    before = copy.deepcopy(model.state_dict())
    attributes = {path: set(vars(m)) for path, m in model.named_modules()}
    model(tokens).sum().backward()
    after = model.state_dict()
    changed = {name for name in before if not torch.equal(before[name], after[name])}
    assert changed
    assert all("running_" in name for name in changed)
    assert {path: set(vars(m)) for path, m in model.named_modules()} == attributes


@pytest.mark.parametrize("norm", ["batch", "layer"])
def test_state_survives_a_round_trip(tokens, norm):
    settings = section(norm=norm, position="sincos")
    model, other = build_model(settings, TOKENS, seed=1), build_model(settings, TOKENS, seed=2)
    model(tokens)
    other.load_state_dict(model.state_dict())
    assert torch.equal(model.eval()(tokens), other.eval()(tokens))


def test_sequences_longer_than_trained(tokens):
    longer = tokens.repeat(1, 3)
    assert build_model(section(position="sincos"), TOKENS)(longer).shape == (4, 5)
    with pytest.raises(ValueError, match="max_len = 6; given a sequence of 18"):
        build_model(section(position="learned"), TOKENS)(longer)


def test_mask_hides_padding_from_the_other_positions(tokens):
    model = build_model(section(num_layers=2), Signature(6, 5, vocab_size=11, readout="all")).eval()
    real = torch.arange(6) < 4
    mask = real.expand(4, 1, 1, 6)
    changed = torch.where(real, tokens, (tokens + 1) % 11)
    torch.testing.assert_close(model(tokens, mask)[:, :4], model(changed, mask)[:, :4])
    assert not torch.allclose(model(tokens)[:, :4], model(changed)[:, :4])


def test_third_party_parts_are_parts_like_any_other(tokens):
    @register("score", "angular")
    class Angular(Score):
        class Config(PartConfig):
            temperature: float = 0.5

        def __init__(self, config, sizes):
            super().__init__(config, sizes)
            self.temperature = config.temperature

        def inner(self, q, k):
            q, k = nn.functional.normalize(q, dim=-1), nn.functional.normalize(k, dim=-1)
            return q, k, 1 / self.temperature

    @register("mixer", "recurrent")
    class Recurrent(nn.Module):
        def __init__(self, config, sizes):
            super().__init__()
            self.net = nn.GRU(sizes.d_model, sizes.d_model, batch_first=True)

        def forward(self, x_btd, position, mask=None):
            return self.net(x_btd)[0]

    @register("mixer", "multihead")
    class Multihead(nn.Module):
        def __init__(self, config, sizes):
            super().__init__()
            self.net = nn.MultiheadAttention(sizes.d_model, 2, batch_first=True)

        def forward(self, x_btd, position, mask=None):
            return self.net(x_btd, x_btd, x_btd, need_weights=False)[0]

    for mixer in ({"score": {"name": "angular", "temperature": 0.1}}, "recurrent", "multihead"):
        one, same, other = (build_model(section(mixer=mixer), TOKENS, seed=seed) for seed in (0, 0, 1))
        assert torch.equal(one(tokens), same(tokens))
        for (name, a), b in zip(one.named_parameters(), other.parameters(), strict=True):
            assert torch.isfinite(a).all()
            assert "norm" in name or (a == 0).all() or not torch.equal(a, b)
    assert torch.equal(one.stack.blocks[0].mixer.net.in_proj_bias, torch.zeros(48))


def test_a_part_that_leaves_its_parameters_unset_is_refused():
    @register("norm", "gain")
    class Gain(nn.Module):
        def __init__(self, config, sizes):
            super().__init__()
            self.gain = nn.Parameter(torch.ones(sizes.d_model))

    message = (
        r"Gain at stack\.norm: has tensors without initial values: gain; set them in `initialise\(draw\)`"
    )
    with pytest.raises(AblateError, match=message):
        build_model(section(norm="gain"), TOKENS)


def test_a_part_that_forgets_one_of_its_tensors_is_refused():
    @register("norm", "shifted")
    class Shifted(LayerNorm):
        class Config(LayerNorm.Config):
            pass

        def __init__(self, config, sizes):
            super().__init__(config, sizes)
            self.register_buffer("shift", torch.zeros(sizes.d_model))

    message = r"Shifted at stack\.blocks\.0\.mixer_norm: has tensors without initial values: shift;"
    with pytest.raises(AblateError, match=message):
        build_model(section(norm="shifted"), TOKENS)


def test_tied_parameters_stay_one(tokens):
    @register("feedforward", "tied")
    class Tied(nn.Module):
        def __init__(self, config, sizes):
            super().__init__()
            self.up = nn.Linear(sizes.d_model, sizes.d_model)
            self.down = nn.Linear(sizes.d_model, sizes.d_model)
            self.down.weight = self.up.weight

        def forward(self, x_btd):
            return self.down(self.up(x_btd).relu())

    model = build_model(section(feedforward="tied"), TOKENS)
    feedforward = model.stack.blocks[0].feedforward
    assert feedforward.up.weight is feedforward.down.weight
    assert model.parameters_by_part()["feedforward"] == 16 * 16 + 2 * 16


def test_decay_leaves_out_biases_by_distance_and_logarithms_of_scales():
    settings = section(position="relative", mixer={"score": "cosine"})
    model = build_model(settings, TOKENS, device="meta")
    exempt = {id(p) for p in decay_groups(model)[1]}
    found = {name.rpartition(".")[2] for name, p in model.named_parameters() if id(p) in exempt}
    assert {"bias_by_distance", "log_temperature"} <= found
