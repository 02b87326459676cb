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
from ablate.components.initial import Draw, as_linear
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
    """Returns the model of a section for tasks of a signature, on `device`, with the initial values of `seed`. Raises
    `Invalid` where settings of the section do not fit one another or the task.

    The paths of the problems begin at the section. `stream` names other initialisation and dropout streams under the
    same seed (a placebo). On the meta device the model has shapes and no values. Initial values do not depend on the
    device, and nothing is drawn from torch's global generator.
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
    """Torch function mode in which the functions of `torch.nn.init` return their tensor unchanged: nothing is drawn."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if getattr(func, "__module__", "") == nn.init.__name__:
            return kwargs["tensor"]
        return func(*args, **(kwargs or {}))


@torch.no_grad()
def initialise(model: nn.Module, seed: int, stream: str = "") -> None:
    """Fills every parameter and buffer of a model on CPU in place, each parameter from a random stream of its own.
    Raises `AblateError` where a module has tensors and no way to fill them, or leaves NaN in one of its tensors.

    A stream is named by the path of its parameter; a module that has `reset_parameters` alone has one for all of its
    parameters. `stream` names other initial values under the same seed. Children come before their parents, so that a
    parent can change their values, as in torch's constructors.
    """
    modules = list(model.named_modules())
    for path, module in reversed(modules):
        _fill(module, path, seed, stream)
    for path, module in modules:
        tensors = tensors_of(module, recurse=False)
        unset = [name for name, tensor in tensors.items() if tensor.isnan().any()]
        if unset:
            raise _without_values(path, module, unset)


def _fill(module: nn.Module, path: str, seed: int, stream: str) -> None:
    """Fills the tensors of one module in place, without its children's.
    Raises `AblateError` where it has tensors and no way to fill them.
    """
    # The contract of `ablate.components.initial` is a method of this name; torch's own modules have a reset instead.
    fill: Any = getattr(module, "initialise", None)
    if fill is not None:
        fill(_draw_at(path, seed, stream))
        return
    if isinstance(module, nn.Linear):
        as_linear(module.weight, module.bias, module.in_features, _draw_at(path, seed, stream))
        return
    reset: Any = getattr(module, "reset_parameters", None) or getattr(module, "_reset_parameters", None)
    if reset is not None:
        # Torch's own modules draw from the global generator, which is seeded for them and then restored.
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(stream_seed(seed, "init", stream, path))
            reset()
        return
    tensors = tensors_of(module, recurse=False)
    if tensors:
        raise _without_values(path, module, tensors)


def _draw_at(path: str, seed: int, stream: str) -> Draw:
    """Returns a function from the name of a parameter, in the module at `path`, to that parameter's own random
    generator on CPU.
    """

    def draw(name: str) -> torch.Generator:
        """Returns a new generator for the parameter `name`; the generators of all calls with one name draw the same
        numbers.
        """
        return torch_stream(seed, "init", stream, f"{path}.{name}" if path else name)

    return draw


def tensors_of(module: nn.Module, recurse: bool = True) -> dict[str, Tensor]:
    """Returns a new dict from name to tensor of all parameters and buffers, also those that `state_dict` leaves out.

    Names are paths in the module; with `recurse` False it has those of the module itself alone.
    """
    return dict(module.named_parameters(recurse=recurse)) | dict(module.named_buffers(recurse=recurse))


def _without_values(path: str, module: nn.Module, names: Iterable[str]) -> AblateError:
    """Returns, and does not raise, an `AblateError` which says that the tensors `names` of a module have no initial
    values.
    """
    where = f"{type(module).__name__} at {path or 'the root'}"
    return AblateError(
        f"{where}: has tensors without initial values: {listed(names)}; "
        "set them in `initialise(draw)` (see ablate.components.initial) or `reset_parameters()`"
    )


@torch.no_grad()
def materialise(model: nn.Module) -> None:
    """Replaces all parameters and buffers of a model on the meta device, in place, by tensors on CPU that are filled
    with NaN, or with 0 where the dtype is not floating-point. Shared parameters stay shared.
    """
    replacements: dict[Tensor, Tensor] = {}
    for module in model.modules():
        parameters = module.named_parameters(recurse=False, remove_duplicate=False)
        buffers = module.named_buffers(recurse=False)
        for name, tensor in [*parameters, *buffers]:
            if tensor not in replacements:
                replacements[tensor] = _on_cpu(tensor)
            setattr(module, name, replacements[tensor])


def _on_cpu(tensor: Tensor) -> Tensor:
    """Returns a new tensor on CPU with the shape and dtype of `tensor`, filled with NaN, or with 0 where the dtype is
    not floating-point; a `Parameter` becomes a `Parameter`.
    """
    fill = torch.nan if tensor.is_floating_point() else 0
    # Neither `to_empty` nor `empty_like`, which would import torch's compiler for a tensor on meta.
    values = torch.full(tensor.shape, fill, dtype=tensor.dtype)
    if isinstance(tensor, nn.Parameter):
        return nn.Parameter(values, tensor.requires_grad)
    return values
