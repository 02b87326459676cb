"""Optimizers: gradients → update of the parameters; the bound of gradients, and weight decay.

Decay is the same for every optimizer; the caller excludes norms and biases.

decoupled   w ← w − lr·λ·w − update    (Loshchilov and Hutter 2019, as in AdamW)
l2          g + 2λw, the gradient of loss + λ‖w‖², is clipped and passed to the optimizer

They call torch's fused kernels, by far the fastest way for small models, without its `Optimizer` class, whose first
instance in a process takes over a second to import torch's compiler. These kernels are private to torch: where
one is missing or takes other arguments, the functions of `torch.optim` do the same more slowly.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, assert_never

import torch
from pydantic import Field, PositiveFloat
from torch import Tensor
from torch.optim.adamw import adamw
from torch.optim.sgd import sgd

from ablate.base.errors import Invalid
from ablate.base.registry import OnOff, PartConfig, register

# Errors of a call to a kernel that this version of torch does not have, or not with these arguments.
NO_KERNEL = (AttributeError, TypeError)

Momentum = Annotated[float, Field(ge=0, lt=1)]


class Optimizer(ABC):
    """A rule that updates parameters: a part of the slot `optimizer`, built from `config` and `parameters`.

    Its other attributes hold the state that changes from step to step: tensors, numbers, and lists of them.
    """

    @abstractmethod
    def step(self, lr: float) -> None:
        """Updates the parameters in place from their `.grad`, at learning rate `lr`; those without a gradient stay."""

    def state(self) -> dict[str, Any]:
        """Returns all attributes except `config` and `parameters`, name → value, for `load`. The tensors are not
        copied: the next step changes them.
        """
        return {name: value for name, value in vars(self).items() if name not in ("config", "parameters")}

    def load(self, state: Mapping[str, Any]) -> None:
        """Sets the attributes that `state` holds, without copying them. `state` must come from an optimizer with the
        same config, parameters and device, which is not checked.
        """
        vars(self).update(state)


@register("optimizer", "adamw")
class AdamW(Optimizer):
    """Adam (Kingma and Ba 2015); with `decay: decoupled` AdamW (Loshchilov and Hutter 2019).

    m ← β₁m + (1 − β₁)g, v ← β₂v + (1 − β₂)g², w ← w − lr · m̂ / (√v̂ + eps), with m̂ = m / (1 − β₁ᵗ) and
    v̂ = v / (1 − β₂ᵗ) at the t-th update.
    """

    class Config(PartConfig):
        beta1: Momentum = 0.9
        "β₁, decay of the mean of gradients."
        beta2: Momentum = 0.999
        "β₂, decay of the mean of squared gradients."
        eps: PositiveFloat = 1e-8
        "Added to the root in the denominator."

    def __init__(self, config: Config, parameters: Sequence[Tensor]) -> None:
        self.config = config
        self.parameters = list(parameters)
        # Not `zeros_like`, which on the meta device imports torch's compiler.
        self.means = [parameter.new_zeros(parameter.shape) for parameter in self.parameters]
        self.squares = [parameter.new_zeros(parameter.shape) for parameter in self.parameters]
        # One tensor for all counts, so that counting is one operation; the kernel reads them one by one.
        device = self.parameters[0].device if self.parameters else None
        self.updates = torch.zeros(len(self.parameters), device=device)

    @torch.no_grad()
    def step(self, lr: float) -> None:
        """Updates in place each parameter that has a gradient, with its means and its count of updates; the others
        stay. Weight decay is not applied here.
        """
        chosen, gradients = _with_gradient(self.parameters)
        if not chosen:
            return
        if len(chosen) == len(self.parameters):
            self.updates += 1
        else:
            self.updates[chosen] += 1
        counts = self.updates.unbind()
        parameters = [self.parameters[i] for i in chosen]
        means = [self.means[i] for i in chosen]
        squares = [self.squares[i] for i in chosen]
        updates = [counts[i] for i in chosen]
        options: dict[str, Any] = {
            "lr": lr,
            "beta1": self.config.beta1,
            "beta2": self.config.beta2,
            "weight_decay": 0.0,
            "eps": self.config.eps,
            "amsgrad": False,
            "maximize": False,
        }
        try:
            torch._fused_adamw_(parameters, gradients, means, squares, [], updates, **options)
        except NO_KERNEL:
            # This function counts the update itself.
            before = [count - 1 for count in updates]
            adamw(parameters, gradients, means, squares, [], before, foreach=False, fused=False, **options)


@register("optimizer", "sgd")
class SGD(Optimizer):
    """Gradient descent: b ← momentum · b + g, w ← w − lr · b; nesterov: w ← w − lr · (g + momentum · b).
    b begins as the first gradient; the constructor raises `Invalid` for nesterov without momentum.
    """

    class Config(PartConfig):
        momentum: Momentum = 0.0
        "Share of the previous update that is kept; b starts as the first gradient."
        nesterov: OnOff = False
        "Looks ahead by the momentum (Sutskever et al. 2013)."

    def __init__(self, config: Config, parameters: Sequence[Tensor]) -> None:
        if config.nesterov and config.momentum == 0:
            raise Invalid(
                "momentum", "must be positive with nesterov on", config.momentum, "above 0, below 1"
            )
        self.config = config
        self.parameters = list(parameters)
        self.velocities: list[Tensor | None] = [None] * len(self.parameters)

    @torch.no_grad()
    def step(self, lr: float) -> None:
        """Updates in place each parameter that has a gradient, and its momentum buffer b; the others stay.

        Weight decay is not applied here.
        """
        try:
            self._update(lr, fused=True)
        except NO_KERNEL:
            self._update(lr, fused=False)

    def _update(self, lr: float, *, fused: bool) -> None:
        """Updates each parameter that has a gradient, and its momentum buffer, by torch's fused kernel or, where
        `fused` is False, by torch's plain function.
        """
        chosen, gradients = _with_gradient(self.parameters)
        velocities = [self.velocities[i] for i in chosen]
        sgd(
            [self.parameters[i] for i in chosen],
            gradients,
            velocities,
            foreach=False,
            fused=fused,
            weight_decay=0.0,
            momentum=self.config.momentum,
            lr=lr,
            dampening=0.0,
            nesterov=self.config.nesterov,
            maximize=False,
        )
        for i, velocity in zip(chosen, velocities, strict=True):
            self.velocities[i] = velocity


def _with_gradient(parameters: Sequence[Tensor]) -> tuple[list[int], list[Tensor]]:
    """Returns the indices of the parameters that have a gradient, and their gradients in the same order."""
    gradients = {}
    for i, parameter in enumerate(parameters):
        if parameter.grad is not None:
            gradients[i] = parameter.grad
    return list(gradients), list(gradients.values())


@torch.no_grad()
def clip_gradients(parameters: Sequence[Tensor], max_norm: float | None) -> Tensor:
    """Scales the gradients of all parameters in place to a joint 2-norm of at most `max_norm`; None leaves them as they
    are. Returns the norm before scaling, a scalar tensor on their device. At least one parameter must have a gradient.
    """
    gradients = [p.grad for p in parameters if p.grad is not None]
    norm = torch.linalg.vector_norm(torch.cat([g.flatten() for g in gradients]))
    # On CPU the comparison is free; elsewhere it would wait for the device.
    if max_norm is not None and (norm.device.type != "cpu" or not norm <= max_norm):
        torch._foreach_mul_(gradients, (max_norm / norm).clamp(max=1.0))
    return norm


class WeightDecay:
    """Weight decay of the parameters `decayed` that have a gradient: by `add_gradient` for `l2`, by `shrink` for
    `decoupled`.

    The method of the other kind does nothing. `ablate.training.optimizers` gives the formulas.
    """

    def __init__(self, kind: Literal["decoupled", "l2"], strength: float, decayed: Sequence[Tensor]) -> None:
        """Takes the kind of decay, its strength λ, where 0 means no decay, and the parameters that decay."""
        self.strength = strength
        self._by_gradient: Sequence[Tensor] = ()
        self._by_shrinking: Sequence[Tensor] = ()
        if not strength:
            return
        match kind:
            case "l2":
                self._by_gradient = decayed
            case "decoupled":
                self._by_shrinking = decayed
            case _:
                assert_never(kind)

    @torch.no_grad()
    def add_gradient(self) -> None:
        """Adds 2λw in place to the gradient of each decayed parameter w where the kind is `l2`; else does nothing.

        It is called between the backward pass and clipping.
        """
        for parameter in self._by_gradient:
            if parameter.grad is not None:
                parameter.grad.add_(parameter, alpha=2 * self.strength)

    @torch.no_grad()
    def shrink(self, lr: float) -> None:
        """Subtracts lr·λ·w in place from each decayed parameter w that has a gradient where the kind is `decoupled`;
        else does nothing.

        It is called just before the optimizer's step.
        """
        decayed = [parameter for parameter in self._by_shrinking if parameter.grad is not None]
        if decayed:
            torch._foreach_mul_(decayed, 1 - lr * self.strength)
