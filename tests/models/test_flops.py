from __future__ import annotations

import pytest

from ablate.base.registry import CATALOGUE
from ablate.core.signature import Signature
from ablate.models.build import build_model
from ablate.models.flops import flops_of
from ablate.models.section import ModelSection

CATALOGUE.load_builtin()


def flops(readout="last", seq_len=9, **settings) -> int:
    section = ModelSection.model_validate({"d_model": 32, "num_layers": 2, **settings})
    return forward(section, Signature(seq_len, 16, vocab_size=24, readout=readout))


def forward(section: ModelSection, signature: Signature) -> int:
    return flops_of(build_model(section, signature, device="meta"), signature).forward


def closed_form(t=9, d=32, layers=2, expansion=4, value=2 * 32 * 32, score=2 * 9 * 9 * 32, readouts=1) -> int:
    attention = t * (2 * d * d * 3 + value) + score + 2 * t * t * d
    return layers * (attention + 2 * t * 2 * expansion * d * d) + readouts * 2 * d * 16


@pytest.mark.parametrize("topology", ["encoder", "decoder"])
@pytest.mark.parametrize("score", ["dot", "scaled_dot"])
def test_attention_and_feedforward(score, topology):
    assert flops(topology=topology, mixer={"score": score}) == closed_form()


def test_additive_projects_queries_and_keys_and_sums_over_its_hidden_layer():
    heads, d_k, hidden = 4, 8, 5
    score = 2 * 9 * heads * 2 * d_k * hidden + heads * 2 * 9 * 9 * hidden
    found = flops(mixer={"score": {"name": "additive", "hidden": hidden}})
    assert found == closed_form(score=score)


def test_low_rank_value_is_cheaper():
    found = flops(mixer={"value": {"name": "low_rank", "rank": 4}})
    assert found == closed_form(value=2 * 2 * 32 * 4)


def test_heads_do_not_change_the_cost():
    """FOUNDATIONS §2, number 6."""
    assert flops(mixer={"num_heads": 8}) == flops(mixer={"num_heads": 1}) == closed_form()


@pytest.mark.parametrize(("readout", "readouts"), [("last", 1), ("mean", 1), ("all", 9)])
def test_readout(readout, readouts):
    assert flops(readout=readout) == closed_form(readouts=readouts)


def test_vectors_are_embedded_by_a_product():
    section = ModelSection.model_validate({"d_model": 32, "num_layers": 2})
    found = forward(section, Signature(9, 16, num_features=7))
    assert found == closed_form() + 2 * 9 * 7 * 32


def test_dropout_and_norms_are_free():
    dropout = {"attention_weights": 0.5, "residual": 0.5}
    assert flops(dropout=dropout, norm="batch", position="sincos") == closed_form()


T, S, D, V, LAYERS = 9, 7, 32, 16, 2
HIDDEN = 2 * 2 * 4 * D * D


def self_attention(length: int) -> int:
    return length * 2 * 4 * D * D + 2 * 2 * length * length * D


CROSS = {
    "attention": T * 2 * 2 * D * D + S * 2 * 2 * D * D + 2 * 2 * T * S * D,
    "mean": 2 * D * D,
    "none": 0,
}


@pytest.mark.parametrize("cross", CROSS)
@pytest.mark.parametrize("encoder_layers", [None, 3])
def test_the_source_counts_too(cross, encoder_layers):
    """The encoder over S positions, the decoder over T; without a reader there is no encoder."""
    topology = {"name": "encoder_decoder", "cross": cross, "num_encoder_layers": encoder_layers}
    section = ModelSection.model_validate({"d_model": D, "num_layers": LAYERS, "topology": topology})
    source = Signature(S, 0, vocab_size=24, padded=True)
    found = forward(section, Signature(T, V, vocab_size=24, readout="all", source=source, padded=True))
    encoder = (encoder_layers or LAYERS) * (self_attention(S) + S * HIDDEN) if cross != "none" else 0
    decoder = LAYERS * (self_attention(T) + CROSS[cross] + T * HIDDEN)
    assert found == encoder + decoder + T * 2 * D * V


def test_a_backward_pass_costs_two_forward_passes():
    """A product has two factors, each with a gradient; vectors that are embedded have none."""
    section = ModelSection.model_validate({"d_model": 32, "num_layers": 2})
    tokens, vectors = Signature(9, 16, vocab_size=24), Signature(9, 16, num_features=7)
    counted = [flops_of(build_model(section, s, device="meta"), s) for s in (tokens, vectors)]
    assert counted[0].training == 3 * counted[0].forward
    assert counted[1].training == 3 * counted[1].forward - 2 * 9 * 7 * 32
