import dataclasses

import pytest
import torch
from small_models import BATCH, TOKENS, built

from ablate.components.layers import Dropout
from ablate.core.signature import Signature
from ablate.models.model import Model

PLACEMENTS = {
    "embedding": ["embedding_dropout"],
    "attention_weights": ["stack.blocks.0.mixer.weights_dropout"],
    "attention_output": ["stack.blocks.0.mixer_dropout"],
    "feedforward_hidden": ["stack.blocks.0.feedforward.hidden_dropout"],
    "feedforward_output": ["stack.blocks.0.feedforward_dropout"],
    "residual": ["stack.blocks.0.mixer_residual_dropout", "stack.blocks.0.feedforward_residual_dropout"],
}
OF_CROSS = {
    "embedding": {"source_dropout"},
    "attention_weights": {"stack.decoder.blocks.0.cross.attention.weights_dropout"},
    "attention_output": {"stack.decoder.blocks.0.cross_dropout"},
    "residual": {"stack.decoder.blocks.0.cross_residual_dropout"},
}
SOURCE = dataclasses.replace(TOKENS, source=Signature(seq_len=4, num_outputs=5, vocab_size=7))


def active(model: Model) -> dict[str, Dropout]:
    return {path: m for path, m in model.named_modules() if isinstance(m, Dropout) and m.active}


@pytest.mark.parametrize("topology", ["encoder", "decoder", "encoder_decoder"])
@pytest.mark.parametrize("placement", PLACEMENTS)
def test_each_dropout_placement_is_its_own_sites_each_of_which_changes_training(placement, topology):
    signature, inputs, expected = TOKENS, {"inputs": BATCH}, set(PLACEMENTS[placement])
    if topology == "encoder_decoder":
        signature, inputs = SOURCE, inputs | {"source": BATCH[:, :4] % 7}
        sides = ("stack.encoder.", "stack.decoder.")
        expected = {path.replace("stack.", side) for path in expected for side in sides}
        expected |= OF_CROSS.get(placement, set())
    model = built(signature, topology=topology, dropout={placement: 0.5})
    reference = built(signature, topology=topology)(**inputs)
    sites = active(model)
    assert set(sites) == expected
    for path in sites:
        for name, site in sites.items():
            site.rate = 0.5 * (name == path)
        assert not torch.allclose(model(**inputs), reference), f"{path} alone changes nothing"


def test_dropout_repeats_with_its_step_and_changes_with_step_seed_and_stream():
    rates = dict.fromkeys(PLACEMENTS, 0.3)
    model = built(dropout=rates, seed=1)

    def masks(model, step):
        model.start_step(step)
        return {path: site(torch.ones(2000)) for path, site in active(model).items()}

    first = masks(model, 3)
    assert len(first) == 7
    assert all(torch.equal(first[path], mask) for path, mask in masks(model, 3).items())
    values = [mask for step in (3, 4) for mask in masks(model, step).values()]
    for other in (built(dropout=rates, seed=2), built(dropout=rates, seed=1, stream="placebo")):
        values += masks(other, 3).values()
    assert all(not torch.equal(a, b) for i, a in enumerate(values) for b in values[:i])


def test_a_site_drops_the_same_values_whatever_other_sites_there_are():
    alone = built(dropout={"embedding": 0.5})
    beside = built(num_layers=3, dropout={"embedding": 0.5, "residual": 0.1})
    for model in (alone, beside):
        model.start_step(2)
    assert torch.equal(alone.embedding_dropout(torch.ones(1000)), beside.embedding_dropout(torch.ones(1000)))
