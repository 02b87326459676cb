"""Tells whether two models compute the same function from the same initial values."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import torch
from torch import Tensor

from ablate.models.build import build_model
from ablate.models.section import ModelSection
from ablate.tasks.task import Task

BATCH_SIZE = 32
MAX_TOKENS = 4096
"""Of the batch: long sequences are fewer, but two at least, which batch normalisation needs."""
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
    rows = max(2, min(BATCH_SIZE, MAX_TOKENS // task.signature.seq_len))
    batch = next(task.train_batches(0, rows, "cpu"))

    def logits(step: int) -> Tensor:
        model.start_step(step)
        out: Tensor = model(**batch.model_inputs())
        return out

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
