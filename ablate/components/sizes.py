"""The base of the parts that a model is built from, and the sizes and parameters that they are built with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from torch import nn

from ablate.base.errors import Invalid
from ablate.base.registry import PartConfig, Stated
from ablate.components.layers import Dropout


def divisors(number: int) -> str:
    """Returns the divisors of a number in one text: `1, 2, 3, 6` for 6."""
    return ", ".join(str(n) for n in range(1, number + 1) if number % n == 0)


def check_even(field: str, value: int, rule: str) -> None:
    """Raises `Invalid` where `value` is odd, with `field`, `rule` and the nearest even numbers above 0."""
    if value % 2:
        raise Invalid(field, rule, value, f"{value - 1}, {value + 1}" if value > 1 else "2")


@dataclass(frozen=True)
class Sizes:
    """What a part is built from beside its config: widths, heads, length, causality, padding and dropout rates of the
    model around it.
    """

    d_model: int  # D, width of the residual stream.
    max_len: int  # Longest sequence the model is trained on.
    causal: bool = False  # Whether a position sees only itself and earlier ones.
    padded: bool = False  # Whether sequences may have padding, which no query may attend to.
    num_heads: int = 1  # H, inside attention; of a value, the heads that it has.
    num_kv_heads: int = 1  # Heads of keys and values, inside attention.
    # Query width of one head, inside attention; that of keys unless the score joins other widths.
    d_q: int = 0
    d_k: int = 0  # Key width of one head, inside attention.
    d_v: int = 0  # Value width of one head, inside attention.
    splits: int = 1  # Number of shares of the features; each group of a value's heads reads one of them.
    bias: bool = False  # Whether projections have a bias, inside attention.
    source: Sizes | None = None  # Sizes of the stack that encodes the source, in a model that reads one.
    # Rates by placement; a part makes its own sites: `sizes.dropout_at("attention_weights")`.
    dropout: Mapping[str, float] = field(default_factory=dict)

    def dropout_at(self, placement: str) -> Dropout:
        """Makes a `Dropout` at the rate that the field `dropout` has for `placement`, such as `attention_weights`, or
        at rate 0 for a placement that the field lacks.
        """
        return Dropout(self.dropout.get(placement, 0.0), placement)


# The mark of `Part.neutral` in slots whose built-in parts are all neutral.
NEUTRAL = Stated("whether it leaves matrix products and dependencies as they are")


class Part(nn.Module):
    """Base of the modules that a study can swap, each built from its config and the sizes of the model around it."""

    name: ClassVar[str] = ""
    "The name under which it is registered; empty where it is not."
    begins_unlike: ClassVar[str] = ""
    """The reason why its initial output is not, within a factor of two, of the scale of its slot's default part, as a
    clause; empty where it is."""
    neutral: ClassVar[bool] = False
    """Whether another part in its place leaves the matrix products of a model, and what its outputs depend on in
    evaluation mode, as they are. Only parts of this package are taken at their word."""

    def __init__(self, config: PartConfig, sizes: Sizes) -> None:
        super().__init__()
        self.sizes = sizes

    def beside(self, queries: int, keys: int) -> Mapping[str, int]:
        """Returns the work of a forward pass on one example apart from matrix products: function → how many numbers go
        through this function, where each of `queries` positions reads `keys` positions.

        The value of `fft_flops` counts floating-point operations. Sums, products and quotients of single numbers,
        masks and copies are left out. A part that does not override this declares the sum of the parts inside it.
        """
        return together(part.beside(queries, keys) for part in parts_in(self))


def name_of(part: type[Part]) -> str:
    """Returns the name under which a part is registered, or the name of its class where it is not registered."""
    return part.name or part.__name__


def parts_in(module: nn.Module) -> Iterator[Part]:
    """Yields the parts below a module, at any depth, but not those inside another part, nor the module itself."""
    for child in module.children():
        if isinstance(child, Part):
            yield child
        else:
            yield from parts_in(child)


def together(counts: Iterable[Mapping[str, int]]) -> Counter[str]:
    """Returns the sum of several mappings function → count, function by function; functions whose sum is 0 are left
    out.
    """
    total: Counter[str] = Counter()
    for count in counts:
        total += Counter(count)
    return total
