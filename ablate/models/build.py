"""From a study's `model:` section to a model, filled with one random stream per parameter path.

`ablate.components.initial` says how a module takes part.
"""

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from ablate.base.errors import AblateError, listed
from ablate.base.streams import stream_seed, torch_stream
from ablate.components.initial import as_linear
from ablate.core.signature import Signature
from ablate.models.model import Model
from ablate.models.section import ModelSection


def build_model(
    section: ModelSection,
    signature: Signature,
    *,
    seed: int = 0,
    stream: str = "",
    device: str | torch.device = "cpu",
) -> Model:
    """The model of `section` for tasks of `signature`, with the initial values of `seed`.

    `stream` names other initialisation and dropout streams under the same seed (a placebo). On the meta
    device the model has shapes and no values. Initial values do not depend on the device, and nothing is
    drawn from torch's global generator.

    Raises `Invalid` with all size rules that fail, with paths from the section.
    """
    device = torch.device(device)
    with torch.device("meta"), _Unfilled():
        model = Model(section, signature, seed, stream)
    if device.type == "meta":
        return model
    materialise(model)
    initialise(model, seed, stream)
    model.to(device)
    model.start_step(0)
    return model


class _Unfilled(TorchFunctionMode):
    """Torch's modules begin without the values that they would draw."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if getattr(func, "__module__", "") == nn.init.__name__:
            return kwargs["tensor"]
        return func(*args, **(kwargs or {}))


@torch.no_grad()
def initialise(model: nn.Module, seed: int, stream: str = "") -> None:
    """Fills every parameter and buffer of `model`, which is on CPU, from the streams of its path.

    `stream` names other initial values under the same seed. Children come before their parents, so that a
    parent can change their values, as in torch's constructors. Raises `AblateError` when a tensor is left without
    a value: one that is NaN, or whose module has no way to set it.
    """
    for path, module in reversed(list(model.named_modules())):

        def draw(name: str, path: str = path) -> torch.Generator:
            return torch_stream(seed, "init", stream, f"{path}.{name}" if path else name)

        if hasattr(module, "initialise"):
            module.initialise(draw)
        elif isinstance(module, nn.Linear):
            as_linear(module.weight, module.bias, module.in_features, draw)
        elif reset := getattr(module, "reset_parameters", None) or getattr(module, "_reset_parameters", None):
            # Torch's own modules draw from the global generator, which is seeded for them and then restored.
            with torch.random.fork_rng(devices=[]):
                torch.default_generator.manual_seed(stream_seed(seed, "init", stream, path))
                reset()
        elif tensors := tensors_of(module, recurse=False):
            raise _without_values(path, module, tensors)
    for path, module in model.named_modules():
        if unset := [
            name for name, tensor in tensors_of(module, recurse=False).items() if tensor.isnan().any()
        ]:
            raise _without_values(path, module, unset)


def tensors_of(module: nn.Module, recurse: bool = True) -> dict[str, Tensor]:
    """Parameters and all buffers, those included that are left out of kept weights."""
    return dict(module.named_parameters(recurse=recurse)) | dict(module.named_buffers(recurse=recurse))


def _without_values(path: str, module: nn.Module, names: Iterable[str]) -> AblateError:
    where = f"{type(module).__name__} at {path or 'the root'}"
    return AblateError(
        f"{where}: has tensors without initial values: {listed(names)}; "
        "set them in `initialise(draw)` (see ablate.components.initial) or `reset_parameters()`"
    )


@torch.no_grad()
def materialise(model: nn.Module) -> None:
    """Gives a model on the meta device memory on CPU, filled with NaN; shared parameters stay shared."""
    made: dict[Tensor, Tensor] = {}
    for module in model.modules():
        parameters = module.named_parameters(recurse=False, remove_duplicate=False)
        for name, tensor in [*parameters, *module.named_buffers(recurse=False)]:
            # Neither `to_empty` nor `empty_like`, which would import torch's compiler for a tensor on meta.
            nothing = torch.nan if tensor.is_floating_point() else 0
            values = torch.full(tensor.shape, nothing, dtype=tensor.dtype)
            if isinstance(tensor, nn.Parameter):
                values = nn.Parameter(values, tensor.requires_grad)
            setattr(module, name, made.setdefault(tensor, values))
