import math

import pytest
import torch
from small_models import built

from ablate.core.signature import Signature


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
