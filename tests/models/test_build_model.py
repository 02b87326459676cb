import copy

import pytest
import torch
from refused import refused
from torch import nn

from ablate.base.errors import AblateError, Invalid
from ablate.base.registry import CATALOGUE, register
from ablate.components.norms import LayerNorm
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


REAL = {
    "everywhere": torch.ones(4, 6, dtype=torch.bool),
    "right": torch.arange(6) < torch.tensor([6, 1, 3, 5])[:, None],
    "left": torch.arange(6) >= torch.tensor([0, 5, 3, 1])[:, None],
    "scattered": torch.tensor(
        [[1, 0, 1, 0, 1, 0], [0, 1, 0, 0, 0, 0], [1, 1, 1, 1, 1, 1], [0, 0, 1, 1, 0, 1]], dtype=torch.bool
    ),
}


@pytest.mark.parametrize("readout", ["last", "mean"])
@pytest.mark.parametrize("side", REAL)
def test_readouts_take_no_padding(tokens, readout, side):
    model = build_model(section(), Signature(6, 5, vocab_size=11, readout=readout)).eval()
    every = build_model(section(), Signature(6, 5, vocab_size=11, readout="all")).eval()
    real = REAL[side]
    mask = None if side == "everywhere" else real[:, None, None]
    logits, whole = model(tokens, mask), every(tokens, mask)
    assert (logits.shape, whole.shape) == ((4, 5), (4, 6, 5))
    for b in range(4):
        kept = whole[b][real[b]]
        torch.testing.assert_close(logits[b], kept[-1] if readout == "last" else kept.mean(0))
    shared = model(tokens, real[2:3, None, None])
    torch.testing.assert_close(shared, model(tokens, real[2:3, None, None].expand(4, 1, 1, 6)))


@pytest.mark.parametrize("readout", ["last", "mean"])
def test_a_readout_of_padding_alone_is_finite(tokens, readout):
    model = build_model(section(), Signature(6, 5, vocab_size=11, readout=readout))
    real = torch.ones(4, 6, dtype=torch.bool)
    real[1] = False
    logits = model(tokens, real[:, None, None])
    logits.sum().backward()
    assert logits.isfinite().all()
    assert all(p.grad.isfinite().all() for p in model.parameters())


def test_inputs_and_sources_may_be_vectors():
    source = Signature(7, 0, num_features=3)
    signature = Signature(6, 5, num_features=2, source=source, readout="mean")
    model = build_model(section(topology="encoder_decoder"), signature)
    assert model(torch.ones(4, 6, 2), source=torch.ones(4, 7, 3)).shape == (4, 5)
    assert model.parameters_by_part()["embedding"] == (3 + 1) * 16 + (2 + 1) * 16


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


def test_decay_exempts_norms_with_all_their_modules_and_biases_and_logarithms_of_scales():
    @register("norm", "mixing")
    class Mixing(nn.Module):
        def __init__(self, config, sizes):
            super().__init__()
            self.gain = nn.Linear(sizes.d_model, sizes.d_model)

    for settings, more in (
        ({"mixer": {"bias": "on", "score": "additive"}, "norm": "layer"}, set()),
        ({"norm": "mixing"}, set()),
        ({"position": "relative", "mixer": {"score": "cosine"}}, {"bias_by_distance", "log_temperature"}),
    ):
        model = build_model(section(**settings), TOKENS, device="meta")
        decayed, exempt = (
            {name for name, p in model.named_parameters() if any(p is q for q in group)}
            for group in decay_groups(model)
        )
        assert decayed | exempt == {name for name, _ in model.named_parameters()}
        assert not decayed & exempt
        last = {name: name.rpartition(".")[2] for name in decayed | exempt}
        assert exempt == {n for n in last if last[n] == "bias" or "norm" in n or last[n] in more}
        assert more <= {last[name] for name in exempt}


def test_every_problem_is_reported_at_once_with_its_path():
    @register("activation", "picky")
    class Picky(nn.Module):
        def __init__(self, config, sizes):
            raise Invalid("width", "must be odd", sizes.d_model)

    mixer = {"num_heads": 5, "value": {"name": "low_rank", "rank": 64}}
    settings = section(num_layers=3, mixer=mixer, feedforward={"activation": "picky"})
    assert refused(build_model, settings, TOKENS) == {
        "mixer.num_heads": (5, "1, 2, 4, 8, 16"),
        "mixer.value.rank": (64, "1 to 16"),
        "feedforward.activation.width": (16, ""),
    }


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


@pytest.mark.parametrize("settings", [{"norm": "batch"}, {"embedding": {"tied": "on"}}], ids=str)
def test_state_survives_a_round_trip(tokens, settings):
    signature = Signature(seq_len=6, num_outputs=11, vocab_size=11)
    model, other = (build_model(section(**settings), signature, seed=seed) for seed in (1, 2))
    model(tokens)
    other.load_state_dict(copy.deepcopy(model.state_dict()))
    assert (other.output.weight is other.embedding.weight) == ("embedding" in settings)
    assert torch.equal(model.eval()(tokens), other.eval()(tokens))


def test_third_party_parts_are_parts_like_any_other(tokens):
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

    for mixer in ("recurrent", "multihead"):
        one, same, other = (build_model(section(mixer=mixer), TOKENS, seed=seed) for seed in (0, 0, 1))
        assert torch.equal(one(tokens), same(tokens))
        for (name, a), b in zip(one.named_parameters(), other.parameters(), strict=True):
            assert torch.isfinite(a).all()
            assert "norm" in name or (a == 0).all() or not torch.equal(a, b)
    assert torch.equal(one.stack.blocks[0].mixer.net.in_proj_bias, torch.zeros(48))


def test_a_part_that_leaves_a_tensor_unset_is_refused():
    @register("norm", "gain")
    class Gain(nn.Module):
        def __init__(self, config, sizes):
            super().__init__()
            self.gain = nn.Parameter(torch.ones(sizes.d_model))

    @register("norm", "shifted")
    class Shifted(LayerNorm):
        class Config(LayerNorm.Config):
            pass

        def __init__(self, config, sizes):
            super().__init__(config, sizes)
            self.register_buffer("shift", torch.zeros(sizes.d_model))

    for norm, where in (
        ("gain", r"Gain at stack\.norm: .*: gain;"),
        ("shifted", r"Shifted at .*mixer_norm: .*: shift;"),
    ):
        with pytest.raises(AblateError, match=where):
            build_model(section(norm=norm), TOKENS)


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
