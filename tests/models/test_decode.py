import pytest
import torch
from refused import refused

from ablate.base.registry import CATALOGUE
from ablate.core.signature import Signature
from ablate.models.build import build_model
from ablate.models.decode import greedy
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
    """In float64 and evaluation mode, with running statistics that have moved from 0 and 1."""
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


@pytest.mark.parametrize("settings", SWITCHES, ids=str)
def test_steps_give_what_one_pass_gives(settings):
    """Also beyond max_len where the position allows it."""
    model = trained(section_of(**settings))
    tokens = draw(V, B, T + 5 if model.position.any_length else T)
    whole = model(tokens, None, SOURCE, SOURCE_MASK)
    torch.testing.assert_close(stepped(model, tokens), whole, rtol=0, atol=1e-10)
    assert whole.std() > 0.01


@pytest.mark.parametrize("position", CATALOGUE.names("position"))
@pytest.mark.parametrize("cross", CATALOGUE.names("cross"))
def test_greedy_is_the_arg_max_step_by_step(position, cross):
    """Against a loop over examples, each alone with the real part of its source, that knows no state."""
    model = trained(section_of(position=position, topology={"name": "encoder_decoder", "cross": cross}))
    prompt = draw(V, B, 2)
    expected = []
    for n in range(B):
        tokens = prompt[n].tolist()
        for _ in range(4):
            logits = model(torch.tensor([tokens]), source=SOURCE[n : n + 1, : int(REAL[n].sum())])
            tokens.append(int(logits[0, -1].argmax()))
        expected.append(tokens[2:])
    found = greedy(model, prompt, 4, SOURCE, SOURCE_MASK)
    assert found.tolist() == expected
    assert found.dtype == torch.int64


@pytest.mark.parametrize("together", [True, False])
def test_sequences_that_have_ended_stay_there(together):
    model = trained(section_of(position="sincos", topology="decoder"))
    prompt = draw(V, 1, 2).expand(B, 2) if together else draw(V, B, 2)
    free = greedy(model, prompt, 12)
    for end in range(V):
        found = greedy(model, prompt, 12, end=end)
        firsts = [row.index(end) if end in row else 12 for row in free.tolist()]
        width = min(12, max(firsts) + 1)
        rows = zip(free.tolist(), firsts, strict=True)
        assert found.tolist() == [(row[:first] + [end] * 12)[:width] for row, first in rows]
    assert any(end in free for end in range(V))


def test_the_source_is_encoded_and_read_once():
    model = trained(section_of())
    calls = []
    for module in (model.stack.encoder, *(block.cross.attention.key for block in model.stack.decoder.blocks)):
        module.register_forward_hook(lambda module, *_: calls.append(module))
    greedy(model, draw(V, B, 2), 5, source=SOURCE)
    assert len(calls) == len(set(calls)) == 3


def test_the_mode_comes_back():
    model = build_model(section_of(dropout={"residual": 0.5}), SIGNATURE)
    for mode in (True, False):
        found = [greedy(model.train(mode), draw(V, B, 1), 4, source=SOURCE) for _ in range(2)]
        assert torch.equal(*found)
        assert model.training == mode


def test_a_source_is_needed_where_one_is_read():
    topologies = [{"name": "encoder_decoder", "cross": cross} for cross in ("mean", "none")]
    model, alone = (trained(section_of(topology=topology)) for topology in topologies)
    prompt = draw(V, B, 1)
    for call, arguments in (
        (greedy, (model, prompt, 2)),
        (model.step, (prompt, 0)),
        (alone.encode, (SOURCE,)),
    ):
        with pytest.raises(ValueError, match="source"):
            call(*arguments)
    assert greedy(alone, draw(V, B, 1), 2).shape == (B, 2)


@pytest.mark.parametrize("settings", [{"position": "learned"}, {"position": "none", "mixer": "gmlp"}])
def test_a_part_that_ends_says_so(settings):
    model = trained(section_of(**settings))
    assert greedy(model, draw(V, B, 3), 4, source=SOURCE).shape == (B, 4)
    with pytest.raises(ValueError, match=f"max_len = {T}.*given a sequence of {T + 1}"):
        greedy(model, draw(V, B, 3), 5, source=SOURCE)


def test_what_cannot_be_decoded_is_refused_with_all_its_reasons():
    signature = Signature(T, 4, vocab_size=3, readout="last", num_segments=2)
    model = build_model(section_of(topology="encoder", embedding={"segment": "on"}), signature)
    assert refused(greedy, model, torch.zeros(B, 0, dtype=torch.long), 0) == {
        "model.topology": ("encoder", "decoder, encoder_decoder"),
        "model.embedding.segment": ("on", "off"),
        "signature.readout": ("last", "a task with readout `all`"),
        "signature.num_outputs": (4, "at most 3"),
        "prompt_bt": ((3, 0), "(B, T) with T ≥ 1"),
        "length": (0, "at least 1"),
    }
