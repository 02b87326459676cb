"""What every part keeps to, whatever its slot: a small model around it is probed on random inputs.

    shape      a part gives the type and the shape that it is given, a value its own width
    finite     outputs are
    repeat     two calls agree, in training under the same streams
    batch      no output depends on another example; in training a norm's may, where it says so
    causal     in a causal model no output depends on a later input
    padding    where a task has some, no output depends on it
    gradient   every parameter has one, at the latest after a step

Inputs are changed, and outputs compared, since a gradient may be blocked where a value is not.
"""

import inspect
from collections.abc import Collection, Iterator
from functools import partial
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
from ablate.models.model import Model
from ablate.models.reference import places
from ablate.models.section import Embedding, ModelSection

EXAMPLES, LENGTH, FEATURES, ROUNDS, PLACES = 3, 64, 4, 2, 8
STEP, TOLERANCE = 0.02, 1e-4
FACTS = {
    "repeat": "two calls on the same inputs differ",
    "batch": "example {0} depends on another of its batch",
    "causal": "output {1} depends on input {2}",
    "padding": "output {1} depends on padding",
}
MASKS = {"inputs": "mask", "source": "source_mask"}


def check_parts(section: ModelSection, signature: Signature, model: nn.Module, sound: set[Any]) -> None:
    """Raises `Invalid`, with a path from the section, where a part of `model` that is not `ablate`'s breaks a rule.

    `sound` are models that break none, and their parts, which are not suspected again; it takes in this one.
    """
    parts: set[Any] = {part for part in map(type, model.modules()) if hasattr(part, "slot")}
    own = {part for part in parts if part.__module__.split(".")[0] != "ablate"}
    key = f"{section.model_dump_json()} {signature}" if own else ""
    for rule, text in breaches(section, signature, own).items() if own and key not in sound else ():
        if text:
            part, *others = sorted(own - sound or own, key=attrgetter("name"))
            said = fault(part, rule, text, " or ".join(each.name for each in (part, *others)))
            raise Invalid(".".join(places()[part.slot].path), str(said), hint="Correct the plugin")
    sound |= {key, *own}


def fault(part: Any, rule: str, text: str, name: str) -> Fault:
    """How a part breaks a rule, with the line of its own `forward`; of its class where it has none, or is not built."""
    says = "declares {}, but" if getattr(part, rule, False) is True else "breaks the rule `{}`:"
    called = vars(part).get("forward", part) if rule != "builds" else part
    file, line = inspect.getsourcefile(part) or part.__module__, inspect.getsourcelines(called)[1]
    return Fault(f"{name} {says.format(rule)} {text}", Path(file), line)


def breaches(section: ModelSection, signature: Signature, parts: Collection[type]) -> dict[str, str]:
    """Each rule that a model with these `parts` has to keep → how it breaks it first, empty where it does not.

    Where two calls differ, nothing else is known. Seeds torch's global generator. Raises what a plugin raises.
    """
    found = dict.fromkeys(("shape", "finite", "repeat"), "")
    plain = section.model_copy(update={"embedding": Embedding()})
    try:
        model = build_model(plain, _of_vectors(signature, LENGTH))
    except Invalid:  # A setting may need all of the length in training.
        model = build_model(plain, _of_vectors(signature, signature.seq_len))
    looked_at = [module for module in model.modules() if type(module) in parts]
    for module in looked_at:
        module.register_forward_hook(partial(_compare, found))
    try:
        for draw, training in product(range(ROUNDS), (False, True)):
            for rule, text in _probed(model.train(training), torch_stream(draw, "check")):
                found[rule] = found.get(rule) or ("" if found["repeat"] else text)
    except Exception as error:
        if raised_by_plugin(error):
            raise
        found["shape"] = found["shape"] or f"the model fails: {described(error)[0]}"
    idle = [
        name
        for module in looked_at
        for name, parameter in module.named_parameters()
        if parameter.requires_grad and (parameter.grad is None or not parameter.grad.any())
    ]
    return found | {"gradient": f"parameter {idle[0]} has none" if idle else ""}


def _compare(found: dict[str, str], module: nn.Module, given: Any, output: Any) -> None:
    """Notes that an output is not like the first argument."""
    width = -1 if getattr(module, "slot", "") == "value" else None
    forms = [f"{x.dtype} {tuple(x.shape[:width])}" for x in (given[0], output)]
    found["shape"] = found["shape"] or ("" if forms[0] == forms[1] else " becomes ".join(forms))


def _of_vectors(signature: Signature, longest: int) -> Signature:
    """Of a task that gives vectors, any two of which differ, and reads every position out."""
    return Signature(
        min(signature.seq_len, longest),
        num_outputs=FEATURES,
        num_features=FEATURES,
        readout="all",
        padded=signature.padded,
        source=signature.source and _of_vectors(signature.source, longest),
    )


def _real(of: Signature) -> Tensor:
    """(B, T); with padding False for a third of the second example, and two thirds of the third."""
    kept = EXAMPLES - torch.arange(EXAMPLES if of.padded else 1)[:, None]
    return (torch.arange(of.seq_len) * EXAMPLES < of.seq_len * kept).expand(EXAMPLES, -1)


def _probed(model: Model, generator: torch.Generator) -> Iterator[tuple[str, str]]:
    """Rules that a model has to keep in its mode, and how it breaks them, empty where it does not; trains it a step."""
    of, modules, mode = model.signature, list(model.modules()), " in training" if model.training else ""
    alone = not (mode and any(getattr(part, "reads_batch", False) for part in modules))
    asked = {"padding": of.padded, "batch": alone, "causal": alone and model.stack.causal}
    real = {name: _real(each) for name, each in (("inputs", of), ("source", of.source)) if each}
    masks = {MASKS[name]: each[:, None, None] for name, each in real.items() if of.padded}
    given, other = (
        {name: torch.randn((*each.shape, FEATURES), generator=generator) for name, each in real.items()}
        for _ in range(2)
    )

    def outputs(changed: dict[str, Tensor]) -> Any:
        """(B, T, FEATURES); in training under the same streams, the global one too, and from the same buffers."""
        if mode:
            torch.manual_seed(0)
        model.start_step(0)
        buffers = {name: buffer.clone() for name, buffer in model.named_buffers() if mode}
        return functional_call(model, buffers, (), given | changed | masks)

    outputs({})[real["inputs"]].square().sum().backward()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.grad is not None:  # A branch that begins at zero acts after a step.
                parameter.sub_(parameter.grad.sign(), alpha=STEP)
        before, length = outputs({}), of.seq_len
        rows, columns = torch.arange(EXAMPLES)[:, None], torch.arange(length)
        # Rule, where inputs change, which outputs may not, and the place that is told.
        changes: list[tuple[str, dict[str, Tensor], Tensor, int]] = [
            ("repeat", {}, rows >= 0, 0),
            ("padding", {name: ~each for name, each in real.items()}, rows >= 0, 0),
            ("batch", dict.fromkeys(real, rows == 1), rows != 1, 0),
            *(
                ("causal", {"inputs": columns == place}, columns < place, place)
                for place in sorted((torch.randperm(length - 1, generator=generator)[:PLACES] + 1).tolist())
            ),
        ]
        # A part may remember its last call.
        outputs(other)
        yield (
            "finite",
            "" if before[real["inputs"]].isfinite().all() else f"outputs are nan or infinite{mode}",
        )
        for rule, where, still, place in (change for change in changes if asked.get(change[0], True)):
            changed = {
                name: torch.where(at[..., None], other[name], given[name]) for name, at in where.items()
            }
            moved = ~torch.isclose(outputs(changed), before, TOLERANCE, TOLERANCE, equal_nan=True).all(-1)
            found = (moved & still & real["inputs"]).nonzero()[:1].tolist()
            yield rule, "".join(FACTS[rule].format(*at, place) + mode for at in found)
