from __future__ import annotations

import pytest
import torch

from ablate.training.workload import SequenceWorkload

SWAPS = {
    "score": {"mixer": {"num_heads": 2, "score": "dot"}},
    "value": {"mixer": {"num_heads": 2, "value": {"name": "low_rank", "rank": 4}}},
    "num_heads": {"mixer": {"num_heads": 4}},
    "position": {"position": "sincos"},
    "norm": {"norm": "batch"},
    "norm_placement": {"norm_placement": "post"},
    "residual": {"residual": False},
    "topology": {"topology": "decoder"},
    "activation": {"feedforward": {"activation": "gelu"}},
    "expansion": {"feedforward": {"expansion": 2}},
    "d_model": {"d_model": 16},
    "num_layers": {"num_layers": 3},
    **{
        f"dropout.{place}": {"dropout": {place: 0.1}}
        for place in (
            "embedding",
            "attention_weights",
            "attention_output",
            "feedforward_hidden",
            "feedforward_output",
            "residual",
        )
    },
    "rate of dropout": {"dropout": {"residual": 0.2}},
}


@pytest.fixture
def of(resolved):
    def fingerprint(model=None):
        return SequenceWorkload().fingerprint(resolved(model={"num_layers": 2, **(model or {})}))

    return fingerprint


def test_the_same_model_has_the_same_fingerprint(of):
    assert of() == of() == of({"norm": {"name": "layer", "eps": 1e-5}, "dropout": {"residual": 0.0}})
    dropped = {"dropout": {"residual": 0.1, "attention_weights": 0.2}}
    assert of(dropped) == of(dropped)


def test_every_swap_changes_it(of):
    digests = {name: of(swap) for name, swap in SWAPS.items()} | {"baseline": of()}
    assert len(set(digests.values())) == len(SWAPS) + 1


def test_a_mask_that_hides_nothing_from_what_is_read_out_changes_nothing(of):
    """The only layer's last position sees all of the sequence, causal or not."""
    assert of({"num_layers": 1, "topology": "decoder"}) == of({"num_layers": 1})


def test_training_settings_have_no_part_in_it(resolved):
    workload = SequenceWorkload()
    assert workload.fingerprint(resolved()) == workload.fingerprint(resolved(training={"lr": 1.0}))


def test_the_global_generator_is_left_alone(of):
    before = torch.get_rng_state()
    of({"dropout": {"residual": 0.2}})
    assert torch.equal(torch.get_rng_state(), before)
