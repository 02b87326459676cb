"""Greedy decoding: the likeliest token, then the likeliest after it, and so on."""

from __future__ import annotations

import torch
from torch import Tensor

from ablate.base.errors import Gather
from ablate.base.registry import CATALOGUE
from ablate.models.model import Model, evaluating


@torch.no_grad()
def greedy(
    model: Model,
    prompt_bt: Tensor,
    length: int,
    source: Tensor | None = None,
    source_mask: Tensor | None = None,
    *,
    end: int = -1,
) -> Tensor:
    """The tokens (B, ≤ length) that follow the prompt (B, T), each the arg max of its logits.

    After `end` a sequence repeats it; decoding stops when all sequences have ended. `source` and `source_mask` are
    as in `Model.forward`. Every token is read once, and so is the source. Runs in evaluation mode, without gradients;
    the model's mode is restored. Raises `Invalid` for a model that does not predict the next token, and `ValueError`
    where a part ends at max_len.
    """
    _check(model, prompt_bt, length)
    with evaluating(model):
        memory = None if model.source_embedding is None else model.encode(source, source_mask)
        tokens_bt, begun, state = prompt_bt, prompt_bt.shape[1], None
        for start in range(begun + length - 1):
            logits, state = model.step(tokens_bt[:, start : start + 1], start, state, memory)
            if start + 1 < begun:
                continue
            ended_b1 = (tokens_bt[:, begun:] == end).any(1, keepdim=True)
            if ended_b1.all():
                break
            next_b1 = logits.argmax(-1, keepdim=True).masked_fill(ended_b1, end)
            tokens_bt = torch.cat([tokens_bt, next_b1], 1)
        return tokens_bt[:, begun:]


def _check(model: Model, prompt_bt: Tensor, length: int) -> None:
    signature = model.signature
    with Gather() as at:
        causal = ", ".join(CATALOGUE.able("topology", "causal"))
        at.refuse(
            not model.stack.causal, "model.topology", "must be causal to be decoded", model.stack.name, causal
        )
        at.refuse(
            model.segment_embedding is not None,
            "model.embedding.segment",
            "has no segments for tokens that are yet to come",
            "on",
            "off",
        )
        at.refuse(
            signature.readout != "all",
            "signature.readout",
            "must give logits at every position for the next token",
            signature.readout,
            "a task with readout `all`",
        )
        vocab_size = signature.vocab_size or 0
        at.refuse(
            signature.num_outputs > vocab_size,
            "signature.num_outputs",
            f"must be among the {vocab_size or 'no'} input tokens, since outputs become inputs",
            signature.num_outputs,
            f"at most {vocab_size}",
        )
        at.refuse(
            prompt_bt.ndim != 2 or not prompt_bt.shape[1],
            "prompt_bt",
            "must begin every sequence",
            tuple(prompt_bt.shape),
            "(B, T) with T ≥ 1",
        )
        at.refuse(length < 1, "length", "must be positive", length, "at least 1")
