from dataclasses import replace

import pytest
import torch
from small_models import BATCH, TOKENS, built

from ablate.core.signature import Signature
from ablate.models.model import decay_groups

TIED = Signature(seq_len=6, num_outputs=11, vocab_size=11)


@pytest.mark.parametrize("position", ["learned", "sincos"])
def test_tied_output_is_the_embedding_and_counts_once(position):
    settings = {"position": position, "embedding": {"tied": "on"}}
    model, free = built(TIED, **settings), built(TIED, position=position)
    assert model.output.weight is model.embedding.weight
    assert torch.equal(model.embedding.weight, free.embedding.weight)
    parts, free_parts = model.parameters_by_part(), free.parameters_by_part()
    assert parts == free_parts | {"output": 11}
    assert sum(parts.values()) == sum(p.numel() for p in model.parameters())
    before = model(BATCH)
    model(BATCH).logsumexp(-1).sum().backward()
    with torch.no_grad():
        model.embedding.weight.sub_(model.embedding.weight.grad)
    assert torch.equal(model.output.weight, model.embedding.weight)
    assert not torch.equal(model(BATCH), before)
    decayed, exempt = decay_groups(model)
    assert sum(p is model.embedding.weight for p in decayed) == 1
    assert len(decayed) + len(exempt) == len(list(model.parameters()))


def test_the_gradient_of_a_tied_embedding_is_that_of_both_uses():
    model = built(TIED, embedding={"tied": "on", "scaled": "on"}).double()
    free = built(TIED, embedding={"scaled": "on"}).double()
    free.load_state_dict(model.state_dict())
    for each in (model, free):
        each(BATCH).logsumexp(-1).sum().backward()
    both = free.embedding.weight.grad + free.output.weight.grad
    torch.testing.assert_close(model.embedding.weight.grad, both)


@pytest.mark.parametrize("embedding", [{"scaled": "on"}, {"scaled": "off"}, {}])
@pytest.mark.parametrize("position", ["sincos", "learned", "none", "rope"])
def test_embeddings_are_scaled_when_asked_whatever_the_position(position, embedding):
    """FOUNDATIONS §1: √D times the token, before positions are added; √D times smaller at first."""
    model, plain = built(position=position, embedding=embedding), built(position=position)
    factor = 4 if embedding.get("scaled") == "on" else 1
    tokens_btd = factor * model.embedding.weight[BATCH]
    torch.testing.assert_close(model.embed(BATCH), model.position.embed(tokens_btd))
    part = model.position.embed(tokens_btd[:, :3], 2)
    torch.testing.assert_close(model.embed(BATCH[:, :3], 2), part)
    torch.testing.assert_close(model.embed(BATCH), plain.embed(BATCH))


@pytest.mark.parametrize("scaled", ["on", "off"])
def test_embedded_inputs_begin_with_unit_variance(scaled):
    generator = torch.Generator().manual_seed(0)
    signatures = replace(TOKENS, vocab_size=400), replace(TOKENS, vocab_size=None, num_features=20)
    inputs = torch.arange(400)[:, None], torch.randn(400, 1, 20, generator=generator)
    for signature, given in zip(signatures, inputs, strict=True):
        embedding = {"scaled": scaled}
        model = built(signature, d_model=64, position="none", embedding=embedding)
        assert float(model.embed(given).detach().square().mean()) == pytest.approx(1, rel=0.1)


@pytest.mark.parametrize("embedding", [{}, {"scaled": "on"}, {"tied": "on"}, {"tied": "on", "scaled": "on"}])
def test_logits_begin_alike_however_they_are_made(embedding):
    """As a linear map makes them of a normed vector, 1/√3, or of the scale 1."""
    tokens = torch.arange(400)[:, None]
    signature = replace(TIED, vocab_size=400, num_outputs=400)
    model = built(signature, d_model=64, embedding=embedding)
    assert 0.5 < float(model(tokens).detach().std()) < 1.1


def test_segments_add_a_vector_of_their_own_which_is_not_scaled():
    signature = Signature(6, 5, vocab_size=11, num_segments=3)
    settings = {"position": "none", "embedding": {"segment": "on", "scaled": "on"}}
    model, plain = built(signature, **settings), built(signature)
    segments = torch.tensor([0, 0, 1, 1, 2, 2]).expand(4, 6)
    expected = 4 * model.embedding.weight[BATCH] + model.segment_embedding.weight[segments]
    torch.testing.assert_close(model.embed(BATCH, segments=segments), expected)
    assert model.parameters_by_part()["embedding"] == 11 * 16 + 3 * 16
    torch.testing.assert_close(4 * model.embedding.weight, plain.embedding.weight)
    assert torch.equal(plain(BATCH, segments=segments), plain(BATCH))
    model(BATCH, segments=segments).sum().backward()
    assert (model.segment_embedding.weight.grad.abs().sum(1) > 0).all()
