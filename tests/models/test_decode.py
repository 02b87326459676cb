import pytest
import torch

from ablate.base.registry import CATALOGUE
from ablate.core.signature import Signature
from ablate.models.build import build_model
from ablate.models.model import Model
from ablate.models.section import ModelSection

CATALOGUE.load_builtin()
B, T, S, V = 3, 6, 5, 9
SIGNATURE = Signature(
    T, V, vocab_size=V, readout="all", source=Signature(S, 0, vocab_size=7, padded=True), padded=True
)
REAL = torch.arange(S) < torch.tensor([5, 3, 1])[:, None]
SOURCE_MASK = REAL[:, None, None]
SWITCHES = [
    {"norm_placement": "pre", "position": "sincos"},
    {"topology": "decoder"},
    {"norm_placement": "sandwich"},
    {"norm_placement": "post", "norm": "batch"},
    {"residual": "off"},
    {"mixer": {"num_kv_heads": 1, "qk_norm": "on"}},
    {"mixer": {"num_kv_heads": 2}, "position": "rope"},
    {"mixer": {"tied": "on", "bias": "on"}, "position": "alibi"},
    {"mixer": {"split": "before"}, "position": "relative"},
    {"topology": {"name": "encoder_decoder", "cross": {"num_kv_heads": 2, "qk_norm": "on"}}},
    {"topology": {"name": "encoder_decoder", "num_encoder_layers": 1}},
    {"embedding": {"tied": "on", "scaled": "on"}},
    {"dropout": {"attention_weights": 0.5, "residual": 0.5, "embedding": 0.5}},
]


def draw(high: int, *shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randint(high, shape, generator=torch.Generator().manual_seed(seed))


SOURCE = draw(7, B, S, seed=1)


def trained(section: ModelSection, signature: Signature = SIGNATURE) -> Model:
    """Builds a model in float64 and evaluation mode whose running statistics have moved from 0 and 1."""
    model = build_model(section, signature).double()
    for position in (model.position, model.source_position):
        if position is not None and list(position.buffers()):
            # Tables were rounded to float32; what lies beyond them is computed in float64.
            position.initialise(lambda name: torch.Generator())
    model(draw(V, 8, T), None, draw(7, 8, S, seed=1))
    return model.eval()


def section_of(**settings) -> ModelSection:
    given = {"d_model": 8, "num_layers": 2, "topology": "encoder_decoder"} | settings
    return ModelSection.model_validate(given)


def stepped(model: Model, tokens: torch.Tensor) -> torch.Tensor:
    memory = None if model.source_embedding is None else model.encode(SOURCE, SOURCE_MASK)
    logits, state = [], None
    for start in range(tokens.shape[1]):
        row, state = model.step(tokens[:, start : start + 1], start, state, memory)
        logits.append(row)
    return torch.stack(logits, 1)


@pytest.mark.fast_cases(5)
@pytest.mark.parametrize("settings", SWITCHES, ids=str)
def test_steps_give_what_one_pass_gives(settings):
    """Also beyond max_len where the position allows it."""
    model = trained(section_of(**settings))
    tokens = draw(V, B, T + 5 if model.position.any_length else T)
    whole = model(tokens, None, SOURCE, SOURCE_MASK)
    torch.testing.assert_close(stepped(model, tokens), whole, rtol=0, atol=1e-10)
    assert whole.std() > 0.01


def test_a_source_is_needed_where_one_is_read():
    topologies = [{"name": "encoder_decoder", "cross": cross} for cross in ("mean", "none")]
    model, alone = (trained(section_of(topology=topology)) for topology in topologies)
    for call, arguments in ((model.step, (draw(V, B, 1), 0)), (alone.encode, (SOURCE,))):
        with pytest.raises(ValueError, match="source"):
            call(*arguments)
    assert alone.step(draw(V, B, 1), 0)[0].shape == (B, V)


@pytest.mark.parametrize("settings", [{"position": "learned"}, {"position": "none", "mixer": "gmlp"}])
def test_a_part_that_ends_says_so(settings):
    model = trained(section_of(**settings))
    assert stepped(model, draw(V, B, T)).shape == (B, T, V)
    with pytest.raises(ValueError, match=f"max_len = {T}.*given a sequence of {T + 1}"):
        stepped(model, draw(V, B, T + 1))
