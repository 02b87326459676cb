"""The cost of a pass through a model."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import torch
from torch import nn
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry

from ablate.base.registry import PartConfig, StrictModel
from ablate.components.positions import Position
from ablate.components.sizes import Part, parts_in, together
from ablate.core.signature import Signature
from ablate.models.build import build_model
from ablate.models.memory import Memory
from ablate.models.model import Model
from ablate.models.section import Dropouts, ModelSection

# Above so many parameters times positions a pass takes longer than on the meta device. That one only tells shapes, and
# its first operation imports torch's compiler for a second.
LARGE = 2**29
# The initial value of a parameter takes as long as so many positions.
INITIAL_VALUE = 64
# Above so many positions a pass is on the meta device too: their square would be in memory.
LONG = 1024


class PartCall(NamedTuple):
    """One call of a part in a forward pass on one example: the part's path, how many positions read, and how many
    positions each of them reads.
    """

    path: str  # Of the part in the model.
    queries: int  # Number of positions that read.
    keys: int  # Number of positions that each of them reads.


@dataclass(frozen=True)
class Flops:
    """The floating-point operations of a model's matrix products on one example, of a forward pass and with the
    backward pass, and a `PartCall` for each call of a part in the forward pass.

    A product of (n × m) and (m × p) counts 2·n·m·p; products with masked numbers, and with the zeros that fill up
    narrower heads for a fused kernel, count as well. What a fused kernel computes again in the backward pass does not.
    """

    forward: int
    "Operations of a forward pass."
    training: int
    "Operations of a forward and a backward pass."
    calls: Sequence[PartCall]
    "Calls in the forward pass of parts that are inside no other part."

    def beside(self, model: nn.Module) -> dict[str, int]:
        """Returns the work of one forward pass of `model` beside matrix products: function name → how many numbers go
        through the function; see `Part.beside`.

        The model must have the parts that were counted, or others in their places that leave matrix products as they
        are.
        """
        counts = []
        for call in self.calls:
            part: Any = model.get_submodule(call.path)
            counts.append(part.beside(call.queries, call.keys))
        return dict(sorted(together(counts).items()))


class _Counter(TorchDispatchMode):
    """Torch dispatch mode that adds to `total` the FLOPs of every operation for which torch has a formula."""

    total = 0

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Returns False: this mode need not be hidden from a compiler.

        The compiler would be imported for that, which takes a second, and nothing is compiled.
        """
        return False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        out = func(*args, **kwargs)
        formula = flop_registry.get(func.overloadpacket)
        if formula is not None:
            self.total += formula(*args, **kwargs, out_val=out)
        return out


class _Unstepped(TorchFunctionMode):
    """Torch function mode that replaces a recurrent kernel by its matrix products where `_is_plain` accepts the
    kernel's arguments; outputs then mean nothing.

    The FLOPs are those of the kernel, which goes through the positions one by one: a minute for 5,000 of them.
    """

    KERNELS: ClassVar = {torch.rnn_tanh, torch.rnn_relu, torch.gru, torch.lstm}

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func not in self.KERNELS or not _is_plain(args):
            return func(*args, **(kwargs or {}))
        x_btd, states, weights = args[:3]
        if isinstance(states, torch.Tensor):
            states = [states]
        y_bth = _in_products(x_btd, states[0], weights)
        last_1bh = y_bth[:, -1:].transpose(0, 1)
        return y_bth, *[last_1bh] * len(states)


def _is_plain(args: Any) -> bool:
    """Returns whether a recurrent kernel's arguments say biases, one layer, no dropout, one direction and batch first.

    `_in_products` can stand for such a kernel, in training and in evaluation.
    """
    biases_layers_dropout = args[3:6]
    both_directions_batch_first = args[7:]
    return bool(biases_layers_dropout == (True, 1, 0.0) and both_directions_batch_first == (False, True))


def _in_products(
    x_btd: torch.Tensor, first_1bh: torch.Tensor, weights: Sequence[torch.Tensor]
) -> torch.Tensor:
    """Returns a tensor (B, T, h) of meaningless numbers whose forward and backward passes have the matrix products of a
    recurrent kernel.

    It depends on all of these products.
    """
    weight_ih, weight_hh, bias_ih, bias_hh = weights
    hidden = weight_hh.shape[1]
    from_input = functional.linear(x_btd, weight_ih, bias_ih)
    from_first = functional.linear(first_1bh.transpose(0, 1), weight_hh, bias_hh)
    from_others = functional.linear(from_input[:, 1:, :hidden], weight_hh, bias_hh)
    from_state = torch.cat([from_first, from_others], 1)
    return (from_input + from_state).unflatten(-1, (-1, hidden)).sum(-2)


def skeleton(section: ModelSection, model: Model) -> str:
    """Returns a text that is the same for any two models that differ only in dropout rates and in neutral parts of this
    package.

    Such models have the same FLOPs on one task; see `Part.neutral`.
    """
    ignored: set[nn.Parameter] = set()
    for part in model.modules():
        if isinstance(part, Part) and part.neutral:
            ignored.update(part.parameters())
    shapes = [parameter.shape for parameter in model.parameters() if parameter not in ignored]
    return repr((_without_neutral(section), shapes))


def _without_neutral(config: Any) -> Any:
    """Returns a config's values as nested lists, with None in place of the dropout rates and of this package's neutral
    parts; a value that is no config is returned unchanged.

    Only parts of this package are taken at their word.
    """
    if isinstance(config, Dropouts):
        return None
    if isinstance(config, PartConfig):
        part = config.part
        is_built_in = part.__module__.startswith("ablate.")
        if is_built_in and issubclass(part, Part) and part.neutral:
            return None
    if isinstance(config, StrictModel):
        return [_without_neutral(value) for _, value in config]
    return config


def count(section: ModelSection, signature: Signature, parameters: int) -> Flops:
    """Builds a section's model, and counts its `Flops` in a forward and a backward pass on one example. Raises
    `Invalid` where `build_model` does.

    parameters: the number of the model's parameters; where they and the positions are many, the model is built on the
    meta device.
    """
    is_large = parameters * (signature.seq_len + INITIAL_VALUE) > LARGE
    device = "meta" if is_large or signature.seq_len > LONG else "cpu"
    return flops_of(build_model(section, signature, device=device), signature)


def flops_of(model: Model, signature: Signature) -> Flops:
    """Returns the `Flops` of a model, counted in a forward and a backward pass on one example of zeros; leaves the
    model in evaluation mode, with the gradients of that pass.

    The model may be on the meta device. Raises what a part raises that cannot say what it computes beside products.
    """
    model.eval()
    inputs = _example_inputs(signature, model.device)
    with _as_products(), _Counter() as counter:
        with recorded_calls(model) as calls:
            logits = model(**inputs)
        forward = counter.total
        logits.sum().backward()
    flops = Flops(forward, counter.total, calls)
    flops.beside(model)
    return flops


@contextmanager
def _as_products() -> Iterator[None]:
    """Turns off mkldnn and the fused kernels of attention and of recurrence while the context is open, so that plain
    products run instead; outputs of recurrent layers then mean nothing.

    Products are counted, and kernels are not.
    """
    mkldnn: Any = torch.backends.mkldnn
    was_enabled = mkldnn.enabled
    with sdpa_kernel(SDPBackend.MATH), _Unstepped():
        mkldnn.enabled = False
        try:
            yield
        finally:
            mkldnn.enabled = was_enabled


@contextmanager
def recorded_calls(model: nn.Module) -> Iterator[list[PartCall]]:
    """Yields a list that grows while the context is open: by one `PartCall` for each call of a part that is inside no
    other part, and by one for each `Position` among the arguments of that call.
    """
    paths = {module: path for path, module in model.named_modules()}
    calls: list[PartCall] = []

    def record(part: Part, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Appends to `calls` a `PartCall` for a part that is about to be called, and one for each `Position` among its
        arguments.

        A position acts inside the mixer, which never calls it; its queries and keys are those of the mixer.
        """
        arguments = [*args, *kwargs.values()]
        queries = _queries_in(arguments)
        keys = _source_length_in(arguments)
        for called in (part, *arguments):
            if called is part or isinstance(called, Position):
                calls.append(PartCall(paths[called], queries, queries if keys is None else keys))

    with ExitStack() as hooks:
        for part in set(parts_in(model)):
            hooks.enter_context(part.register_forward_pre_hook(record, with_kwargs=True))
        yield calls


def _queries_in(arguments: Sequence[Any]) -> int:
    """Returns the number of positions in the first tensor among a part's arguments, the product of all its axes but the
    last; 0 where no argument is a tensor.
    """
    for argument in arguments:
        if isinstance(argument, torch.Tensor):
            return argument.shape[:-1].numel()
    return 0


def _source_length_in(arguments: Sequence[Any]) -> int | None:
    """Returns S, the length of the source in the first `Memory` among a part's arguments; None where no argument is a
    `Memory`.
    """
    for argument in arguments:
        if isinstance(argument, Memory):
            return argument.encoded_bsd.shape[1]
    return None


def _example_inputs(signature: Signature, device: torch.device) -> dict[str, torch.Tensor]:
    """Returns the arguments of a forward pass by name, zeros for one example:
    `inputs`, and `source` and `segments` where the task has them.
    """
    inputs = {"inputs": _example(signature, device)}
    if signature.source is not None:
        inputs["source"] = _example(signature.source, device)
    if signature.num_segments is not None:
        inputs["segments"] = torch.zeros(1, signature.seq_len, dtype=torch.long, device=device)
    return inputs


def _example(signature: Signature, device: torch.device) -> torch.Tensor:
    """Returns one sequence of zeros: tokens (1, T), or vectors (1, T, num_features)."""
    if signature.vocab_size is not None:
        return torch.zeros(1, signature.seq_len, dtype=torch.long, device=device)
    return torch.zeros(1, signature.seq_len, signature.num_features or 0, device=device)
