"""Greedy decoding: the likeliest token, then the likeliest after it, and so on."""

from __future__ import annotations

import torch
from torch import Tensor

from ablate.base.errors import Gather
from ablate.base.registry import CATALOGUE
from ablate.components.mixer import Mixer
from ablate.models.model import Model


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

    After `end` a sequence repeats it; decoding stops when all sequences have ended. `source` and `source_mask` are
    as in `Model.forward`. `incremental` keeps what the model has read of the tokens so far, and encodes the
    source once; otherwise every token costs a pass over all before it. Runs in evaluation mode, without
    gradients; the model's mode is restored. Raises `Invalid` for what cannot be decoded.
    """
    _check(model, prompt_bt, length)
    was_training = model.training
    model.eval()
    try:
        memory = state = None
        if incremental and model.source_embedding is not None:
            memory = model.encode(source, source_mask)
        tokens_bt, seen = prompt_bt, 0
        ended_b1 = torch.zeros_like(prompt_bt[:, :1], dtype=torch.bool)
        for _ in range(length):
            if incremental:
                for start in range(seen, tokens_bt.shape[1]):
                    logits, state = model.step(tokens_bt[:, start : start + 1], start, state, memory)
                seen = tokens_bt.shape[1]
            else:
                logits = model(tokens_bt, None, source, source_mask)[:, -1]
            next_b1 = logits.argmax(-1, keepdim=True)
            if end is not None:
                next_b1 = next_b1.masked_fill(ended_b1, end)
                ended_b1 = next_b1 == end
            tokens_bt = torch.cat([tokens_bt, next_b1], 1)
            if ended_b1.all():
                break
        return tokens_bt[:, prompt_bt.shape[1] :]
    finally:
        model.train(was_training)


def _check(model: Model, prompt_bt: Tensor, length: int) -> None:
    """Refuses models that do not predict the next token, and lengths beyond what a part supports."""
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
    """Slot and name of the parts that read decoded tokens and do not support lengths beyond max_len."""
    modules = model.stack.named_modules()
    mixers = [m for path, m in modules if isinstance(m, Mixer) and not path.startswith("encoder.")]
    parts = [model.position, *mixers]
    return [(part.slot, part.name) for part in parts if not getattr(part, "any_length", True)]
