"""What every part keeps to, whatever its slot: a small model around it is probed on a few random inputs.

    shape      a part gives the type and the shape that it is given, a value its own width
    finite     outputs are
    repeat     two calls agree, in training under the same streams
    gradient   every parameter has one, at the latest after a step
    batch      no output depends on another example; in training a norm's may, where it says so
    causal     in a causal model no output depends on a later input
    padding    where a task has some, no output depends on it

Inputs are changed, and outputs compared, since a gradient may be blocked where a value is not.
"""

from __future__ import annotations

import inspect
from collections.abc import Collection, Iterator
from itertools import product
from operator import attrgetter
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call

from ablate.base.errors import Invalid, described
from ablate.base.plugins import Fault, raised_by_plugin
from ablate.base.streams import torch_stream
from ablate.core.signature import Signature
from ablate.models.build import build_model
from ablate.models.reference import places
from ablate.models.section import Embedding, ModelSection

EXAMPLES, LENGTH, FEATURES, ROUNDS = 3, 8, 4, 2
STEP = 0.02
TOLERANCE = {torch.float64: 1e-9, torch.float32: 1e-4}
FACTS = {
    "batch": "example {} depends on another of its batch",
    "causal": "output {1} depends on input {2}",
    "padding": "output {1} depends on padding at {2}",
}
MASKS = {"inputs": "mask", "source": "source_mask"}


def check_parts(section: ModelSection, signature: Signature, model: nn.Module, sound: set[str]) -> None:
    """Raises `Invalid`, with a path from the section, where a part of `model` that is not `ablate`'s breaks a rule.

    `sound` are the models that are known to break none, and takes in this one.
    """
    parts: set[Any] = {part for part in map(type, model.modules()) if hasattr(part, "slot")}
    own = [
        part for part in sorted(parts, key=attrgetter("name")) if part.__module__.split(".")[0] != "ablate"
    ]
    key = f"{section.model_dump_json()} {signature}" if own else ""
    for rule, text in breaches(section, signature, own).items() if own and key not in sound else ():
        if text:
            names = " or ".join(part.name for part in own)
            path = ".".join(places()[own[0].slot].path)
            raise Invalid(path, str(fault(own[0], rule, text, names)), hint="Correct the plugin")
    sound.add(key)


def fault(part: Any, rule: str, text: str, name: str) -> Fault:
    """How a part breaks a rule, with the line of its class."""
    says = "declares {}, but" if getattr(part, rule, False) is True else "breaks the rule `{}`:"
    file, line = inspect.getsourcefile(part) or part.__module__, inspect.getsourcelines(part)[1]
    return Fault(f"{name} {says.format(rule)} {text}", Path(file), line)


def breaches(section: ModelSection, signature: Signature, parts: Collection[type]) -> dict[str, str]:
    """Each rule that a model with these `parts` has to keep → how it breaks it, empty where it does not.

    The model is short and in double precision, in which no leak looks like rounding; where a part cannot be either, it
    is as long as in training, and in single precision. Raises what a plugin raises there.
    """
    for length, dtype in ((LENGTH, torch.float64), (signature.seq_len, torch.float32)):
        found = dict.fromkeys(("shape", "finite", "repeat"), "")
        try:
            with torch.random.fork_rng(devices=[]):
                _Probe(section, _of_vectors(signature, length), parts, dtype).run(found)
        except Exception as error:
            if dtype == torch.float32 and raised_by_plugin(error):
                raise
            found["shape"] = found["shape"] or f"the model fails: {described(error)[0]}"
        if not found["shape"]:
            break
    return found


def _of_vectors(signature: Signature, length: int) -> Signature:
    """Of a task that gives vectors, any two of which differ, and reads every position out."""
    return Signature(
        min(length, signature.seq_len),
        num_outputs=FEATURES,
        num_features=FEATURES,
        readout="all",
        padded=signature.padded,
        source=signature.source and _of_vectors(signature.source, length),
    )


class _Probe:
    """A model with `parts` that are looked at, and which of its positions are real."""

    def __init__(
        self, section: ModelSection, signature: Signature, parts: Collection[type], dtype: torch.dtype
    ) -> None:
        plain = section.model_copy(update={"embedding": Embedding()})
        self.model, self.dtype = build_model(plain, signature).to(dtype), dtype
        self.parts = [module for module in self.model.modules() if type(module) in parts]
        self.asked = {"batch": True, "causal": self.model.stack.causal, "padding": signature.padded}
        given = {"inputs": signature, "source": signature.source}
        self.real = {name: _real(of.seq_len) | (not signature.padded) for name, of in given.items() if of}

    def run(self, found: dict[str, str]) -> None:
        """Writes the first breach of each rule into `found`."""

        def compare(module: nn.Module, given: Any, output: Any) -> None:
            width = -1 if getattr(module, "slot", "") == "value" else None
            forms = [f"{x.dtype} {tuple(x.shape[:width])}" for x in (given[0], output)]
            found["shape"] = found["shape"] or ("" if forms[0] == forms[1] else " becomes ".join(forms))

        for module in self.parts:
            module.register_forward_hook(compare)
        parameters = {p: torch.zeros_like(p) for p in self.model.parameters() if p.requires_grad}
        for draw, training in product(range(ROUNDS), (False, True)):
            generator = torch_stream(draw, "probe")
            given, other = (self._inputs(generator) for _ in range(2))
            self.model.train(training)
            loss = self._outputs(given)[self.real["inputs"]].square().sum()
            gradients = torch.autograd.grad(loss, [*parameters], materialize_grads=True)
            with torch.no_grad():
                # A branch that begins at zero acts after a step.
                for (parameter, seen), gradient in zip(parameters.items(), gradients, strict=True):
                    parameter.sub_(gradient.sign(), alpha=STEP)
                    seen.add_(gradient.abs())
                for rule, text in self._breaches(given, other):
                    found[rule] = found.get(rule) or text
        named = [pair for module in self.parts for pair in module.named_parameters()]
        idle = [name for name, p in named if p in parameters and not parameters[p].any()]
        found["gradient"] = f"parameter {idle[0]} has none" if idle else ""

    def _inputs(self, generator: torch.Generator) -> dict[str, Tensor]:
        drawn = {
            name: torch.randn((*real.shape, FEATURES), generator=generator, dtype=self.dtype)
            for name, real in self.real.items()
        }
        masks = {MASKS[name]: real[:, None, None] for name, real in self.real.items()}
        return drawn | (masks if self.asked["padding"] else {})

    def _outputs(self, given: dict[str, Tensor]) -> Any:
        """(B, T, FEATURES); in training with the streams, the global one too, and the buffers of every other call."""
        if self.model.training:
            torch.manual_seed(0)
        self.model.start_step(0)
        buffers = {name: of.clone() for name, of in self.model.named_buffers() if self.model.training}
        return functional_call(self.model, buffers, (), given)

    def _breaches(self, given: dict[str, Tensor], other: dict[str, Tensor]) -> Iterator[tuple[str, str]]:
        """Rules and how they are broken in the mode of the model, empty where they are not."""
        mode = " in training" if self.model.training else ""
        before, real, tolerance = self._outputs(given), self.real["inputs"], TOLERANCE[self.dtype]

        def moved(changed: dict[str, Tensor]) -> Tensor:
            same = torch.isclose(self._outputs(changed), before, rtol=tolerance, atol=tolerance)
            return ~same.all(-1) & real

        # In between, since a part may remember its last call.
        self._outputs(other)
        finite, repeats = bool(before[real].isfinite().all()), not moved(given).any()
        yield "finite", "" if finite else f"outputs are nan or infinite{mode}"
        yield "repeat", "" if repeats or not finite else f"two calls on the same inputs differ{mode}"
        mixed = mode and any(getattr(part, "reads_batch", False) for part in self.model.modules())
        rows, columns = torch.arange(EXAMPLES)[:, None], torch.arange(real.shape[1])
        for name, place in self._places() if finite and repeats else ():
            changed = given[name].clone()
            changed[1, place] = other[name][1, place]
            hit = moved(given | {name: changed})
            kept = {
                "batch": (rows != 1) & (not mixed),
                "causal": (columns < place) & (name == "inputs" and not mixed),
                "padding": ~self.real[name][1, place],
            }
            for rule in (rule for rule in kept if self.asked[rule]):
                found = (hit & kept[rule]).nonzero()[:1].tolist()
                yield rule, "".join(FACTS[rule].format(*at, place) + mode for at in found)

    def _places(self) -> Iterator[tuple[str, int]]:
        """Positions from all over the second example."""
        for name, real in self.real.items():
            yield from product([name], range(0, real.shape[1], -(-real.shape[1] // LENGTH)))


def _real(length: int) -> Tensor:
    """(B, length), of which a third is False at the end of the second example, and two thirds of the third."""
    return torch.arange(length) * EXAMPLES < length * (EXAMPLES - torch.arange(EXAMPLES)[:, None])
