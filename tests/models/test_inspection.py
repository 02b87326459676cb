"""Attention weights of any layer and what sums them up; largest logits and dead units."""

import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import jensenshannon
from scipy.stats import entropy as scipy_entropy
from torch import Tensor

from ablate.base.registry import CATALOGUE
from ablate.models.build import build_model
from ablate.models.inspection import (
    attention_maps,
    cut,
    entropy,
    layer_metrics,
    measurable,
    similarity,
    without_head,
)
from ablate.models.model import Model
from ablate.tasks.task import Batch, Task
from ablate.training.trial import parse

CATALOGUE.load_builtin()
HEADS = 3


def made(task: Any = "recall", **section: Any) -> tuple[Model, Task]:
    model = {"d_model": 12, "num_layers": 2, "mixer": {"num_heads": HEADS}} | section
    config = parse({"task": task, "model": model, "training": {}})
    built: Task = config.task.build()
    return build_model(config.model, built.signature, seed=1), built


def reverse(**section: Any) -> tuple[Model, Batch]:
    """Returns an encoder–decoder, and a batch of sequences of several lengths."""
    model, task = made(
        "reverse", topology={"name": "encoder_decoder", "cross": {"num_heads": HEADS}}, **section
    )
    return model, task.split(0, "test", "cpu")[:16]


def test_every_layer_of_an_encoder_decoder_is_seen():
    model, batch = reverse()
    maps = attention_maps(model, batch)
    targets, sources = batch.inputs.shape[1], batch.source.shape[1]
    assert {path: tuple(found.shape) for path, found in maps.items()} == {
        f"stack.{path}": (16, HEADS, *shape)
        for i in range(2)
        for path, shape in (
            (f"encoder.blocks.{i}.mixer", (sources, sources)),
            (f"decoder.blocks.{i}.mixer", (targets, targets)),
            (f"decoder.blocks.{i}.cross", (targets, sources)),
        )
    }


def test_rows_and_columns_of_padding_hold_what_is_asked_for_and_nothing_else_does():
    model, batch = reverse()
    real = {True: batch.source_mask[:, 0, 0], False: batch.mask[:, 0, 0]}
    assert not real[True].all()
    plain = attention_maps(model, batch)
    for path, found in attention_maps(model, batch, padding=math.nan).items():
        torch.testing.assert_close(plain[path].sum(-1), torch.ones(found.shape[:-1]))
        future = torch.ones(found.shape[-2:], dtype=torch.bool).triu(1)
        assert "decoder.blocks.0.mixer" not in path or (plain[path][..., future] == 0).all()
        queries = real["encoder" in path]
        keys = real["encoder" in path or path.endswith("cross")]
        there = (queries[:, :, None] & keys[:, None, :])[:, None].expand_as(found)
        assert not there.all()
        assert "decoder" in path or (plain[path].permute(0, 3, 1, 2)[~keys] == 0).all()
        assert torch.equal(~found.isnan(), there)
        assert torch.equal(found[there], plain[path][there])
    unpadded, task = made()
    batch = task.split(0, "test", "cpu")[:4]
    assert not any(
        found.isnan().any() for found in attention_maps(unpadded, batch, padding=math.nan).values()
    )


def test_looking_is_in_evaluation_mode_and_leaves_no_trace():
    model, task = made(dropout={"attention_weights": 0.5, "residual": 0.5})
    batch = task.split(0, "test", "cpu")[:8]
    model.train()
    first, again = attention_maps(model, batch), attention_maps(model, batch)
    for path, found in first.items():
        assert torch.equal(found, again[path])
        assert not found.requires_grad
    assert model.training
    assert not any(module._forward_pre_hooks for module in model.modules())


def test_the_maps_are_what_the_output_is_made_of():
    """W_O applied to weights @ values is what the mixer gives."""
    model, task = made(num_layers=1)
    batch = task.split(0, "test", "cpu")[:4]
    model.eval()
    (weights,) = attention_maps(model, batch).values()
    block = model.stack.blocks[0]
    x = block.mixer_norm(model.embed(batch.inputs))
    _, values = block.mixer.read(x)
    mixed = (weights @ values).transpose(1, 2).flatten(2)
    torch.testing.assert_close(block.mixer.output(mixed), block.mixer(x, model.position))


def test_without_a_head_its_share_of_the_output_is_missing():
    model, task = made(num_layers=1)
    batch, mixer = task.split(0, "test", "cpu")[:4], model.stack.blocks[0].mixer
    before = mixer.output.weight.clone()
    x = model.embed(batch.inputs)
    whole, lost = mixer(x, model.position), []
    for head in range(mixer.num_heads):
        with without_head(mixer, head):
            lost.append(whole - mixer(x, model.position))
    torch.testing.assert_close(sum(lost), whole)
    assert all(one.abs().max() > 0 for one in lost)
    assert torch.equal(mixer.output.weight, before)


@st.composite
def distributions(draw: Any) -> Tensor:
    """Draws (B, H, T_q, T_k) whose rows sum to one, with exact zeros."""
    seed, keys = draw(st.integers(0, 2**32)), draw(st.integers(1, 6))
    rng = np.random.default_rng(seed)
    raw = rng.dirichlet(np.full(keys, 0.3), size=(2, 3, 4))
    raw[rng.random(raw.shape) < 0.3] = 0
    raw[..., 0] += raw.sum(-1) == 0
    return torch.from_numpy(raw / raw.sum(-1, keepdims=True))


@given(distributions())
def test_entropy_and_similarity_are_scipys(weights):
    rows = weights.numpy()
    np.testing.assert_allclose(entropy(weights).numpy(), scipy_entropy(rows, axis=-1), atol=1e-12)
    distances = [jensenshannon(rows[:, g], rows[:, h], base=2, axis=-1) for g, h in ((0, 1), (0, 2), (1, 2))]
    np.testing.assert_allclose(similarity(weights).numpy(), 1 - np.mean(distances, 0), atol=1e-6)


def test_uniform_attention_has_the_entropy_of_its_real_keys():
    model, batch = reverse(mixer={"num_heads": HEADS, "weighting": "uniform"})
    found = layer_metrics(model, [batch])
    lengths = batch.source_mask[:, 0, 0].sum(-1).double()
    expected = (lengths * lengths.log()).sum() / lengths.sum()
    assert found["attention_entropy/stack.encoder.blocks.0.mixer"] == pytest.approx(expected.item(), rel=1e-6)
    assert found["head_similarity/stack.encoder.blocks.0.mixer"] == pytest.approx(1, abs=1e-6)
    layers = [value for name, value in found.items() if name.startswith("attention_entropy/")]
    assert len(layers) == 6
    assert found["attention_entropy"] == pytest.approx(sum(layers) / 6)


@torch.no_grad()
@pytest.mark.parametrize("position", ["learned", "alibi"])
def test_the_largest_logit_is_that_of_no_masked_pair(position):
    model, batch = reverse(position=position)
    model.eval()
    block = model.stack.encoder.blocks[0]
    seen = []
    handle = block.mixer.register_forward_pre_hook(lambda module, args: seen.append(args))
    found = layer_metrics(model, [batch])
    handle.remove()
    x, where, _ = seen[0]
    q, k = (layer(x).unflatten(2, (3, 4)).transpose(1, 2) for layer in (block.mixer.query, block.mixer.key))
    bias = where.bias(x.shape[1], x.shape[1], x.device)
    real = batch.source_mask[:, 0, 0]
    logits = q @ k.mT / 2 + (0 if bias is None else bias)
    largest = float(logits.transpose(0, 1)[:, real[:, :, None] & real[:, None]].max())
    path = "attention_logit_max/stack.encoder.blocks.0.mixer"
    assert found[path] == pytest.approx(largest, rel=1e-5)
    layers = [value for name, value in found.items() if name.startswith("attention_logit_max/")]
    assert len(layers) == 6
    assert found["attention_logit_max"] == max(layers)


@torch.no_grad()
def test_a_unit_that_only_padding_wakes_is_dead():
    """Units 0 … 4 of the encoder's first layer never fire; unit 5 fires where the source is padding alone."""
    model, batch = reverse(feedforward={"expansion": 1})
    feedforward, real = model.stack.encoder.blocks[0].feedforward, batch.source_mask[:, 0, 0]
    assert not real.all()

    def wake(*_):
        return torch.where(torch.arange(12) == 5, 1 - 2 * real[..., None].float(), torch.arange(12) - 5.0)

    handle = feedforward.up.register_forward_hook(wake)
    found = layer_metrics(model, [batch])
    handle.remove()
    assert found["dead_units/stack.encoder.blocks.0.feedforward"] == 0.5
    layers = [value for name, value in found.items() if name.startswith("dead_units/")]
    assert len(layers) == 4
    assert found["dead_units"] == pytest.approx(sum(layers) / 4)


def test_numbers_do_not_depend_on_how_examples_are_cut_and_nothing_is_left_behind():
    model, batch = reverse()
    whole = layer_metrics(model, [batch])
    assert layer_metrics(model, batch.chunks(5)) == pytest.approx(whole, rel=1e-5)
    assert [len(part) for part in cut(batch, 3 * 7 * 7)] == [3, 3, 3, 3, 3, 1]
    assert not any(m._forward_pre_hooks or m._forward_hooks for m in model.modules())
    assert model.training


OF_ATTENTION = ("attention_entropy", "head_similarity")


@pytest.mark.parametrize(
    ("section", "names"),
    [
        ({}, {*OF_ATTENTION, "attention_logit_max", "dead_units"}),
        ({"feedforward": {"activation": "gelu"}}, {*OF_ATTENTION, "attention_logit_max"}),
        ({"feedforward": "none"}, {*OF_ATTENTION, "attention_logit_max"}),
        ({"mixer": {"num_heads": 3, "weighting": "uniform"}}, {*OF_ATTENTION, "dead_units"}),
        ({"mixer": {"num_heads": 1}}, {"attention_entropy", "attention_logit_max", "dead_units"}),
        ({"mixer": "conv", "position": "none"}, {"dead_units"}),
        ({"mixer": "conv", "position": "none", "feedforward": {"activation": "swiglu"}}, set()),
    ],
)
def test_a_model_lacks_what_it_has_no_part_for(section, names):
    model, task = made(**section)
    batch = task.split(0, "test", "cpu")[:16]
    assert {name for name in layer_metrics(model, [batch]) if "/" not in name} == names
    attends = "attention_entropy" in names
    assert bool(attention_maps(model, batch)) == attends
    assert measurable(model) == names - {"attention_entropy", "head_similarity"}
