"""What is asked of models before they train: what their output cannot depend on, and whether two are the same.

Inputs that an output cannot depend on, whatever it learns, are found by gradients, and confirmed by changing these
inputs, in float64 and evaluation mode, on data of the task. Initial values get a little noise, since a branch that
begins at zero may learn to matter.
"""

import hashlib
from collections.abc import Iterable
from itertools import groupby

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


def unreached(section: ModelSection, task: Task) -> list[str]:
    """What the output cannot see, as clauses; where every position is read out, the output at the last one.

    Padding does not count, nor does a position that holds the same in every example.
    """
    model = _noisy(section, task)
    batch = next(task.train_batches(0, DRAWN, "cpu"))
    longest = _longest(batch)
    found = []
    if task.signature.num_segments is not None and model.segment_embedding is None:
        found.append(
            "the output cannot see which segment a position belongs to: model.embedding.segment is off"
        )
    for name, of_what in (("inputs", "position"), ("source", "source position")):
        given: Tensor | None = getattr(batch, name)
        if given is None:
            continue
        if name == "source" and model.source_embedding is None:
            found.append("the output cannot see the source: model.topology.cross is none")
            continue
        telling = (given != given[:1]).reshape(*given.shape[:2], -1).any(-1).any(0)
        unseen = [place for place in _unseen(model, longest, name) if telling[place]]
        if unseen:
            places = f"{of_what}{'s' if len(unseen) > 1 else ''} {_ranges(unseen)} of {len(telling)}"
            reach = counted(section.num_layers, "layer")
            found.append(f"the output cannot see {places}, beyond the reach of its {reach}")
    return found


def _noisy(section: ModelSection, task: Task) -> Model:
    """The model in float64 and evaluation mode, with noise on its initial values."""
    model = build_model(section, task.signature).double().eval()
    noise = torch_stream(0, "reach")
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=noise, dtype=parameter.dtype), alpha=NOISE)
    return model


def _longest(batch: Batch) -> Batch:
    """The examples with the least padding, in float64 where they are vectors."""
    lengths = torch.zeros(len(batch), dtype=torch.int64)
    for given, mask in ((batch.inputs, batch.mask), (batch.source, batch.source_mask)):
        if given is not None and (real := real_positions(mask, given.shape[1])) is not None:
            lengths += real.sum(1)
    count = max(2, min(EXAMPLES, MAX_POSITIONS // batch.inputs.shape[1]))
    few = batch[lengths.argsort(descending=True, stable=True)[:count]]
    return few.each(lambda x: x.double() if x.is_floating_point() else x)


def _unseen(model: Model, batch: Batch, name: str) -> list[int]:
    """Positions of the `inputs` or the `source` that no example's output depends on."""
    embedding = model.embedding if name == "inputs" else model.source_embedding
    kept: list[Tensor] = []

    def keep(module: object, arguments: object, output: Tensor) -> Tensor:
        kept.append(output.detach().requires_grad_())
        return kept[0]

    assert embedding is not None
    with embedding.register_forward_hook(keep):
        logits = _read_out(model, batch)
    weights = torch.randn(logits.shape, generator=torch_stream(0, "reach", "logits"), dtype=logits.dtype)
    gradient = torch.autograd.grad((logits * weights).sum(), kept[0], materialize_grads=True)[0]
    found: list[int] = (gradient == 0).all(-1).all(0).nonzero().flatten().tolist()
    # A gradient may be blocked where a value is not.
    with torch.no_grad():
        before = _read_out(model, batch)
        if not found or torch.equal(before, _read_out(model, _changed(batch, name, found))):
            return found
        return [i for i in found if torch.equal(before, _read_out(model, _changed(batch, name, [i])))]


def _read_out(model: Model, batch: Batch) -> Tensor:
    """Logits (B, num_outputs), at the last position that is no padding where every one is read out."""
    logits: Tensor = model(**batch.model_inputs())
    if model.signature.readout != "all":
        return logits
    return last_of_real(logits, real_positions(batch.mask, logits.shape[1]))


def _changed(batch: Batch, name: str, places: list[int]) -> Batch:
    """The examples with what the next example has at these places."""
    changed = batch[slice(None)]
    values = getattr(batch, name).clone()
    values[:, places] = values.roll(1, 0)[:, places]
    setattr(changed, name, values)
    return changed


def _ranges(places: list[int]) -> str:
    """`0–1 and 7`."""
    runs = [
        [place for _, place in run]
        for _, run in groupby(enumerate(places), key=lambda pair: pair[1] - pair[0])
    ]
    return joined([str(run[0]) if len(run) == 1 else f"{run[0]}–{run[-1]}" for run in runs])


BATCH_SIZE = 32
MAX_TOKENS = (
    4096  # Of the batch: long sequences are fewer, but two at least, which batch normalisation needs.
)
STEP_SIZE = 0.1


def fingerprint(section: ModelSection, task: Task) -> str:
    """A digest of what a model does over one step of gradient descent on one batch, on CPU under seed 0.

    It covers names, shapes and values of parameters and buffers, the logits in training mode (dropout
    included), the gradients, and, after the step, the logits in training and evaluation mode. The gradients
    tell apart parts that differ backwards only (straight-through estimates); the step, those behind a branch
    that starts at zero; evaluation mode, those that differ in running statistics. It does not cover
    what this batch does not reach: other lengths, later steps, values beyond a clamp.
    """
    code = hashlib.blake2b(digest_size=16)
    model = build_model(section, task.signature, seed=0)
    batch = next(task.train_batches(0, max(2, min(BATCH_SIZE, MAX_TOKENS // task.signature.seq_len)), "cpu"))

    def logits(step: int) -> Tensor:
        model.start_step(step)
        return model(**batch.model_inputs())

    model.train()
    _add(code, model.state_dict().items())
    out = logits(0)
    _add(code, [("logits", out)])
    task.loss(out, batch).backward()
    gradients = {name: p.grad for name, p in model.named_parameters() if p.grad is not None}
    _add(code, gradients.items())
    with torch.no_grad():
        for name, gradient in gradients.items():
            model.get_parameter(name).sub_(STEP_SIZE * gradient)
        _add(code, [("trained", logits(1)), *model.named_buffers()])
        model.eval()
        _add(code, [("evaluated", logits(1))])
    return code.hexdigest()


def _add(code: hashlib.blake2b, tensors: Iterable[tuple[str, Tensor]]) -> None:
    for name, tensor in tensors:
        array = tensor.detach().contiguous().numpy()
        code.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
        code.update(array.tobytes())
