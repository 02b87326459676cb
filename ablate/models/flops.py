"""The cost of a pass through a model."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import nn
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry

from ablate.base.registry import StrictModel
from ablate.components.positions import Position
from ablate.components.sizes import Part, parts_in, together
from ablate.core.signature import Signature
from ablate.models.build import build_model
from ablate.models.memory import Memory
from ablate.models.model import Model
from ablate.models.section import Dropouts, ModelSection

# Parameters times positions, of which initial values cost as many as `VALUES`, above which a pass takes longer than on
# the meta device, which only tells shapes, and whose first operation imports torch's compiler for a second.
LARGE, VALUES = 2**29, 64
# Positions, whose square is in memory, above which it is not either.
LONG = 1024


@dataclass(frozen=True)
class Flops:
    """Floating-point operations of the matrix products on one example of `seq_len`.

    A product of (n × m) and (m × p) counts 2·n·m·p; products with masked numbers, and with the zeros that fill up
    narrower heads for a fused kernel, count as well. What a fused kernel computes again in the backward pass does not.
    """

    # Of a forward pass.
    forward: int
    # Of a forward and a backward pass.
    training: int
    # Of the forward pass, the calls of parts outside of other parts: path, and how many positions read how many.
    calls: Sequence[tuple[str, int, int]]

    def beside(self, model: nn.Module) -> dict[str, int]:
        """What the parts of a model of this skeleton declare beside those products, by function; see `Part.beside`."""
        calls: Any = ((model.get_submodule(path), *of) for path, *of in self.calls)
        return dict(sorted(together(part.beside(*of) for part, *of in calls).items()))


class _Counter(TorchDispatchMode):
    """Torch dispatch mode that sums the FLOPs of every operation that torch has a formula for."""

    total = 0

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Not to be hidden from a compiler, which would be imported for that: a second, and nothing is compiled."""
        return False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        if formula := flop_registry.get(func.overloadpacket):
            self.total += formula(*args, **(kwargs or {}), out_val=out)
        return out


class _Unstepped(TorchFunctionMode):
    """Torch function mode in which a recurrent kernel of one layer makes all its products at once.

    Their FLOPs are those of the kernel, which goes through the positions one by one: a minute for 5,000 of them.
    """

    KERNELS: ClassVar = {torch.rnn_tanh, torch.rnn_relu, torch.gru, torch.lstm}

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        # Only with biases, one layer, no dropout, one direction and batch first, in training or not.
        if func not in self.KERNELS or args[3:6] != (True, 1, 0.0) or args[7:] != (False, True):
            return func(*args, **(kwargs or {}))
        x_btd, states, weights = args[:3]
        states = [states] if isinstance(states, torch.Tensor) else states
        y_bth = _in_products(x_btd, states[0], weights)
        return y_bth, *[y_bth[:, -1:].transpose(0, 1)] * len(states)


def _in_products(
    x_btd: torch.Tensor, first_1bh: torch.Tensor, weights: Sequence[torch.Tensor]
) -> torch.Tensor:
    """Returns (B, T, h) of no meaning, by the products that a recurrent kernel makes, forwards and backwards."""
    weight_ih, weight_hh, bias_ih, bias_hh = weights
    hidden = weight_hh.shape[1]
    of_input = functional.linear(x_btd, weight_ih, bias_ih)
    of_first = functional.linear(first_1bh.transpose(0, 1), weight_hh, bias_hh)
    of_others = functional.linear(of_input[:, 1:, :hidden], weight_hh, bias_hh)
    of_state = torch.cat([of_first, of_others], 1)
    return (of_input + of_state).unflatten(-1, (-1, hidden)).sum(-2)


def skeleton(section: ModelSection, model: Model) -> str:
    """Equal for models on one task that differ in neutral parts and dropout alone; see `Part.neutral`."""
    ignored = {
        p for part in model.modules() if getattr(type(part), "neutral", False) for p in part.parameters()
    }
    return repr((_without_neutral(section), [p.shape for p in model.parameters() if p not in ignored]))


def _without_neutral(config: Any) -> Any:
    part: Any = getattr(config, "part", None)
    own = getattr(part, "neutral", False) and part.__module__.startswith("ablate.")
    if own or isinstance(config, Dropouts):
        return None
    return [_without_neutral(x) for _, x in config] if isinstance(config, StrictModel) else config


def count(section: ModelSection, signature: Signature, parameters: int) -> Flops:
    """The cost of the model of a section, which has so many parameters."""
    large = parameters * (signature.seq_len + VALUES) > LARGE or signature.seq_len > LONG
    return flops_of(build_model(section, signature, device="meta" if large else "cpu"), signature)


def flops_of(model: Model, signature: Signature) -> Flops:
    """The cost of a model, by a pass of one example where the model is, which may be the meta device."""
    model.eval()
    inputs = {"inputs": _example(signature, model.device)}
    if signature.source is not None:
        inputs["source"] = _example(signature.source, model.device)
    if signature.num_segments is not None:
        inputs["segments"] = torch.zeros(1, signature.seq_len, dtype=torch.long, device=model.device)
    mkldnn: Any = torch.backends.mkldnn
    with ExitStack() as stack:
        # A fused kernel is counted as the products that it makes.
        stack.enter_context(sdpa_kernel(SDPBackend.MATH))
        stack.callback(setattr, mkldnn, "enabled", mkldnn.enabled)
        mkldnn.enabled = False
        stack.enter_context(_Unstepped())
        counter = stack.enter_context(_Counter())
        with heard(model) as calls:
            logits = model(**inputs)
        forward = counter.total
        logits.sum().backward()
    found = Flops(forward, counter.total, calls)
    # A part that cannot say what it computes beside has no known cost.
    found.beside(model)
    return found


@contextmanager
def heard(model: nn.Module) -> Iterator[list[tuple[str, int, int]]]:
    """The calls of parts while the context is open; see `Flops.calls`."""
    paths = {module: path for path, module in model.named_modules()}
    calls: list[tuple[str, int, int]] = []

    def hear(part: Part, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        given = [*args, *kwargs.values()]
        queries = next((x.shape[:-1].numel() for x in given if isinstance(x, torch.Tensor)), 0)
        keys = next((x.encoded_bsd.shape[1] for x in given if isinstance(x, Memory)), queries)
        # A position acts inside every mixer that it is given to.
        calls.extend(
            (paths[x], queries, keys) for x in (part, *given) if x is part or isinstance(x, Position)
        )

    with ExitStack() as hooks:
        for part in set(parts_in(model)):
            hooks.enter_context(part.register_forward_pre_hook(hear, with_kwargs=True))
        yield calls


def _example(signature: Signature, device: torch.device) -> torch.Tensor:
    if signature.vocab_size is not None:
        return torch.zeros(1, signature.seq_len, dtype=torch.long, device=device)
    return torch.zeros(1, signature.seq_len, signature.num_features or 0, device=device)
