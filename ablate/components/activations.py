"""Activations: the non-linearity of the feed-forward, element by element.

A gated one takes two tensors, a value and the gate that it is multiplied by; its feed-forward then has one more
map, and a narrower hidden layer.
"""

from collections.abc import Callable, Mapping
from typing import ClassVar

import torch
from torch import Tensor
from torch.nn import functional as F

from ablate.base.registry import register
from ablate.components.sizes import Part


class Activation(Part):
    """Base of all activations."""

    neutral = True
    gated: ClassVar[bool] = False
    "Whether it takes a value and a gate."
    function: Callable[[Tensor], Tensor]
    "The function of x or of the gate; an activation that has parameters overrides `forward` instead."

    def forward(self, x: Tensor, gate: Tensor | None = None) -> Tensor:
        """`function(x)`, or `function(gate) · x` with a gate; x and gate have one shape, which the result keeps."""
        return self.function(x) if gate is None else self.function(gate) * x

    def beside(self, queries: int, keys: int) -> Mapping[str, int]:
        """See `Part.beside`; `queries` numbers go through the function, named as the part that defines it."""
        of = next((part for part in type(self).__mro__ if "function" in vars(part)), type(self))
        return {getattr(of, "name", of.__name__): queries}


@register("activation", "relu")
class ReLU(Activation):
    """max(0, x) (Nair and Hinton 2010)."""

    function = staticmethod(F.relu)


@register("activation", "gelu")
class GELU(Activation):
    """x Φ(x) with the exact normal distribution function Φ (Hendrycks and Gimpel 2016)."""

    function = staticmethod(F.gelu)


@register("activation", "silu")
class SiLU(Activation):
    """x σ(x) (Elfwing et al. 2018)."""

    function = staticmethod(F.silu)


@register("activation", "tanh")
class Tanh(Activation):
    """tanh(x)."""

    function = staticmethod(torch.tanh)


@register("activation", "sigmoid")
class Sigmoid(Activation):
    """σ(x) = 1 / (1 + e^{−x})."""

    function = staticmethod(torch.sigmoid)


@register("activation", "identity")
class Identity(Activation):
    """x: no non-linearity."""

    function = staticmethod(lambda x: x)

    def beside(self, queries: int, keys: int) -> Mapping[str, int]:
        return {}


@register("activation", "geglu")
class GEGLU(GELU):
    """GELU(gate) · value (Shazeer 2020, equation 5)."""

    gated = True


@register("activation", "swiglu")
class SwiGLU(SiLU):
    """SiLU(gate) · value, with SiLU(x) = x σ(x), Swish of β = 1 (Shazeer 2020, equation 5)."""

    gated = True
