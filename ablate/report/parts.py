"""The registered parts in words: what each computes, its parameters and shapes, from its own docstrings."""

import inspect
import shutil
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from itertools import repeat
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel

from ablate.base.errors import AblateError, Problem, listed
from ablate.base.registry import CATALOGUE, SLOT_MARK, Slot, UnknownPart
from ablate.base.text import word
from ablate.core.metric import sliced
from ablate.models.reference import places, settings_for
from ablate.search.pruners import PRUNERS
from ablate.search.samplers import SAMPLERS
from ablate.study.json_schema import fields, summary
from ablate.study.stage_config import StageConfig
from ablate.study.suggestions import part_hint
from ablate.tasks.task import Task
from ablate.training.section import TrainingSection

Rows = Sequence[tuple[str, str]]
# Slots in which a study can name a class of Optuna's.
OPTUNA = {"sampler": SAMPLERS, "pruner": PRUNERS}
SPACE = "\xa0"  # At which no line ends.
MAX_WIDTH = 100  # Columns that are used at most, in a terminal that has them.
# Methods of parts whose docstrings give no shapes.
NO_SHAPES = ("initialise", "step", "beside", "extra_repr")
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
    if name is None:
        rows = [(known, summary(CATALOGUE.get(slot, known))) for known in CATALOGUE.names(slot)]
        if slot not in OPTUNA:
            return _table(rows)
        more = f"Or {OPTUNA[slot].noun}, by its own name: {', '.join(OPTUNA[slot].names())}."
        return f"{_table(rows)}\n\n{_filled('', more)}"
    try:
        part: Any = OPTUNA[slot].part(name) if slot in OPTUNA else CATALOGUE.get(slot, name)
    except UnknownPart as error:
        raise _unknown(slot, name, error.names, part_hint(slot, name, error.names, "ablate list ")) from None
    paragraphs = (inspect.getdoc(part) or "(no docstring)").split("\n\n")
    texts = [f"{slot} {name}", *(_filled("  ", " ".join(text.split())) for text in paragraphs)]
    texts += [f"{heading}\n{_table(rows, '  ')}".rstrip() for heading, rows in _sections(part, configs)]
    file = Path(inspect.getsourcefile(part) or part.__module__)
    shown = file.relative_to(Path.cwd()) if file.is_relative_to(Path.cwd()) else file
    return "\n\n".join([*texts, f"defined in {shown}:{inspect.getsourcelines(part)[1]}"])


def _other(slot: str) -> str:
    """What can be named in a slot beside the registered parts."""
    return f", or {OPTUNA[slot].noun}" if slot in OPTUNA else ""


def _unknown(kind: str, name: str, names: Sequence[str], hint: str) -> AblateError:
    return AblateError(str(Problem(f"unknown {kind} {name!r}", allowed=listed(names, 40), hint=hint)))


def _sections(part: Any, configs: Sequence[type[StageConfig]]) -> Iterator[tuple[str, Rows]]:
    """Headings with their rows; of parts of a model also shapes."""
    # Of a workload with options of its own, one of them has its name.
    own = getattr(part, "Options", None)
    given = f"{{{part.name}: {settings_for(own)[part.name]}}}" if own else _as_given(part)
    yield "in a study", [(f"{_path(part.slot, configs)}:", given)]
    parameters = _parameters(own or part.Config)
    yield ("parameters" if parameters else "no parameters"), parameters
    if part.slot == "task":
        yield from _of_task(part)
    if place := places().get(part.slot):
        yield "shapes", _shapes(part)
        if differs := getattr(part, "begins_unlike", ""):
            yield f"begins unlike {place.default}", [("", differs)]


def _of_task(part: Any) -> Iterator[tuple[str, Rows]]:
    """What is known of a task at the size that it recommends; nothing of one that needs the user's file."""
    asked = part.recommended.get("task") or settings_for(part.Config)
    try:
        task: Task = part.Config.model_validate({"name": part.name, **asked}).build()
    except (AblateError, ValueError):
        return
    scales = [
        (name, [("chance", of.floor), ("solved", of.solved), ("best", of.ceiling)])
        for name, of in {**task.metrics, **task.decoded}.items()
    ]
    told = [
        (name, ", ".join(f"{term} {value:.4g}" for term, value in of if value is not None))
        for name, of in scales
    ]
    yield f"metrics ({task.outcome.replace('_', ' ')})", told
    first = next(iter(task.metrics))
    headed = {
        "evaluation slices, by what differs": {sliced(first, name): of for name, of in task.slices().items()},
        "constants, with which claims may compare": task.constants(),
        "a size at which a small baseline learns it on one core": {
            f"{name}:": {"name": part.name, **of} if name == "task" else of
            for name, of in part.recommended.items()
        },
    }
    for heading, rows in headed.items():
        if rows:
            yield heading, [(name, _flow(of)) for name, of in rows.items()]


def _flow(value: Any) -> str:
    """`{steps: 600, lr: 0.003}`; a line ends between two of them."""
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{key}:{SPACE}{_flow(of)}' for key, of in value.items())}}}"
    return f"{value:.4g}" if isinstance(value, float) else word(value)


def _path(slot: str, configs: Sequence[type[StageConfig]]) -> str:
    """Returns where a study names a part of the slot."""
    if slot in places():
        return ".".join(["model", *places()[slot].path])
    sections: dict[str, type[BaseModel]] = {"training": TrainingSection}
    for config in configs:
        for name, field in config.model_fields.items():
            for kind in get_args(field.annotation):
                if isinstance(kind, type) and issubclass(kind, BaseModel):
                    sections[name] = kind
    for section, model in sections.items():
        for name, field in model.model_fields.items():
            if any(isinstance(mark, Slot) and mark.slot == slot for mark in field.metadata):
                return f"{section}.{name}"
    return slot


def _as_given(part: Any) -> str:
    """The part as a study gives it, with the values that its parameters have unless they are given."""
    known = part.Config.model_fields
    values = {name: field.default for name, field in known.items() if not field.is_required()}
    values |= settings_for(part.Config)
    given = [f"{name}: {word(values[name])}" for name in known if name != "name" and values[name] is not None]
    # A line ends between two parameters, and never inside one.
    pairs = [pair.replace(" ", SPACE) for pair in [f"{{name: {part.name}", *given]]
    return f"{', '.join(pairs)}}}" if given else str(part.name)


def _parameters(config: Any) -> Rows:
    rows = []
    for key, node in fields(config).items():
        if key != "name":
            default = f"default {word(node['default'])}" if "default" in node else "required"
            rows += [(key, f"{kind(node)}; {default}"), ("", node.get("description", ""))]
    return [row for row in rows if any(row)]


def _shapes(part: type) -> Rows:
    """The methods that a part defines itself, with their docstrings, and the legend of its module."""
    family = [base for base in part.__mro__ if base.__module__.partition(".")[0] not in ("torch", "builtins")]
    own = _methods(family[:-1] or family)
    found = [name for name in _methods(family[-1:]) or own if name in own]
    rows = [(name, (inspect.getdoc(getattr(part, name)) or "").partition("\n\n")[0]) for name in found]
    paragraphs = (inspect.getdoc(inspect.getmodule(part)) or "").split("\n\n")
    rows += [("where", text.removeprefix("Shapes: ")) for text in paragraphs if text.startswith("Shapes:")]
    return [(name, " ".join(text.split())) for name, text in rows]


def _methods(classes: Sequence[type]) -> list[str]:
    """The public methods that `classes` define, without repetitions."""
    names = [name for base in classes for name, item in vars(base).items() if inspect.isfunction(item)]
    return [name for name in dict.fromkeys(names) if not name.startswith("_") and name not in NO_SHAPES]


def kind(node: dict[str, Any]) -> str:
    """The values that a JSON Schema allows, in words: `whole number above 0`."""
    if SLOT_MARK in node:
        slot = node[SLOT_MARK]["slot"]
        return f"{slot}: {listed(map(_with_parameters, map(CATALOGUE.get, repeat(slot), CATALOGUE.names(slot))))}"
    if "anyOf" in node:
        return ", or ".join(kind(item) for item in node["anyOf"])
    if "enum" in node or "const" in node:
        values = [word(value) for value in node.get("enum", [node.get("const")])]
        return "on or off" if {"on", "off"} <= set(values) else " or ".join(values)
    limits = [f"{bound} {node[key]:g}" for key, bound in BOUNDS.items() if key in node]
    return " ".join([TYPES.get(str(node.get("type")), "anything"), " and ".join(limits)]).rstrip()


def _with_parameters(part: Any) -> str:
    """`low_rank(rank)`."""
    names = [name for name in part.Config.model_fields if name != "name"]
    return f"{part.name}({', '.join(names)})" if names else part.name


def _table(rows: Rows, indent: str = "") -> str:
    """Two columns in lines that fit the terminal."""
    width = len(indent) + max((len(first) for first, _ in rows), default=0) + 2
    return "\n".join(_filled(f"{indent + first:{width}}", second, " " * width) for first, second in rows)


def _filled(first: str, text: str, other: str | None = None) -> str:
    """Text in lines that fit the terminal, the first after `first`; no name and no number is split."""
    columns = min(MAX_WIDTH, shutil.get_terminal_size().columns)
    wrapper = textwrap.TextWrapper(
        columns, first, other or first, break_on_hyphens=False, break_long_words=False
    )
    return (wrapper.fill(text) or first.rstrip()).replace(SPACE, " ")
