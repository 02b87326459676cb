import pytest
import torch

from ablate.training.workload import SequenceWorkload

SWAPS = [
    {"mixer": {"num_heads": 2, "score": "dot"}},
    {"mixer": {"num_heads": 2, "value": {"name": "low_rank", "rank": 4}}},
    {"mixer": {"num_heads": 4}},
    *({"position": "sincos"}, {"norm": "batch"}, {"norm_placement": "post"}, {"residual": False}),
    *({"topology": "decoder"}, {"d_model": 16}, {"num_layers": 3}),
    *({"feedforward": {"activation": "gelu"}}, {"feedforward": {"expansion": 2}}),
    *({"dropout": {f"attention_{place}": 0.1}} for place in ("weights", "output")),
    *({"dropout": {f"feedforward_{place}": 0.1}} for place in ("hidden", "output")),
    *({"dropout": {place: 0.1}} for place in ("embedding", "residual")),
    {"dropout": {"residual": 0.2}},
]


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
    assert len({of(), *map(of, SWAPS)}) == len(SWAPS) + 1


def test_a_mask_that_hides_nothing_from_what_is_read_out_changes_nothing(of):
    """The only layer's last position sees all of the sequence, causal or not."""
    assert of({"num_layers": 1, "topology": "decoder"}) == of({"num_layers": 1})


def test_neither_training_settings_nor_the_global_generator_have_a_part_in_it(resolved):
    workload, before = SequenceWorkload(), torch.get_rng_state()
    model = {"dropout": {"residual": 0.2}}
    prints = {workload.fingerprint(resolved(model=model, training={"lr": lr})) for lr in (0.1, 1.0)}
    assert len(prints) == 1
    assert torch.equal(torch.get_rng_state(), before)
