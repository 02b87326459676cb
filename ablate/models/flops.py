"""What a forward pass costs, known without running it."""

from __future__ import annotations

import torch
from torch.utils.flop_counter import FlopCounterMode

from ablate.models.build import build_model
from ablate.signature import Signature
from ablate.study.sections.model import ModelSection


def forward_flops(section: ModelSection, signature: Signature) -> int:
    """Floating-point operations of the matrix products of one forward pass on one example of `seq_len`.

    A product of (n × m) and (m × p) counts 2·n·m·p; what is masked counts as well.
    """
    model = build_model(section, signature, device="meta").eval()
    inputs: dict[str, torch.Tensor | None] = {"inputs": _example(signature)}
    if signature.source is not None:
        inputs["source"] = _example(signature.source)
    if signature.num_segments is not None:
        inputs["segments"] = torch.empty(1, signature.seq_len, dtype=torch.long, device="meta")
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        model(**inputs)
    return counter.get_total_flops()


def _example(signature: Signature) -> torch.Tensor:
    if signature.vocab_size is not None:
        return torch.empty(1, signature.seq_len, dtype=torch.long, device="meta")
    return torch.empty(1, signature.seq_len, signature.num_features or 0, device="meta")
