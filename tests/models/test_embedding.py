from __future__ import annotations

import copy

import pytest
import torch

from ablate.base.errors import Invalid
from ablate.base.registry import CATALOGUE
from ablate.core.signature import Signature
from ablate.models.build import build_model
from ablate.models.parameters import decay_groups
from ablate.models.section import ModelSection

CATALOGUE.load_builtin()
TOKENS = Signature(seq_len=6, num_outputs=5, vocab_size=11)
TIED = Signature(seq_len=6, num_outputs=11, vocab_size=11)


def section(**settings) -> ModelSection:
    return ModelSection.model_validate({"d_model": 16, "num_layers": 1, **settings})


@pytest.fixture
def tokens() -> torch.Tensor:
    return torch.randint(11, (4, 6), generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("position", ["learned", "sincos"])
def test_tied_output_is_the_embedding_and_counts_once(tokens, position):
    settings = {"position": position, "embedding": {"tied": "on"}}
    model, free = build_model(section(**settings), TIED), build_model(section(position=position), TIED)
    assert model.output.weight is model.embedding.weight
    assert torch.equal(model.embedding.weight, free.embedding.weight)
    parts, free_parts = model.parameters_by_part(), free.parameters_by_part()
    assert parts == free_parts | {"output": 11}
    assert sum(parts.values()) == sum(p.numel() for p in model.parameters())
    before = model(tokens)
    model(tokens).logsumexp(-1).sum().backward()
    with torch.no_grad():
        model.embedding.weight.sub_(model.embedding.weight.grad)
    assert torch.equal(model.output.weight, model.embedding.weight)
    assert not torch.equal(model(tokens), before)
    decayed, exempt = decay_groups(model)
    assert sum(p is model.embedding.weight for p in decayed) == 1
    assert len(decayed) + len(exempt) == len(list(model.parameters()))


def test_the_gradient_of_a_tied_embedding_is_that_of_both_uses(tokens):
    model = build_model(section(embedding={"tied": "on"}), TIED).double()
    free = build_model(section(), TIED).double()
    free.load_state_dict(model.state_dict())
    for each in (model, free):
        each(tokens).logsumexp(-1).sum().backward()
    torch.testing.assert_close(
        model.embedding.weight.grad, free.embedding.weight.grad + free.output.weight.grad
    )


def test_tied_state_survives_a_round_trip(tokens):
    model, other = (build_model(section(embedding={"tied": "on"}), TIED, seed=seed) for seed in (0, 1))
    other.load_state_dict(copy.deepcopy(model.state_dict()))
    assert other.output.weight is other.embedding.weight
    assert torch.equal(model(tokens), other(tokens))


@pytest.mark.parametrize(
    ("signature", "has"),
    [
        (TOKENS, "5 outputs and 11 input tokens"),
        (Signature(6, 5, num_features=5), "5 outputs and no input tokens"),
    ],
)
def test_tying_what_differs_is_refused(signature, has):
    with pytest.raises(Invalid) as error:
        build_model(section(embedding={"tied": "on"}), signature, device="meta")
    assert str(error.value) == (
        f"embedding.tied: needs outputs that are the input's tokens; the task has {has}; given 'on'; allowed: off"
    )


@pytest.mark.parametrize("scaled", ["on", "off", None])
@pytest.mark.parametrize("position", ["sincos", "learned", "none", "rope"])
def test_embeddings_are_scaled_when_asked_or_as_the_position_asks(tokens, position, scaled):
    """FOUNDATIONS §1: tokens are scaled by √D before a fixed encoding is added."""
    model = build_model(section(position=position, embedding={"scaled": scaled}), TOKENS)
    factor = 4 if scaled == "on" or (scaled is None and position == "sincos") else 1
    tokens_btd = factor * model.embedding.weight[tokens]
    torch.testing.assert_close(model.embed(tokens), model.position.embed(tokens_btd))
    part = model.position.embed(tokens_btd[:, :3], 2)
    torch.testing.assert_close(model.embed(tokens[:, :3], 2), part)


def test_segments_add_a_vector_of_their_own_which_is_not_scaled(tokens):
    signature = Signature(6, 5, vocab_size=11, num_segments=3)
    settings = {"position": "none", "embedding": {"segment": "on", "scaled": "on"}}
    model, plain = build_model(section(**settings), signature), build_model(section(), signature)
    segments = torch.tensor([0, 0, 1, 1, 2, 2]).expand(4, 6)
    expected = 4 * model.embedding.weight[tokens] + model.segment_embedding.weight[segments]
    torch.testing.assert_close(model.embed(tokens, segments=segments), expected)
    assert model.parameters_by_part()["embedding"] == 11 * 16 + 3 * 16
    assert torch.equal(model.embedding.weight, plain.embedding.weight)
    assert torch.equal(plain(tokens, segments=segments), plain(tokens))
    model(tokens, segments=segments).sum().backward()
    assert (model.segment_embedding.weight.grad.abs().sum(1) > 0).all()
