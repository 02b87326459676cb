import copy

import pytest
import torch
from refused import refused
from small_models import BATCH, TOKENS, built, section
from torch import nn

from ablate.base.errors import AblateError, Invalid
from ablate.base.registry import register
from ablate.components.norms import LayerNorm
from ablate.core.signature import Signature
from ablate.models.build import build_model
from ablate.models.model import decay_groups

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
def test_readouts_take_no_padding(readout, side):
    model, every = (built(Signature(6, 5, vocab_size=11, readout=each)).eval() for each in (readout, "all"))
    real = REAL[side]
    mask = None if side == "everywhere" else real[:, None, None]
    logits, whole = model(BATCH, mask), every(BATCH, mask)
    assert (logits.shape, whole.shape) == ((4, 5), (4, 6, 5))
    for b in range(4):
        kept = whole[b][real[b]]
        torch.testing.assert_close(logits[b], kept[-1] if readout == "last" else kept.mean(0))
    shared = model(BATCH, real[2:3, None, None])
    torch.testing.assert_close(shared, model(BATCH, real[2:3, None, None].expand(4, 1, 1, 6)))


@pytest.mark.parametrize("readout", ["last", "mean"])
def test_a_readout_of_padding_alone_is_finite(readout):
    model = built(Signature(6, 5, vocab_size=11, readout=readout))
    logits = model(BATCH, torch.tensor([True, False, True, True])[:, None, None, None].expand(4, 1, 1, 6))
    logits.sum().backward()
    assert all(tensor.isfinite().all() for tensor in (logits, *(p.grad for p in model.parameters())))


def test_inputs_and_sources_may_be_vectors():
    source = Signature(7, 0, num_features=3)
    signature = Signature(6, 5, num_features=2, source=source, readout="mean")
    model = built(signature, topology="encoder_decoder")
    assert model(torch.ones(4, 6, 2), source=torch.ones(4, 7, 3)).shape == (4, 5)
    assert model.parameters_by_part()["embedding"] == (3 + 1) * 16 + (2 + 1) * 16


def test_a_signature_without_inputs_is_refused():
    with pytest.raises(ValueError, match="vocab_size"):
        build_model(section(), Signature(seq_len=6, num_outputs=5))


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
        model = built(**settings, device="meta")
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


@pytest.mark.parametrize("settings", [{"norm": "batch"}, {"embedding": {"tied": "on"}}], ids=str)
def test_state_survives_a_round_trip(settings):
    signature = Signature(seq_len=6, num_outputs=11, vocab_size=11)
    model, other = (build_model(section(**settings), signature, seed=seed) for seed in (1, 2))
    model(BATCH)
    other.load_state_dict(copy.deepcopy(model.state_dict()))
    assert (other.output.weight is other.embedding.weight) == ("embedding" in settings)
    assert torch.equal(model.eval()(BATCH), other.eval()(BATCH))


def test_third_party_parts_are_parts_like_any_other():
    @register("mixer", "multihead")
    class Multihead(nn.Module):
        def __init__(self, config, sizes):
            super().__init__()
            self.net = nn.MultiheadAttention(sizes.d_model, 2, batch_first=True)

        def forward(self, x_btd, position, mask=None):
            return self.net(x_btd, x_btd, x_btd, need_weights=False)[0]

    one, same, other = (built(mixer="multihead", seed=seed) for seed in (0, 0, 1))
    assert torch.equal(one(BATCH), same(BATCH))
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
            built(norm=norm)
