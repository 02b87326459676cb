"""What an output cannot depend on: the truth about built-in parts, and nothing about what it can."""

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from ablate.base.errors import Invalid
from ablate.base.registry import CATALOGUE, register
from ablate.components.mixer import Mixer
from ablate.execution.run_trial import WorkloadRef
from ablate.training.reach import unreached
from ablate.training.trial import parse

CATALOGUE.load_builtin()
WORKLOAD = WorkloadRef("sequence").load()
RECALL = {"name": "recall", "vocab_size": 16, "seq_len": 5, "num_pairs": 2}


def found(task: Any, **model: Any) -> list[str]:
    config = parse({"task": task, "model": {"d_model": 16, **model}, "training": {}})
    WORKLOAD.check(config.model_dump())
    return unreached(config.model, config.task.build())


@pytest.mark.parametrize(
    ("layers", "kernel", "topology", "unseen"),
    [
        (2, 3, "encoder", "positions 0–1 of 5, beyond the reach of its 2 layers"),
        (1, 3, "encoder", "positions 0–2 of 5, beyond the reach of its 1 layer"),
        (3, 3, "encoder", "position 0 of 5, beyond the reach of its 3 layers"),
        (4, 3, "encoder", ""),
        (1, 9, "encoder", ""),
        # Its one neighbour is on the right; in a decoder, on the left.
        (3, 2, "encoder", "positions 0–3 of 5, beyond the reach of its 3 layers"),
        (2, 2, "decoder", "positions 0–1 of 5, beyond the reach of its 2 layers"),
    ],
)
def test_a_convolution_sees_as_far_as_its_layers_reach(layers, kernel, topology, unseen):
    mixer = {"name": "conv", "kernel_size": kernel}
    expected = [f"the output cannot see {unseen}"] if unseen else []
    assert found(RECALL, num_layers=layers, mixer=mixer, topology=topology) == expected


def models() -> Iterator[tuple[Any, dict[str, Any]]]:
    """Every mixer and position on a task of each kind; scores, weightings and values with and without a source."""
    settings = {"reverse": {"topology": "encoder_decoder"}, "segments": {"embedding": {"segment": True}}}
    for task in ("recall", "digits", "segments", "reverse"):
        parts = [{"mixer": mixer} for mixer in set(CATALOGUE.names("mixer")) - {"conv"}]
        parts += [{"position": position} for position in CATALOGUE.names("position")]
        for slot in ("score", "weighting", "value") if task in ("recall", "reverse") else ():
            names = [
                {"name": name, "rank": 2} if name == "low_rank" else name for name in CATALOGUE.names(slot)
            ]
            parts += [{"mixer": {"name": "attention", slot: name}} for name in names]
        yield from ((task, part | settings.get(task, {})) for part in parts)


@pytest.mark.slow
def test_everything_else_sees_all():
    checked = 0
    for task, model in models():
        try:
            assert found(task, **model) == [], (task, model)
            checked += 1
        except Invalid:
            continue
    assert checked > 50


@pytest.mark.slow
def test_what_is_not_embedded_or_read_and_what_is_the_same_in_every_example_cannot_be_seen():
    """The first token of a decoder's input is the start."""
    topology = {"name": "encoder_decoder", "cross": "none"}
    (text,) = found("reverse", topology=topology)
    assert text == "the output cannot see the source: model.topology.cross is none"
    topology["cross"] = "mean"
    assert found("reverse", topology=topology) == []
    (text,) = found("reverse", num_layers=2, mixer={"name": "conv", "kernel_size": 2}, topology=topology)
    assert "positions 1–3 of 7" in text
    (text,) = found("segments")
    assert text == "the output cannot see which segment a position belongs to: model.embedding.segment is off"


def test_branches_that_begin_at_zero_and_gradients_that_are_blocked_hide_nothing():
    @register("mixer", "shy")
    class Shy(Mixer):
        """x + gain · mean(x), whose gain begins at 0, or whose mean passes no gradient."""

        causal = padding = any_length = True
        attends = False

        def __init__(self, config: Any, sizes: Any) -> None:
            super().__init__(config, sizes)
            self.gain = nn.Parameter(torch.empty(()))

        def initialise(self, draw: Any) -> None:
            self.gain.zero_()

        def forward(self, x_btd: Tensor, position: Any, mask: Tensor | None = None) -> Tensor:
            return x_btd + self.gain * x_btd.mean(1, keepdim=True)

    @register("mixer", "blocked")
    class Blocked(Shy):
        causal = padding = any_length = True
        attends = False

        def forward(self, x_btd: Tensor, position: Any, mask: Tensor | None = None) -> Tensor:
            return x_btd + self.gain * x_btd.mean(1, keepdim=True).detach()

    @register("mixer", "blind")
    class Blind(Shy):
        causal = padding = any_length = True
        attends = False

        def forward(self, x_btd: Tensor, position: Any, mask: Tensor | None = None) -> Tensor:
            return self.gain * x_btd

    assert found(RECALL, mixer="shy") == found(RECALL, mixer="blocked") == []
    assert "positions 0–3 of 5" in found(RECALL, mixer="blind")[0]
