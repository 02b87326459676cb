import math

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
        neutral = True
        reads_batch = False

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


def parameters(seed=0, stream="", **settings) -> dict[str, torch.Tensor]:
    return dict(built(seed=seed, stream=stream, **{"num_layers": 2, **settings}).named_parameters())


VARIANTS = [
    *({"norm_placement": "post"}, {"norm": "batch"}, {"norm": "none"}, {"position": "sincos"}),
    *({"topology": "decoder"}, {"num_layers": 3}, {"dropout": {"residual": 0.1}}),
    *({"mixer": {name: value}} for name, value in (("score", "additive"), ("bias", "on"), ("num_heads", 2))),
    *({"feedforward": {name: value}} for name, value in (("activation", "gelu"), ("expansion", 2))),
]


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_variants_share_the_initial_values_of_what_they_have_in_common(variant):
    baseline, other = parameters(), parameters(**variant)
    common = [n for n in baseline if n in other and baseline[n].shape == other[n].shape]
    assert len(common) >= 10
    assert all(torch.equal(baseline[name], other[name]) for name in common)


def is_random(name: str) -> bool:
    return "norm" not in name and not name.endswith("bias")


@pytest.mark.parametrize("change", [{"seed": 1}, {"stream": "placebo"}])
def test_seed_and_stream_change_every_random_parameter(change):
    baseline, other = parameters(), parameters(**change)
    for name in baseline:
        assert torch.equal(baseline[name], other[name]) != is_random(name), name


def test_no_two_parameters_share_their_random_numbers():
    named = parameters(mixer={"score": "additive"}).items()
    drawn = [p.detach().flatten()[:5] for name, p in named if is_random(name)]
    assert len(drawn) == 21
    # Ratios, because the same numbers may have been scaled to different ranges.
    ratios = {tuple((p / p[0]).tolist()) for p in drawn}
    assert len(ratios) == len(drawn)


def test_distributions():
    model = built(Signature(100, 5, vocab_size=1000), d_model=64, mixer={"score": "additive"})
    block = model.stack.blocks[0]
    for weight in (model.embedding.weight, model.position.weight):
        assert float(weight.detach().std()) == pytest.approx(1, rel=0.05)
        assert float(weight.detach().mean()) == pytest.approx(0, abs=0.05)
    for parameter, fan_in in [
        (block.mixer.query.weight, 64),
        (block.feedforward.up.weight, 64),
        (block.feedforward.down.weight, 256),
        (block.mixer.score.query, 16 / 12),
        (block.mixer.score.weight, 16 / 12),
    ]:
        bound, values = 1 / math.sqrt(fan_in), parameter.detach()
        assert float(values.abs().max()) <= bound
        assert float(values.abs().max()) > 0.9 * bound
        assert float(values.std()) == pytest.approx(bound / math.sqrt(3), rel=0.2)
    assert not block.feedforward.up.bias.any()
