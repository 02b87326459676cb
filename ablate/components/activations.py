"""Activations: the non-linearity of the feed-forward, element by element.

A gated one takes two tensors, a value and the gate that it is multiplied by; its feed-forward then has one more
map, and a narrower hidden layer.
"""

from collections.abc import Callable, Mapping
from typing import Annotated, ClassVar

import torch
from torch import Tensor
from torch.nn import functional as F

from ablate.base.registry import Stated, register
from ablate.components.sizes import NEUTRAL, Part, name_of


class Activation(Part):
    """Base of all activations: functions of each number x alone or, where `gated` is True, of each value x and its
    gate.
    """

    neutral: ClassVar[Annotated[bool, NEUTRAL]]
    gated: ClassVar[Annotated[bool, Stated("whether it takes a value and a gate")]]
    function: Callable[[Tensor], Tensor]
    "The function of x or of the gate; an activation that has parameters overrides `forward` instead."

    def forward(self, x: Tensor, gate: Tensor | None = None) -> Tensor:
        """Returns `function(x)`, or `function(gate) · x` where a gate is given; x, gate and result have one shape."""
        return self.function(x) if gate is None else self.function(gate) * x

    def beside(self, queries: int, keys: int) -> Mapping[str, int]:
        """Returns {NAME: queries}, NAME the activation's own: here `queries` is how many numbers go through the
        function, positions times hidden units; `keys` is not read.
        """
        return {name_of(type(self)): queries}


@register("activation", "relu")
class ReLU(Activation):
    """max(0, x) (Nair and Hinton 2010)."""

    neutral = True
    gated = False
    function = staticmethod(F.relu)


@register("activation", "gelu")
class GELU(Activation):
    """x Φ(x) with the exact normal distribution function Φ (Hendrycks and Gimpel 2016)."""

    neutral = True
    gated = False
    function = staticmethod(F.gelu)


@register("activation", "silu")
class SiLU(Activation):
    """x σ(x) (Elfwing et al. 2018)."""

    neutral = True
    gated = False
    function = staticmethod(F.silu)


@register("activation", "tanh")
class Tanh(Activation):
    """tanh(x)."""

    neutral = True
    gated = False
    function = staticmethod(torch.tanh)


@register("activation", "sigmoid")
class Sigmoid(Activation):
    """σ(x) = 1 / (1 + e^{−x})."""

    neutral = True
    gated = False
    function = staticmethod(torch.sigmoid)


@register("activation", "identity")
class Identity(Activation):
    """x: no non-linearity."""

    neutral = True
    gated = False
    function = staticmethod(lambda x: x)

    def beside(self, queries: int, keys: int) -> Mapping[str, int]:
        """Returns {}: no number goes through a function."""
        return {}


@register("activation", "geglu")
class GEGLU(Activation):
    """GELU(gate) · value (Shazeer 2020, equation 5)."""

    neutral = True
    gated = True
    function = staticmethod(F.gelu)

    def beside(self, queries: int, keys: int) -> Mapping[str, int]:
        """Returns {"gelu": queries}: `queries` numbers, those of the gate, go through GELU; `keys` does not count."""
        return {name_of(GELU): queries}


@register("activation", "swiglu")
class SwiGLU(Activation):
    """SiLU(gate) · value, with SiLU(x) = x σ(x), Swish of β = 1 (Shazeer 2020, equation 5)."""

    neutral = True
    gated = True
    function = staticmethod(F.silu)

    def beside(self, queries: int, keys: int) -> Mapping[str, int]:
        """Returns {"silu": queries}: `queries` numbers, those of the gate, go through SiLU; `keys` does not count."""
        return {name_of(SiLU): queries}
