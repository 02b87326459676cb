"""A model's weights as bytes in the safetensors format, and back."""

from __future__ import annotations

import json
from collections.abc import Mapping

import torch
from safetensors.torch import load, save
from torch import Tensor, nn


def packed(model: nn.Module) -> bytes:
    """Parameters and persistent buffers by their path.

    A tensor that several paths share is kept under the first; the metadata's `shared` gives, in JSON, that path for
    each of the others. One entry, since the format writes several in no fixed order.
    """
    tensors: dict[str, Tensor] = {}
    paths: dict[tuple[int, int, torch.Size], str] = {}
    shared: dict[str, str] = {}
    for path, tensor in model.state_dict().items():
        place = (tensor.data_ptr(), tensor.storage_offset(), tensor.shape)
        first = paths.setdefault(place, path) if tensor.numel() else path
        if first == path:
            tensors[path] = tensor.detach().cpu().contiguous()
        else:
            shared[path] = first
    return save(tensors, metadata={"shared": json.dumps(shared)})


def unpack(content: bytes, model: nn.Module) -> None:
    """Puts kept weights into a model of the same config; raises `ValueError` when they belong to another."""
    tensors: Mapping[str, Tensor] = load(content)
    missing, unexpected = model.load_state_dict(tensors, strict=False)
    # A shared tensor is kept under one of its paths.
    places = model.state_dict(keep_vars=True)
    given = {id(places[path]) for path in tensors if path in places}
    missing = [path for path in missing if id(places[path]) not in given]
    if missing or unexpected:
        raise ValueError(f"these are another model's weights; missing: {missing}, unexpected: {unexpected}")
