"""The inputs that the output of a model cannot depend on, whatever it learns.

They are found by gradients, and confirmed by changing these inputs, in float64 and evaluation mode, on data of the
task. Initial values get a little noise, since a branch that begins at zero may learn to matter.
"""

from dataclasses import replace
from itertools import groupby
from typing import Literal, assert_never

import torch
from torch import Tensor

from ablate.base.streams import torch_stream
from ablate.base.wording import counted, joined
from ablate.components.masks import real_positions
from ablate.models.build import build_model
from ablate.models.model import Model, last_of_real
from ablate.models.section import ModelSection
from ablate.tasks.task import Batch, Task

DRAWN = 256  # Examples that the longest are taken from; a position that holds the same in all of them tells nothing.
EXAMPLES = 8
MAX_POSITIONS = 4096  # Of all examples together; of long sequences there are fewer.
NOISE = 0.02

Side = Literal["inputs", "source"]
"""One of the sequences that a model reads."""


def unreached(section: ModelSection, task: Task) -> list[str]:
    """Returns a text on each of these that the model's output cannot depend on, whatever the model learns: the
    segments, positions of the inputs, positions of the source, the whole source.

    Where every position is read out, the output at the last one counts. Padding does not count, nor does a position
    that holds the same in every example.
    """
    model = _noisy_model(section, task)
    batch = next(task.train_batches(0, DRAWN, "cpu"))
    longest = _longest(batch)
    nouns: dict[Side, str] = {"inputs": "position"}
    if batch.source is not None and model.source_embedding is not None:
        nouns["source"] = "source position"

    clauses = []
    if task.signature.num_segments is not None and model.segment_embedding is None:
        clauses.append(
            "the output cannot see which segment a position belongs to: model.embedding.segment is off"
        )
    for side, noun in nouns.items():
        varies_t = _varies(_values(batch, side))
        unseen = [place for place in _unseen(model, longest, side) if varies_t[place]]
        if unseen:
            plural = "" if len(unseen) == 1 else "s"
            places = f"{noun}{plural} {_ranges(unseen)} of {len(varies_t)}"
            reach = counted(section.num_layers, "layer")
            clauses.append(f"the output cannot see {places}, beyond the reach of its {reach}")
    if batch.source is not None and model.source_embedding is None:
        clauses.append("the output cannot see the source: model.topology.cross is none")
    return clauses


def _varies(values: Tensor) -> Tensor:
    """Returns booleans (T), True at each position where examples differ in tokens (B, T) or vectors (B, T, F)."""
    return (values != values[:1]).reshape(*values.shape[:2], -1).any(-1).any(0)


def _noisy_model(section: ModelSection, task: Task) -> Model:
    """Builds the model of a section in float64 and evaluation mode, with noise of standard deviation `NOISE` on its
    initial values.
    """
    model = build_model(section, task.signature).double().eval()
    generator = torch_stream(0, "reach")
    with torch.no_grad():
        for parameter in model.parameters():
            noise = torch.randn(parameter.shape, generator=generator, dtype=parameter.dtype)
            parameter.add_(noise, alpha=NOISE)
    return model


def _longest(batch: Batch) -> Batch:
    """Returns the `EXAMPLES` examples with the most real positions, of inputs and source together, fewer for long
    inputs but at least 2; vectors become float64.
    """
    lengths_b = torch.zeros(len(batch), dtype=torch.int64)
    for values, mask in ((batch.inputs, batch.mask), (batch.source, batch.source_mask)):
        if values is None:
            continue
        real_bt = real_positions(mask, values.shape[1])
        if real_bt is not None:
            lengths_b += real_bt.sum(1)
    count = max(2, min(EXAMPLES, MAX_POSITIONS // batch.inputs.shape[1]))
    longest = batch[lengths_b.argsort(descending=True, stable=True)[:count]]
    return longest.each(lambda tensor: tensor.double() if tensor.is_floating_point() else tensor)


def _unseen(model: Model, batch: Batch, side: Side) -> list[int]:
    """Returns, in ascending order, the positions of inputs or source where the gradient of every example's output is 0,
    and where an exchange of values between examples leaves every output as before.
    """
    unseen = _without_gradient(model, batch, side)
    # A gradient may be blocked where a value is not.
    with torch.no_grad():
        before = _read_out(model, batch)

        def changes_nothing(places: list[int]) -> bool:
            return torch.equal(before, _read_out(model, _changed(batch, side, places)))

        if not unseen or changes_nothing(unseen):
            return unseen
        return [place for place in unseen if changes_nothing([place])]


def _without_gradient(model: Model, batch: Batch, side: Side) -> list[int]:
    """Returns, in ascending order, the positions of inputs or source whose embedding gets a gradient of exactly 0, in
    every example, from the logits: all of an example's or, where each position has some, those at its last real one.
    """
    embedding = model.embedding if side == "inputs" else model.source_embedding
    embedded: list[Tensor] = []

    def keep(module: object, arguments: object, output: Tensor) -> Tensor:
        embedded.append(output.detach().requires_grad_())
        return embedded[0]

    assert embedding is not None
    with embedding.register_forward_hook(keep):
        logits = _read_out(model, batch)
    # A random weighting, so that gradients do not cancel.
    weights = torch.randn(logits.shape, generator=torch_stream(0, "reach", "logits"), dtype=logits.dtype)
    loss = (logits * weights).sum()
    gradient_btd = torch.autograd.grad(loss, embedded[0], materialize_grads=True)[0]
    places: list[int] = (gradient_btd == 0).all(-1).all(0).nonzero().flatten().tolist()
    return places


def _read_out(model: Model, batch: Batch) -> Tensor:
    """Computes the logits of each example, (B, num_outputs); where the task reads every position, the logits at the
    last position that is not padding.
    """
    logits: Tensor = model(**batch.model_inputs())
    if model.signature.readout != "all":
        return logits
    return last_of_real(logits, real_positions(batch.mask, logits.shape[1]))


def _values(batch: Batch, side: Side) -> Tensor:
    """Returns the inputs or the source of a batch, tokens (B, T) or vectors (B, T, F); the source must not be None."""
    match side:
        case "inputs":
            return batch.inputs
        case "source":
            assert batch.source is not None
            return batch.source
        case _:
            assert_never(side)


def _changed(batch: Batch, side: Side, places: list[int]) -> Batch:
    """Returns a copy of a batch in which, at `places` of the inputs or the source, each example has the values of the
    example before it, and the first example has those of the last example.
    """
    values = _values(batch, side)
    changed = values.clone()
    changed[:, places] = values.roll(1, 0)[:, places]
    match side:
        case "inputs":
            return replace(batch, inputs=changed)
        case "source":
            return replace(batch, source=changed)
        case _:
            assert_never(side)


def _ranges(places: list[int]) -> str:
    """Returns ascending positions in words, runs as ranges: `0–1 and 7`."""
    words = []
    # Along a run of places, place and index rise together.
    for _, run in groupby(enumerate(places), key=lambda pair: pair[1] - pair[0]):
        first, *others = [place for _, place in run]
        words.append(f"{first}–{others[-1]}" if others else str(first))
    return joined(words)
