"""Which part of a model a parameter belongs to."""

from __future__ import annotations

from collections import Counter

from torch import nn

PARTS = {
    "embedding": "embedding",
    "position": "position",
    "mixer": "mixer",
    "feedforward": "feedforward",
    "cross": "cross",
    "mixer_norm": "norm",
    "cross_norm": "norm",
    "feedforward_norm": "norm",
    "mixer_norm_after": "norm",
    "cross_norm_after": "norm",
    "feedforward_norm_after": "norm",
    "source_embedding": "embedding",
    "segment_embedding": "embedding",
    "source_position": "position",
    "norm": "norm",
    "output": "output",
}
"""Step of a parameter's path → part; the first step that is listed counts."""

TORCH_NORMS = (nn.LayerNorm, nn.RMSNorm, nn.GroupNorm, nn.modules.batchnorm._NormBase)


def parameters_by_part(model: nn.Module) -> dict[str, int]:
    """Number of trainable parameters by part, in the order of the model; parts without any are left out."""
    counts: Counter[str] = Counter()
    for path, parameter in model.named_parameters():
        part = next((PARTS[step] for step in path.split(".") if step in PARTS), "other")
        counts[part] += parameter.numel() if parameter.requires_grad else 0
    return {part: count for part, count in counts.items() if count}


def decay_groups(model: nn.Module) -> tuple[list[nn.Parameter], list[nn.Parameter]]:
    """Parameters that weight decay acts on, and those exempt from it: of norms, biases, logarithms of scales."""
    exempt_ids = set()
    for module in model.modules():
        norm = getattr(module, "slot", None) == "norm" or isinstance(module, TORCH_NORMS)
        for name, parameter in module.named_parameters(recurse=norm):
            own = name.rpartition(".")[2]
            if norm or "bias" in own or own.startswith("log_"):
                exempt_ids.add(id(parameter))
    parameters = list(model.parameters())
    decayed = [p for p in parameters if id(p) not in exempt_ids]
    return decayed, [p for p in parameters if id(p) in exempt_ids]
