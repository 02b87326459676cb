"""Greedy decoding: the likeliest token, then the likeliest after it, and so on."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from ablate.base.errors import Gather
from ablate.base.registry import CATALOGUE
from ablate.components.mixer import Mixer
from ablate.models.memory import Memory
from ablate.models.model import Model

NextLogits = Callable[[Tensor], Tensor]
"""Tokens so far (B, T) → logits (B, V) of the next; each call has one token more than the last."""


@torch.no_grad()
def greedy(
    model: Model,
    prompt_bt: Tensor,
    length: int,
    *,
    source: Tensor | None = None,
    source_mask: Tensor | None = None,
    end: int | None = None,
    incremental: bool = True,
) -> Tensor:
    """The tokens (B, ≤ length) that follow the prompt (B, T), each the arg max of its logits.

    A sequence that has produced `end` stays there; decoding stops when all have. `source` and `source_mask` are
    as in `Model.forward`. `incremental` keeps what the model has read of the tokens so far, and encodes the
    source once; otherwise every token costs a pass over all before it. Runs in evaluation mode, without
    gradients; the model's mode is restored. Raises `Invalid` for what cannot be decoded.
    """
    _check(model, prompt_bt, length)
    was_training = model.training
    model.eval()
    try:
        if incremental:
            memory = None if model.source_embedding is None else model.encode(source, source_mask)
            next_logits = _stepping(model, memory)
        else:
            next_logits = _recomputing(model, source, source_mask)
        return _continue(next_logits, prompt_bt, length, end)
    finally:
        model.train(was_training)


def _continue(next_logits: NextLogits, prompt_bt: Tensor, length: int, end: int | None) -> Tensor:
    tokens_bt = prompt_bt
    ended_b1 = torch.zeros_like(prompt_bt[:, :1], dtype=torch.bool)
    for _ in range(length):
        next_b1 = next_logits(tokens_bt).argmax(-1, keepdim=True)
        if end is not None:
            next_b1 = next_b1.masked_fill(ended_b1, end)
            ended_b1 = next_b1 == end
        tokens_bt = torch.cat([tokens_bt, next_b1], 1)
        if ended_b1.all():
            break
    return tokens_bt[:, prompt_bt.shape[1] :]


def _stepping(model: Model, memory: Memory | None) -> NextLogits:
    seen, state = 0, None

    def next_logits(tokens_bt: Tensor) -> Tensor:
        nonlocal seen, state
        for start in range(seen, tokens_bt.shape[1]):
            logits, state = model.step(tokens_bt[:, start : start + 1], start, state, memory)
        seen = tokens_bt.shape[1]
        return logits

    return next_logits


def _recomputing(model: Model, source: Tensor | None, source_mask: Tensor | None) -> NextLogits:
    def next_logits(tokens_bt: Tensor) -> Tensor:
        logits: Tensor = model(tokens_bt, None, source, source_mask)
        return logits[:, -1]

    return next_logits


def _check(model: Model, prompt_bt: Tensor, length: int) -> None:
    """Refuses models that do not predict the next token, and lengths that a part does not reach."""
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
        # The last token that is decoded is never read.
        room = signature.seq_len - prompt_bt.shape[-1] + 1
        for slot, name in _ending(model)[:1]:
            able = CATALOGUE.able(slot, "any_length", silent=True)
            at.refuse(
                length > room,
                "length",
                f"goes beyond max_len = {signature.seq_len}, where {slot} {name} ends",
                length,
                f"at most {max(room, 0)} after a prompt of {prompt_bt.shape[-1]}",
                f"For any length choose {slot} {', '.join(able)}",
            )


def _ending(model: Model) -> list[tuple[str, str]]:
    """Slot and name of the parts that read what is decoded and do not reach beyond max_len."""
    parts = [model.position]
    for path, module in model.stack.named_modules():
        if isinstance(module, Mixer) and not path.startswith("encoder."):
            parts.append(module)
    return [(part.slot, part.name) for part in parts if not getattr(part, "any_length", True)]
