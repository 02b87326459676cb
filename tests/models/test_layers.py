"""How layers behave: largest logits and dead units, against values that are worked out or set by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from ablate.base.registry import CATALOGUE
from ablate.models.build import build_model
from ablate.models.inspection import attention_metrics, cut
from ablate.models.layers import layer_metrics, measurable
from ablate.models.model import Model
from ablate.tasks.task import Batch, Task
from ablate.training.trial import parse

CATALOGUE.load_builtin()


def made(task: Any = "recall", **section: Any) -> tuple[Model, Batch]:
    model = {"d_model": 12, "num_layers": 2, "mixer": {"num_heads": 3}} | section
    config = parse({"task": task, "model": model, "training": {}})
    built: Task = config.task.build()
    return build_model(config.model, built.signature, seed=1), built.split(0, "test", "cpu")[:16]


def reverse(**section: Any) -> tuple[Model, Batch]:
    """An encoder–decoder with feed-forwards in both stacks, and sequences of several lengths."""
    return made("reverse", topology={"name": "encoder_decoder", "cross": {"num_heads": 3}}, **section)


@torch.no_grad()
@pytest.mark.parametrize("position", ["learned", "alibi"])
def test_the_largest_logit_is_that_of_no_masked_pair(position: str) -> None:
    """Of the first layer of the encoder, q·k/√d and its bias pair by pair, though training uses the fused kernel."""
    model, batch = reverse(position=position)
    model.eval()
    assert batch.source is not None
    assert batch.source_mask is not None
    stack: Any = model.stack
    block = stack.encoder.blocks[0]
    seen = []
    handle = block.mixer.register_forward_pre_hook(lambda module, args: seen.append(args))
    found = layer_metrics(model, [batch])
    handle.remove()
    x, where, _ = seen[0]
    q, k = (layer(x).unflatten(2, (3, 4)).numpy() for layer in (block.mixer.query, block.mixer.key))
    bias = where.bias(x.shape[1], x.shape[1], x.device)
    real = batch.source_mask[:, 0, 0].numpy()
    largest = max(
        float(q[b, i, h] @ k[b, j, h]) / 2 + (0.0 if bias is None else bias[h, i, j].item())
        for b in range(len(x))
        for h in range(3)
        for i in np.flatnonzero(real[b])
        for j in np.flatnonzero(real[b])
    )
    path = "attention_logit_max/stack.encoder.blocks.0.mixer"
    assert found[path] == pytest.approx(largest, rel=1e-5)
    layers = [value for name, value in found.items() if name.startswith("attention_logit_max/")]
    assert len(layers) == 6
    assert found["attention_logit_max"] == max(layers)
    entropies = attention_metrics(model, [batch])
    assert {n: v for n, v in found.items() if "entropy" in n} == {
        n: v for n, v in entropies.items() if "entropy" in n
    }


@torch.no_grad()
def test_a_unit_that_only_padding_wakes_is_dead() -> None:
    """Units 0 … 4 of the encoder's first layer never fire; unit 5 fires where the source is padding alone."""
    model, batch = reverse(d_model=12, feedforward={"expansion": 1})
    stack: Any = model.stack
    feedforward = stack.encoder.blocks[0].feedforward
    feedforward.up.weight.zero_()
    feedforward.up.bias.copy_(torch.tensor([-1.0] * 5 + [0.0] + [1.0] * 6))
    assert batch.source_mask is not None
    real = batch.source_mask[:, 0, 0]

    def wake(module: nn.Module, args: Any, output: torch.Tensor) -> torch.Tensor:
        output = output.clone()
        output[..., 5] = torch.where(real, -1.0, 1.0)
        return output

    handle = feedforward.up.register_forward_hook(wake)
    found = layer_metrics(model, [batch])
    handle.remove()
    assert not real.all()
    assert found["dead_units/stack.encoder.blocks.0.feedforward"] == 0.5
    layers = [value for name, value in found.items() if name.startswith("dead_units/")]
    assert len(layers) == 4
    assert found["dead_units"] == pytest.approx(sum(layers) / 4)


def test_numbers_do_not_depend_on_how_examples_are_cut_and_nothing_is_left_behind() -> None:
    model, batch = reverse()
    whole = layer_metrics(model, [batch])
    assert layer_metrics(model, batch.chunks(5)) == pytest.approx(whole, rel=1e-5)
    assert [len(part) for part in cut(batch, 3 * 7 * 7)] == [3, 3, 3, 3, 3, 1]
    assert not any(m._forward_pre_hooks or m._forward_hooks for m in model.modules())
    assert model.training


@pytest.mark.parametrize(
    ("section", "names"),
    [
        ({}, {"attention_entropy", "attention_logit_max", "dead_units"}),
        ({"feedforward": {"activation": "gelu"}}, {"attention_entropy", "attention_logit_max"}),
        ({"feedforward": "none"}, {"attention_entropy", "attention_logit_max"}),
        ({"mixer": {"num_heads": 3, "weighting": "uniform"}}, {"attention_entropy", "dead_units"}),
        ({"mixer": "conv", "position": "none"}, {"dead_units"}),
        ({"mixer": "conv", "position": "none", "feedforward": {"activation": "swiglu"}}, set()),
    ],
)
def test_a_model_lacks_what_it_has_no_part_for(section: dict[str, Any], names: set[str]) -> None:
    model, batch = made(**section)
    assert {name for name in layer_metrics(model, [batch]) if "/" not in name} == names
    assert measurable(model) == names - {"attention_entropy"}
