"""Initial values of parameters.

A model is built without memory and filled afterwards. A module that owns parameters or buffers has a method

    def initialise(self, draw: Draw) -> None: ...

which fills them in place, without gradients and on CPU; its children are filled before it. Each
parameter takes its random numbers from its own generator, `draw(name)`, so that models share the initial
values of all parameters that they have in common in name and shape. Modules of torch need no such method.
"""

from collections.abc import Callable

from torch import Generator, Tensor

Draw = Callable[[str], Generator]  # The generator of the parameter with this name in its module.


def fan_in_uniform(parameter: Tensor, fan_in: int, generator: Generator) -> None:
    """Fills a parameter in place with draws of `generator` from U(−1/√fan_in, 1/√fan_in), torch's range for a linear
    layer's weight; fan_in is the number of inputs, and 0 counts as 1.
    """
    bound = max(fan_in, 1) ** -0.5
    parameter.uniform_(-bound, bound, generator=generator)


def as_linear(weight: Tensor, bias: Tensor | None, fan_in: int, draw: Draw) -> None:
    """Fills a linear map's weight in place from U(−1/√fan_in, 1/√fan_in), by the generator `draw("weight")`, and its
    bias, if any, with zeros.

    Torch's range for a bias depends on the width of the input, which a bias of the same name and shape in another
    variant need not share.
    """
    fan_in_uniform(weight, fan_in, draw("weight"))
    if bias is not None:
        bias.zero_()
