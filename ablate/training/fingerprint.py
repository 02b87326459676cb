"""A digest by which two models that compute the same are told, before they train."""

import hashlib
from collections.abc import Iterable

import torch
from torch import Tensor

from ablate.models.build import build_model
from ablate.models.section import ModelSection
from ablate.tasks.task import Task

BATCH_SIZE = 32
# Of the batch: long sequences are fewer, but two at least, which batch normalisation needs.
MAX_TOKENS = 4096
STEP_SIZE = 0.1


def fingerprint(section: ModelSection, task: Task) -> str:
    """Returns 32 hexadecimal digits, equal for two models whose tensors have the same names and initial values, and
    which compute the same on a task over one step of gradient descent, on one batch, on CPU under seed 0.

    The digest covers names, shapes and values of parameters and buffers, the logits in training mode (dropout
    included), the gradients, and, after the step, the logits in training and evaluation mode. The gradients tell
    apart parts that differ backwards only (straight-through estimates); the step, those behind a branch that starts
    at zero; evaluation mode, those that differ in running statistics. It does not cover what this batch does not
    reach: other lengths, later steps, values beyond a clamp.
    """
    digest = hashlib.blake2b(digest_size=16)
    model = build_model(section, task.signature, seed=0)
    batch_size = max(2, min(BATCH_SIZE, MAX_TOKENS // task.signature.seq_len))
    batch = next(task.train_batches(0, batch_size, "cpu"))

    def logits(step: int) -> Tensor:
        model.start_step(step)
        return model(**batch.model_inputs())

    model.train()
    _add(digest, model.state_dict().items())
    before = logits(0)
    _add(digest, [("logits", before)])
    task.loss(before, batch).backward()
    gradients = {name: p.grad for name, p in model.named_parameters() if p.grad is not None}
    _add(digest, gradients.items())
    with torch.no_grad():
        for name, gradient in gradients.items():
            model.get_parameter(name).sub_(STEP_SIZE * gradient)
        _add(digest, [("trained", logits(1)), *model.named_buffers()])
        model.eval()
        _add(digest, [("evaluated", logits(1))])
    return digest.hexdigest()


def _add(digest: hashlib.blake2b, tensors: Iterable[tuple[str, Tensor]]) -> None:
    """Adds names, types, shapes and values of tensors, in the order given, to a digest in place."""
    for name, tensor in tensors:
        array = tensor.detach().contiguous().numpy()
        digest.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
        digest.update(array.tobytes())
