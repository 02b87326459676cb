"""The registered parts in words: what each computes, its parameters and shapes, from its own docstrings."""

import inspect
import shutil
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel

from ablate.base.errors import AblateError, Problem, listed
from ablate.base.registry import CATALOGUE, SLOT_MARK, Slot, UnknownPart
from ablate.base.text import word
from ablate.core.metric import Metric, sliced
from ablate.models.reference import places, settings_for
from ablate.search.pruners import PRUNERS
from ablate.search.samplers import SAMPLERS
from ablate.study.json_schema import fields, summary
from ablate.study.stage_config import StageConfig
from ablate.study.suggestions import part_hint
from ablate.tasks.task import Task
from ablate.training.section import TrainingSection

Rows = Sequence[tuple[str, str]]
OPTUNA = {"sampler": SAMPLERS, "pruner": PRUNERS}
"""Slots in which a study can name a class of Optuna's."""
SPACE = "\xa0"
"""A blank at which no line ends."""
MAX_WIDTH = 100
"""The columns that are used at most, in a terminal that has them."""
NO_SHAPES = ("initialise", "step", "beside", "extra_repr")
"""Methods of parts whose docstrings give no shapes."""
TYPES = {
    "integer": "whole number",
    "number": "number",
    "string": "text",
    "array": "list",
    "object": "mapping",
    "null": "none",
}
BOUNDS = {
    "exclusiveMinimum": "above",
    "minimum": "at least",
    "exclusiveMaximum": "below",
    "maximum": "at most",
}


def describe(slot: str | None, name: str | None, configs: Sequence[type[StageConfig]]) -> str:
    """Describes all slots, the parts of one, or one part; `configs`: the keys of stages, where some parts stand.

    Raises `AblateError` for a name that is not registered.
    """
    slots = CATALOGUE.slots()
    if slot is None:
        hint = "`ablate list SLOT` describes the parts of one slot, `ablate list SLOT NAME` one part."
        rows = [(known, ", ".join(CATALOGUE.names(known)) + _other(known)) for known in slots]
        return f"{_table(rows)}\n\n{hint}"
    if slot not in slots:
        raise _unknown("slot", slot, slots, part_hint(slot, slot, (), "ablate list "))
    return _slot(slot) if name is None else _described_part(_part(slot, name), slot, name, configs)


def _slot(slot: str) -> str:
    """Returns a line on each part of a slot."""
    rows = [(name, summary(CATALOGUE.get(slot, name))) for name in CATALOGUE.names(slot)]
    if slot not in OPTUNA:
        return _table(rows)
    more = f"Or {OPTUNA[slot].noun}, by its own name: {', '.join(OPTUNA[slot].names())}."
    return f"{_table(rows)}\n\n{_filled('', more)}"


def _part(slot: str, name: str) -> Any:
    """Returns the class of a part. Raises `AblateError` for a name that is not registered."""
    try:
        return OPTUNA[slot].part(name) if slot in OPTUNA else CATALOGUE.get(slot, name)
    except UnknownPart as error:
        raise _unknown(slot, name, error.names, part_hint(slot, name, error.names, "ablate list ")) from None


def _described_part(part: Any, slot: str, name: str, configs: Sequence[type[StageConfig]]) -> str:
    """Returns what a part computes, its parameters and shapes, and where it is defined."""
    blocks = [f"{slot} {name}"]
    for text in (inspect.getdoc(part) or "(no docstring)").split("\n\n"):
        blocks.append(_filled("  ", " ".join(text.split())))
    for heading, rows in _sections(part, configs):
        blocks.append(f"{heading}\n{_table(rows, '  ')}".rstrip())
    file = Path(inspect.getsourcefile(part) or part.__module__)
    shown = file.relative_to(Path.cwd()) if file.is_relative_to(Path.cwd()) else file
    _, line = inspect.getsourcelines(part)
    blocks.append(f"defined in {shown}:{line}")
    return "\n\n".join(blocks)


def _other(slot: str) -> str:
    """Returns what can be named in a slot beside the registered parts."""
    return f", or {OPTUNA[slot].noun}" if slot in OPTUNA else ""


def _unknown(kind: str, name: str, names: Sequence[str], hint: str) -> AblateError:
    return AblateError(str(Problem(f"unknown {kind} {name!r}", allowed=listed(names, 40), hint=hint)))


def _sections(part: Any, configs: Sequence[type[StageConfig]]) -> Iterator[tuple[str, Rows]]:
    """Yields headings with their rows; of parts of a model also shapes."""
    # Of a workload with options of its own, one of them has its name.
    options = getattr(part, "Options", None)
    given = _as_given(part) if options is None else f"{{{part.name}: {settings_for(options)[part.name]}}}"
    yield "in a study", [(f"{_path(part.slot, configs)}:", given)]
    parameters = _parameters(options or part.Config)
    yield "parameters" if parameters else "no parameters", parameters
    if part.slot == "task":
        yield from _of_task(part)
    place = places().get(part.slot)
    if place is not None:
        yield "shapes", _shapes(part)
        difference = getattr(part, "begins_unlike", "")
        if difference:
            yield f"begins unlike {place.default}", [("", difference)]


def _of_task(part: Any) -> Iterator[tuple[str, Rows]]:
    """Yields what is known of a task at the size that it recommends; nothing of one that needs the user's file."""
    recommended = part.recommended
    settings = recommended.get("task") or settings_for(part.Config)
    try:
        task: Task = part.Config.model_validate({"name": part.name, **settings}).build()
    except (AblateError, ValueError):
        return
    metrics = {**task.metrics, **task.decoded}
    yield (
        f"metrics ({task.outcome.replace('_', ' ')})",
        [(name, _scale(metric)) for name, metric in metrics.items()],
    )
    first = next(iter(task.metrics))
    slices = {sliced(first, name): values for name, values in task.slices().items()}
    sizes = {f"{section}:": values for section, values in recommended.items()}
    if "task:" in sizes:
        sizes["task:"] = {"name": part.name, **sizes["task:"]}
    yield from _values("evaluation slices, by what differs", slices)
    yield from _values("constants, with which claims may compare", task.constants())
    yield from _values("a size at which a small baseline learns it on one core", sizes)


def _scale(metric: Metric) -> str:
    """Returns the values of a metric that mean something: `chance 0.1, solved 0.9, best 1`."""
    values = {"chance": metric.floor, "solved": metric.solved, "best": metric.ceiling}
    return ", ".join(f"{term} {value:.4g}" for term, value in values.items() if value is not None)


def _values(heading: str, values: Mapping[str, Any]) -> Iterator[tuple[str, Rows]]:
    """Yields a heading with a row a value; nothing without one."""
    if values:
        yield heading, [(name, _flow(value)) for name, value in values.items()]


def _flow(value: Any) -> str:
    """Returns `{steps: 600, lr: 0.003}`; a line ends between two of them."""
    if isinstance(value, Mapping):
        pairs = [f"{key}:{SPACE}{_flow(inner)}" for key, inner in value.items()]
        return f"{{{', '.join(pairs)}}}"
    return f"{value:.4g}" if isinstance(value, float) else word(value)


def _path(slot: str, configs: Sequence[type[StageConfig]]) -> str:
    """Returns where a study names a part of the slot."""
    if slot in places():
        return ".".join(["model", *places()[slot].path])
    for section, model in _models(configs).items():
        for name, field in model.model_fields.items():
            if any(isinstance(mark, Slot) and mark.slot == slot for mark in field.metadata):
                return f"{section}.{name}"
    return slot


def _models(configs: Sequence[type[StageConfig]]) -> dict[str, type[BaseModel]]:
    """Returns the sections of a study beside the model by their keys."""
    models: dict[str, type[BaseModel]] = {"training": TrainingSection}
    for config in configs:
        for name, field in config.model_fields.items():
            for kind in get_args(field.annotation):
                if isinstance(kind, type) and issubclass(kind, BaseModel):
                    models[name] = kind
    return models


def _as_given(part: Any) -> str:
    """Returns the part as a study gives it, with the values that its parameters have unless they are given."""
    fields_of_part = part.Config.model_fields
    values = {name: field.default for name, field in fields_of_part.items() if not field.is_required()}
    values |= settings_for(part.Config)
    parameters = [name for name in fields_of_part if name != "name" and values[name] is not None]
    if not parameters:
        return str(part.name)
    pairs = [f"name: {part.name}", *(f"{name}: {word(values[name])}" for name in parameters)]
    # A line ends between two parameters, and never inside one.
    unbroken = ", ".join(pair.replace(" ", SPACE) for pair in pairs)
    return f"{{{unbroken}}}"


def _parameters(config: Any) -> Rows:
    """Returns the parameters of a part, each with its values, its default and its description."""
    rows = []
    for key, node in fields(config).items():
        if key != "name":
            default = f"default {word(node['default'])}" if "default" in node else "required"
            rows.append((key, f"{kind(node)}; {default}"))
            rows.append(("", node.get("description", "")))
    return [row for row in rows if any(row)]


def _shapes(part: type) -> Rows:
    """Returns the methods that a part defines itself, with their docstrings, and the legend of its module."""
    family = [base for base in part.__mro__ if base.__module__.partition(".")[0] not in ("torch", "builtins")]
    own_methods = _methods(family[:-1] or family)
    contract = _methods(family[-1:])
    rows = []
    for name in contract or own_methods:
        if name in own_methods:
            rows.append((name, _documented(getattr(part, name))[0]))
    for text in _documented(inspect.getmodule(part)):
        if text.startswith("Shapes:"):
            rows.append(("where", text.removeprefix("Shapes: ")))
    return [(name, " ".join(text.split())) for name, text in rows]


def _documented(subject: object) -> list[str]:
    """Returns the paragraphs of a docstring."""
    return (inspect.getdoc(subject) or "").split("\n\n")


def _methods(classes: Sequence[type]) -> list[str]:
    """Returns the public methods that `classes` define, without repetitions."""
    names: dict[str, None] = {}
    for base in classes:
        names |= {name: None for name, item in vars(base).items() if inspect.isfunction(item)}
    return [name for name in names if not name.startswith("_") and name not in NO_SHAPES]


def kind(node: dict[str, Any]) -> str:
    """Returns the values that a JSON Schema allows, in words: `whole number above 0`."""
    if SLOT_MARK in node:
        slot = node[SLOT_MARK]["slot"]
        parts = [CATALOGUE.get(slot, name) for name in CATALOGUE.names(slot)]
        return f"{slot}: {listed(map(_with_parameters, parts))}"
    if "anyOf" in node:
        return ", or ".join(kind(item) for item in node["anyOf"])
    if "enum" in node or "const" in node:
        values = [word(value) for value in node.get("enum", [node.get("const")])]
        return "on or off" if {"on", "off"} <= set(values) else " or ".join(values)
    limits = [f"{bound} {node[key]:g}" for key, bound in BOUNDS.items() if key in node]
    return " ".join([TYPES.get(str(node.get("type")), "anything"), " and ".join(limits)]).rstrip()


def _with_parameters(part: Any) -> str:
    """Returns `low_rank(rank)`."""
    names = [name for name in part.Config.model_fields if name != "name"]
    return f"{part.name}({', '.join(names)})" if names else part.name


def _table(rows: Rows, indent: str = "") -> str:
    """Returns two columns in lines that fit the terminal."""
    width = len(indent) + max((len(first) for first, _ in rows), default=0) + 2
    return "\n".join(_filled(f"{indent + first:{width}}", second, " " * width) for first, second in rows)


def _filled(first: str, text: str, other: str | None = None) -> str:
    """Returns text in lines that fit the terminal, the first after `first`; no name and no number is split."""
    wrapper = textwrap.TextWrapper(
        width=min(MAX_WIDTH, shutil.get_terminal_size().columns),
        initial_indent=first,
        subsequent_indent=other or first,
        break_on_hyphens=False,
        break_long_words=False,
    )
    return (wrapper.fill(text) or first.rstrip()).replace(SPACE, " ")
