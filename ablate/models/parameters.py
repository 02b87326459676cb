"""Which part of a model a parameter belongs to."""

from __future__ import annotations

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
