import dataclasses

import pytest
import torch
from refused import refused

from ablate.base.registry import CATALOGUE
from ablate.components.dropout import Dropout
from ablate.core.signature import Signature
from ablate.models.build import build_model
from ablate.models.section import ModelSection

CATALOGUE.load_builtin()
TOKENS = Signature(seq_len=6, num_outputs=5, vocab_size=11)
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


def section(**settings) -> ModelSection:
    return ModelSection.model_validate({"d_model": 16, "num_layers": 1, **settings})


@pytest.fixture
def tokens() -> torch.Tensor:
    return torch.randint(11, (4, 6), generator=torch.Generator().manual_seed(0))


def sites_of(topology: str, placement: str) -> set[str]:
    """The sites of a placement in a model of one layer."""
    paths = PLACEMENTS[placement]
    if topology != "encoder_decoder":
        return set(paths)
    sides = ("stack.encoder.", "stack.decoder.")
    return {path.replace("stack.", side) for path in paths for side in sides} | OF_CROSS.get(placement, set())


def given(topology: str, tokens: torch.Tensor) -> tuple[Signature, dict[str, torch.Tensor]]:
    """A task of the topology, and inputs."""
    if topology != "encoder_decoder":
        return TOKENS, {"inputs": tokens}
    source = Signature(seq_len=4, num_outputs=5, vocab_size=7)
    return dataclasses.replace(TOKENS, source=source), {"inputs": tokens, "source": tokens[:, :4] % 7}


@pytest.mark.parametrize("topology", ["encoder", "decoder", "encoder_decoder"])
@pytest.mark.parametrize("placement", PLACEMENTS)
def test_each_dropout_placement_is_its_own_sites_each_of_which_changes_training(tokens, placement, topology):
    signature, inputs = given(topology, tokens)
    model = build_model(section(topology=topology, dropout={placement: 0.5}), signature)
    reference = build_model(section(topology=topology), signature)(**inputs)
    sites = {path: m for path, m in model.named_modules() if isinstance(m, Dropout) and m.active}
    assert set(sites) == sites_of(topology, placement)
    for path in sites:
        for name, site in sites.items():
            site.rate = 0.5 * (name == path)
        assert not torch.allclose(model(**inputs), reference), f"{path} alone changes nothing"


ENCODER_DECODER = {"name": "encoder_decoder"}


@pytest.mark.parametrize(
    ("placement", "model"),
    [
        ("feedforward_hidden", {"feedforward": "none"}),
        ("feedforward_output", {"feedforward": "none"}),
        ("attention_weights", {"mixer": "lstm"}),
        ("attention_weights", {"mixer": "fourier"}),
        ("attention_weights", {"mixer": "lstm", "topology": ENCODER_DECODER | {"cross": "mean"}}),
        ("attention_weights", {"mixer": "lstm", "topology": ENCODER_DECODER | {"cross": "none"}}),
    ],
)
def test_a_placement_that_the_model_does_not_have_is_refused(placement, model, tokens):
    signature, _ = given("encoder_decoder" if "topology" in model else "encoder", tokens)
    build_model(section(dropout={placement: 0.0}, **model), signature, device="meta")
    settings = section(dropout={placement: 0.25, "residual": 0.5}, **model)
    assert refused(build_model, settings, signature, device="meta") == {f"dropout.{placement}": (0.25, "0")}


def test_cross_attention_is_a_place_for_dropout_of_weights(tokens):
    signature, inputs = given("encoder_decoder", tokens)
    settings = {"mixer": "lstm", "dropout": {"attention_weights": 0.5}}
    model = build_model(section(topology=ENCODER_DECODER | {"cross": "attention"}, **settings), signature)
    assert not torch.equal(model(**inputs), model(**inputs))


def test_dropout_repeats_with_its_step_and_changes_with_step_seed_and_stream(tokens):
    settings = section(dropout=dict.fromkeys(PLACEMENTS, 0.3))
    model = build_model(settings, TOKENS, seed=1)

    def masks(model, step):
        model.start_step(step)
        return {
            path: module(torch.ones(2000))
            for path, module in model.named_modules()
            if isinstance(module, Dropout) and module.active
        }

    first = masks(model, 3)
    assert len(first) == 7
    assert all(torch.equal(first[path], mask) for path, mask in masks(model, 3).items())
    values = [mask for step in (3, 4) for mask in masks(model, step).values()]
    for other in (
        build_model(settings, TOKENS, seed=2),
        build_model(settings, TOKENS, seed=1, stream="placebo"),
    ):
        values += masks(other, 3).values()
    assert all(not torch.equal(a, b) for i, a in enumerate(values) for b in values[:i])

    model.start_step(9)
    one = model(tokens)
    model.start_step(9)
    assert torch.equal(model(tokens), one)


def test_a_site_drops_the_same_values_whatever_other_sites_there_are():
    x = torch.ones(1000)
    alone = build_model(section(dropout={"embedding": 0.5}), TOKENS)
    beside = build_model(section(num_layers=3, dropout={"embedding": 0.5, "residual": 0.1}), TOKENS)
    for model in (alone, beside):
        model.start_step(2)
    assert torch.equal(alone.embedding_dropout(x), beside.embedding_dropout(x))
