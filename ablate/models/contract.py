"""The rules that every part keeps, whatever its slot: a small model around it is probed on random inputs.

    states     what a part can do is True or False, and no other value that would be taken for one of them
    shape      a part gives the type and the shape that it is given, a value its own width
    finite     outputs are
    repeat     two calls agree, in training under the same streams
    padding    where a task has some, no output depends on it
    batch      no output depends on another example; in training a norm's may, where it says so
    causal     in a causal model no output depends on a later input
    gradient   every parameter has one, at the latest after a step

Inputs are changed, and outputs compared, since a gradient may be blocked where a value is not.
"""

import inspect
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call

from ablate.base.errors import Invalid, described
from ablate.base.plugins import Fault, raised_by_plugin
from ablate.base.registry import unclear_statements
from ablate.base.streams import torch_stream
from ablate.core.signature import Signature
from ablate.models.build import build_model
from ablate.models.model import Model
from ablate.models.reference import places
from ablate.models.section import Embedding, ModelSection

EXAMPLES = 3
MAX_LENGTH = 64  # Of the sequences on which a part is probed.
FEATURES = 4  # Of an input, and of an output.
ROUNDS = 2  # Random inputs, each in evaluation and in training.
CHANGES = 8  # Inputs that are changed, one by one, for `causal`.
STEP = 0.02
TOLERANCE = 1e-4


def check_parts(
    section: ModelSection, signature: Signature, model: nn.Module, sound: set[str | type]
) -> None:
    """Raises `Invalid`, with a path from the section, where a user's part in a model breaks a rule; else adds the
    model's key and its users' parts to `sound`.

    `sound` holds the models that break no rule, by section and signature, and their parts: such a model is not probed
    again, and such a part is blamed only where no other is left. A model without a user's part is not probed.
    """
    parts = _users_parts(model)
    if not parts:
        return
    key = f"{section.model_dump_json()} {signature}"
    if key not in sound:
        for rule, text in breaches(section, signature, parts).items():
            if text:
                raise _refusal(parts - sound or parts, rule, text)
    sound |= {key, *parts}


def _users_parts(model: nn.Module) -> set[Any]:
    """Returns the classes of a model's registered parts that are defined outside the package `ablate`."""
    classes = {type(module) for module in model.modules()}
    # Registered classes alone have a slot.
    parts = {part for part in classes if hasattr(part, "slot")}
    return {part for part in parts if part.__module__.split(".")[0] != "ablate"}


def _refusal(suspects: set[Any], rule: str, text: str) -> Invalid:
    """Returns, and does not raise, an `Invalid` that says that one of the part classes `suspects` breaks `rule`, and
    how: `text`.

    Its path is that of the slot of the first of them by name.
    """
    parts = sorted(suspects, key=lambda part: part.name)
    names = " or ".join(part.name for part in parts)
    path = ".".join(places()[parts[0].slot].path)
    return Invalid(path, str(fault(parts[0], rule, text, names)), hint="Correct the plugin")


def fault(part: Any, rule: str, text: str, name: str) -> Fault:
    """Returns the `Fault` that reports the breach of a rule by a part's class: message, file and line.

    The message calls the part `name`, names the rule and ends in `text`. The line is that of the part's own `forward`;
    of its class where it has none, is not built, or states what is wrong.
    """
    declared = {"causal": getattr(part, "causal", False), "padding": getattr(part, "padding", False)}
    says = f"declares {rule}, but" if declared.get(rule) is True else f"breaks the rule `{rule}`:"
    is_of_class = rule in ("builds", "states")
    source = part if is_of_class else vars(part).get("forward", part)
    file = inspect.getsourcefile(part) or part.__module__
    _, line = inspect.getsourcelines(source)
    return Fault(f"{name} {says} {text}", Path(file), line)


def breaches(section: ModelSection, signature: Signature, parts: Collection[type]) -> dict[str, str]:
    """Returns rule → a sentence on the model's first breach of the rule, or an empty string where the model keeps it.

    `parts` are the classes whose statements, shapes and gradients are looked at. Where a statement is unclear, `states`
    is the only key; where two calls differ, only breaches found before it and that of `gradient` are told. Seeds
    torch's global generator. Raises what a plugin raises.
    """
    unclear = _breach_of_states(parts)
    if unclear:
        return {"states": unclear}
    texts = dict.fromkeys(("states", "shape", "finite", "repeat"), "")
    model = _model_of_vectors(section, signature)
    modules = [module for module in model.modules() if type(module) in parts]
    for module in modules:
        module.register_forward_hook(partial(_compare_shapes, texts))
    try:
        for round_number in range(ROUNDS):
            for training in (False, True):
                probe = _Probe(model.train(training), torch_stream(round_number, "check"))
                for rule, text in _breaches_in_mode(probe):
                    texts[rule] = texts.get(rule) or ("" if texts["repeat"] else text)
    except Exception as error:
        if raised_by_plugin(error):
            raise
        message, *_ = described(error)
        texts["shape"] = texts["shape"] or f"the model fails: {message}"
    texts["gradient"] = _breach_of_gradient(modules)
    return texts


def _model_of_vectors(section: ModelSection, signature: Signature) -> Model:
    """Returns a new model of a section, with the default `embedding`, that reads and writes vectors of `FEATURES`
    numbers at no more than `MAX_LENGTH` positions, or at all of the task's positions where a setting refuses fewer.
    """
    plain = section.model_copy(update={"embedding": Embedding()})
    try:
        return build_model(plain, _of_vectors(signature, MAX_LENGTH))
    except Invalid:  # A setting may need all of the length in training.
        return build_model(plain, _of_vectors(signature, signature.seq_len))


def _of_vectors(signature: Signature, longest: int) -> Signature:
    """Returns a signature with `FEATURES` features in and out, at every one of at most `longest` positions, and no
    segments; `padded` is kept, and a source is changed likewise.
    """
    source = None if signature.source is None else _of_vectors(signature.source, longest)
    return Signature(
        min(signature.seq_len, longest),
        num_outputs=FEATURES,
        num_features=FEATURES,
        readout="all",
        padded=signature.padded,
        source=source,
    )


def _compare_shapes(texts: dict[str, str], module: nn.Module, args: Any, output: Any) -> None:
    """Sets `texts["shape"]`, if it is still empty, to "A becomes B" where a module's output differs from its first
    argument in dtype or shape; for a part of the slot `value` the last axis may differ.

    A forward hook.
    """
    # A value has a width of its own.
    compared_axes = -1 if getattr(module, "slot", "") == "value" else None
    before = f"{args[0].dtype} {tuple(args[0].shape[:compared_axes])}"
    after = f"{output.dtype} {tuple(output.shape[:compared_axes])}"
    if before != after:
        texts["shape"] = texts["shape"] or f"{before} becomes {after}"


class _Probe:
    """A model in training or evaluation mode, after one more step of training, with random inputs and the model's
    outputs for them.

    Shapes: B `EXAMPLES`, T positions. Names of inputs are `inputs` and, where the model reads one, `source`.
    """

    model: Model
    inputs: dict[str, Tensor]
    "By name, (B, T, FEATURES)."
    others: dict[str, Tensor]
    "Other values for the same inputs."
    real: dict[str, Tensor]
    "By name, (B, T), False at padding."
    masks: dict[str, Tensor]
    "Arguments of the model that hide padding; none without it."
    expected: Tensor
    "The outputs (B, T, FEATURES) for `inputs`."
    later_positions: list[int]
    "Positions, in their order, of the inputs on which earlier outputs of a causal model must not depend."

    def __init__(self, model: Model, generator: torch.Generator) -> None:
        signature = model.signature
        self.model = model
        self.real = {"inputs": _real(signature)}
        if signature.source is not None:
            self.real["source"] = _real(signature.source)
        self.masks = {}
        if signature.padded:
            self.masks["mask"] = self.real["inputs"][:, None, None]
            if signature.source is not None:
                self.masks["source_mask"] = self.real["source"][:, None, None]
        self.inputs = self._draw(generator)
        self.others = self._draw(generator)
        self._train_step()
        with torch.no_grad():
            self.expected = self.outputs(self.inputs)
            later = torch.randperm(signature.seq_len - 1, generator=generator)[:CHANGES] + 1
            self.later_positions = sorted(later.tolist())
            # A part may remember its last call.
            self.outputs(self.others)

    @property
    def mode(self) -> str:
        """The end of a sentence about outputs: ` in training` where the model is in training mode, else empty."""
        return " in training" if self.model.training else ""

    def _draw(self, generator: torch.Generator) -> dict[str, Tensor]:
        """Returns new random inputs by name, (B, T, FEATURES) each, standard normal."""
        values = {}
        for name, real in self.real.items():
            values[name] = torch.randn((*real.shape, FEATURES), generator=generator)
        return values

    def _train_step(self) -> None:
        """Takes a step of sign descent, of size `STEP`, on the sum of squared outputs at real positions: changes
        parameters in place, and adds to their gradients.

        A branch that begins at zero acts after a step.
        """
        self.outputs(self.inputs)[self.real["inputs"]].square().sum().backward()
        with torch.no_grad():
            for parameter in self.model.parameters():
                if parameter.grad is not None:
                    parameter.sub_(parameter.grad.sign(), alpha=STEP)

    def outputs(self, inputs: Mapping[str, Tensor]) -> Tensor:
        """Returns the model's outputs (B, T, FEATURES) for inputs by name; in training, all calls have the same random
        draws and begin with the same buffers.

        Torch's global generator is seeded for that, and the model's own buffers are left as they are.
        """
        buffers: dict[str, Tensor] = {}
        if self.model.training:
            torch.manual_seed(0)
            buffers = {name: buffer.clone() for name, buffer in self.model.named_buffers()}
        self.model.start_step(0)
        outputs: Tensor = functional_call(self.model, buffers, (), {**inputs, **self.masks})
        return outputs

    def first_change(self, where: Mapping[str, Tensor], fixed: Tensor) -> tuple[int, int] | None:
        """Returns (example, position) of the first output marked in `fixed` that changes when the inputs marked in
        `where` take other values; None where no marked output changes.

        where: by name of an input, True where it takes its value of `others`, broadcastable to (B, T). fixed: True for
        outputs that must not change, broadcastable to (B, T); those at padding may.
        """
        inputs = dict(self.inputs)
        for name, is_changed in where.items():
            inputs[name] = torch.where(is_changed[..., None], self.others[name], self.inputs[name])
        close = torch.isclose(self.outputs(inputs), self.expected, TOLERANCE, TOLERANCE, equal_nan=True)
        changes = (~close.all(-1) & fixed & self.real["inputs"]).nonzero()
        if len(changes) == 0:
            return None
        example, position = changes[0].tolist()
        return example, position


def _real(signature: Signature) -> Tensor:
    """Returns booleans (EXAMPLES, T), False at padding: the last third of the second example and the last two thirds of
    the third. All are True where the signature is not padded.
    """
    lacking = torch.arange(EXAMPLES if signature.padded else 1)[:, None]
    thirds = EXAMPLES - lacking
    return (torch.arange(signature.seq_len) * EXAMPLES < signature.seq_len * thirds).expand(EXAMPLES, -1)


@torch.no_grad()
def _breaches_in_mode(probe: _Probe) -> Iterator[tuple[str, str]]:
    """Yields (rule, sentence) for each rule that a probe's model has to keep in its mode; the sentence describes the
    breach, and is empty where the model keeps the rule.

    They are `finite`, `repeat`, `padding` in a padded task and, unless a part reads the batch in training, `batch` and,
    in a causal model, `causal`.
    """
    yield "finite", _breach_of_finite(probe)
    yield "repeat", _breach_of_repeat(probe)
    if probe.model.signature.padded:
        yield "padding", _breach_of_padding(probe)
    if _reads_batch(probe.model):
        return
    yield "batch", _breach_of_batch(probe)
    if probe.model.stack.causal:
        yield "causal", _breach_of_causal(probe)


def _reads_batch(model: Model) -> bool:
    """Returns whether the model is in training mode and some part declares
    that it reads other examples (`reads_batch`).
    """
    if not model.training:
        return False
    return any(getattr(module, "reads_batch", False) for module in model.modules())


def _breach_of_states(parts: Iterable[type]) -> str:
    """Returns a clause on the statements of part classes that are neither True nor False; an empty string where every
    statement is True or False.
    """
    unclear: list[str] = []
    for part in parts:
        unclear += unclear_statements(part)
    return f"{' and '.join(sorted(unclear))}, and must be True or False" if unclear else ""


def _breach_of_finite(probe: _Probe) -> str:
    """Returns a sentence where some output at a real position is nan or infinite; empty where all are finite."""
    is_finite = probe.expected[probe.real["inputs"]].isfinite().all()
    return "" if is_finite else f"outputs are nan or infinite{probe.mode}"


def _breach_of_repeat(probe: _Probe) -> str:
    """Returns a sentence where a second call on the same inputs gives other outputs at real positions; an empty string
    where the outputs of both calls agree.
    """
    change = probe.first_change({}, fixed=torch.tensor(True))
    return "" if change is None else f"two calls on the same inputs differ{probe.mode}"


def _breach_of_padding(probe: _Probe) -> str:
    """Returns a sentence that names the first output at a real position that depends on padding; an empty string where
    all outputs at real positions are independent of padding.
    """
    padding = {name: ~real for name, real in probe.real.items()}
    change = probe.first_change(padding, fixed=torch.tensor(True))
    if change is None:
        return ""
    _, position = change
    return f"output {position} depends on padding{probe.mode}"


def _breach_of_batch(probe: _Probe) -> str:
    """Returns a sentence that names the first example whose outputs change with the inputs of example 1, counted from
    0; an empty string where the outputs of no other example change.
    """
    is_second = torch.arange(EXAMPLES)[:, None] == 1
    change = probe.first_change(dict.fromkeys(probe.real, is_second), fixed=~is_second)
    if change is None:
        return ""
    example, _ = change
    return f"example {example} depends on another of its batch{probe.mode}"


def _breach_of_causal(probe: _Probe) -> str:
    """Returns a sentence that names an output and the later input on which it depends, or an empty string where no
    output depends on a later input; only the inputs at `later_positions` are tried.
    """
    positions = torch.arange(probe.model.signature.seq_len)
    for later in probe.later_positions:
        change = probe.first_change({"inputs": positions == later}, fixed=positions < later)
        if change is not None:
            _, position = change
            return f"output {position} depends on input {later}{probe.mode}"
    return ""


def _breach_of_gradient(modules: Iterable[nn.Module]) -> str:
    """Returns a clause that names the first trainable parameter of `modules` whose gradient is missing or all zero; an
    empty string where all trainable parameters have a gradient other than zero.
    """
    for module in modules:
        for name, parameter in module.named_parameters():
            lacks_gradient = parameter.grad is None or not parameter.grad.any()
            if parameter.requires_grad and lacks_gradient:
                return f"parameter {name} has none"
    return ""
