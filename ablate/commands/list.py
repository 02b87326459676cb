"""`ablate list`: what is registered, and what each part is."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ablate.base.errors import AblateError, Problem, listed, nearest
from ablate.base.registry import CATALOGUE, SLOT_MARK
from ablate.study.json_schema import Node, settings, summary

if TYPE_CHECKING:
    from ablate.models.reference import Cost

WIDTH = 100
MAX_SHAPES = 8
"Parameters whose shapes are listed."
OTHER_METHODS = ("initialise", "step", "extra_repr")
"Of parts, that say nothing of their shapes."


def describe(slot: str | None, name: str | None) -> str:
    """All slots, the parts of one, or one part. Raises `AblateError` for what is not registered."""
    slots = CATALOGUE.slots()
    if slot is None:
        lines = [(known, ", ".join(CATALOGUE.names(known))) for known in slots]
        return f"{_table(lines)}\n\n`ablate list SLOT` says what they are, `ablate list SLOT NAME` shows one."
    if slot not in slots:
        raise _unknown("SLOT", "names no slot", slot, slots)
    names = CATALOGUE.names(slot)
    if name is None:
        return _table([(known, summary(CATALOGUE.get(slot, known))) for known in names])
    if name not in names:
        raise _unknown("NAME", f"names no {slot}", name, names)
    return _part(slot, name)


def _part(slot: str, name: str) -> str:
    part: Any = CATALOGUE.get(slot, name)
    lines = [f"{slot} {name}", "", textwrap.indent(inspect.getdoc(part) or "It has no docstring.", "  "), ""]
    parameters = {key: node for key, node in settings(part.Config).items() if key != "name"}
    lines.append("parameters" if parameters else "no parameters")
    width = max(map(len, parameters), default=0)
    for key, node in parameters.items():
        default = f"default {_word(node['default'])}" if "default" in node else "required"
        lines.append(f"  {key:{width}}  {kind(node)}; {default}")
        meaning = textwrap.wrap(node.get("description", ""), WIDTH - width - 4, break_on_hyphens=False)
        lines += [f"  {'':{width}}  {line}" for line in meaning]
    for heading, rows in _sections(slot, part).items():
        lines += ["", heading, textwrap.indent(_table(rows), "  ")]
    return "\n".join([*lines, "", f"defined in {_place(part)}"])


def _sections(slot: str, part: Any) -> dict[str, list[tuple[str, str]]]:
    """What is said of the parts of a model beside their parameters, by heading; nothing of others."""
    from ablate.models.reference import places

    if slot not in places():
        return {}
    reference, costs = _cost(slot, part.name)
    sections = {"shapes": _shapes(part), "supports": _abilities(slot, part), reference: costs}
    return {heading: rows for heading, rows in sections.items() if rows}


def _shapes(part: type) -> list[tuple[str, str]]:
    """The hooks that a part has of its own, as their docstrings tell them, and the legend of its module."""
    family = [base for base in part.__mro__ if base.__module__.partition(".")[0] not in ("torch", "builtins")]
    root = family[-1]
    hooks = _methods(root) or _methods(part)
    rows = []
    for name in (name for name in hooks if name in _methods(part) or part is root):
        texts = [inspect.getdoc(vars(base)[name]) or "" for base in family if name in vars(base)]
        text = next((text for text in texts if text and not text.startswith("See ")), "")
        rows.append((name, " ".join(text.partition("\n\n")[0].split())))
    paragraphs = (inspect.getdoc(inspect.getmodule(part)) or "").split("\n\n")
    legend = [" ".join(text.split()) for text in paragraphs if text.startswith("Shapes:")]
    return [*rows, *(("where", text.removeprefix("Shapes: ")) for text in legend)]


def _methods(part: type) -> list[str]:
    """The public methods that a class or, below torch's, one of its bases but the root defines."""
    family = [base for base in part.__mro__ if base.__module__.partition(".")[0] not in ("torch", "builtins")]
    own = family[:-1] or family
    names = [name for base in own for name, item in vars(base).items() if inspect.isfunction(item)]
    return [name for name in dict.fromkeys(names) if not name.startswith("_") and name not in OTHER_METHODS]


def _abilities(slot: str, part: Any) -> list[tuple[str, str]]:
    """Where a mixer or a position can be used, by what its class says of itself."""
    if slot == "position":
        mixers = CATALOGUE.able("mixer", "attends")
        needed = [("mixers", listed(mixers, 40))] if part.inside_attention else []
        return [*needed, ("lengths", "any" if part.any_length else "up to max_len, the longest in training")]
    if slot != "mixer" or not hasattr(part, "attends"):
        return []
    able = [name for name in CATALOGUE.names("topology") if part.causal or not _of("topology", name).causal]
    masks = "padding, and one for each query" if part.attends else "padding" if part.padding else "none"
    lengths = "any" if part.any_length else "up to max_len, the longest in training"
    reasons: Any = getattr(part, "reasons", {})
    rows = [
        ("topologies", listed(able, 40), "causal"),
        ("masks", masks, "padding"),
        ("lengths", lengths, "any_length"),
    ]
    return [
        (name, f"{text}: {reasons[ability]}" if ability in reasons else text) for name, text, ability in rows
    ]


def _of(slot: str, name: str) -> Any:
    return CATALOGUE.get(slot, name)


def _cost(slot: str, name: str) -> tuple[str, list[tuple[str, str]]]:
    """A heading that names the reference size, and what the part costs there beside the slot's default."""
    from ablate.models.reference import SECTION, SIGNATURE, cost_of, places

    size = ", ".join(f"{key} {value}" for key, value in SECTION.items())
    heading = f"cost, in a model of {size}, for one sequence of {SIGNATURE.seq_len} tokens"
    heading += "; FLOPs are those of matrix products"
    try:
        cost = cost_of(slot, name)
    except Exception as error:
        return heading, [("unknown", f"it cannot be built there: {type(error).__name__}: {error}")]
    if cost.settings:
        heading += f"; {', '.join(f'{key} {_word(value)}' for key, value in cost.settings.items())}"
    default = places()[slot].default
    base = None if default in (None, name) else cost_of(slot, default)

    def beside(number: Callable[[Cost], int]) -> str:
        return f"{number(cost):,}" if base is None else f"{number(cost):,} ({number(base):,} with {default})"

    shapes = ", ".join(f"{path} {' × '.join(map(str, shape))}" for path, shape in cost.own.items())
    several = f", in {cost.places} places" if cost.places > 1 else ""
    rows = [
        ("parameters", f"{cost.own_parameters:,} of its own{several}"),
        ("which are", shapes if len(cost.own) <= MAX_SHAPES else ""),
        ("of the model", beside(lambda cost: cost.parameters)),
        ("FLOPs forward", beside(lambda cost: cost.flops.forward)),
        ("and backward", beside(lambda cost: cost.flops.training)),
    ]
    return heading, [row for row in rows if row[1]]


def kind(node: Node) -> str:
    """The values that a setting takes, in words: `whole number above 0`."""
    if SLOT_MARK in node:
        slot = node[SLOT_MARK]["slot"]
        return f"{slot}: {listed(CATALOGUE.names(slot))}"
    if "anyOf" in node:
        return ", or ".join(kind(item) for item in node["anyOf"])
    if "enum" in node or "const" in node:
        values = [_word(value) for value in node.get("enum", [node.get("const")])]
        return "on or off" if {"on", "off"} <= set(values) else " or ".join(values)
    names = {
        "integer": "whole number",
        "number": "number",
        "string": "text",
        "array": "list",
        "object": "mapping",
        "null": "none",
    }
    bounds = {
        "exclusiveMinimum": "above",
        "minimum": "at least",
        "exclusiveMaximum": "below",
        "maximum": "at most",
    }
    limits = [f"{word} {node[key]:g}" for key, word in bounds.items() if key in node]
    return " ".join([names.get(str(node.get("type")), "anything"), " and ".join(limits)]).rstrip()


def _word(value: Any) -> str:
    """A value as a study file has it."""
    if isinstance(value, bool):
        return "on" if value else "off"
    return "none" if value is None else f"{value}"


def _place(part: type) -> str:
    file = inspect.getsourcefile(part)
    line = inspect.getsourcelines(part)[1]
    path = Path(file) if file else Path(part.__module__)
    here = Path.cwd()
    return f"{path.relative_to(here) if path.is_relative_to(here) else path}:{line}"


def _table(rows: list[tuple[str, str]]) -> str:
    width = max((len(first) for first, _ in rows), default=0)
    lines = []
    for first, second in rows:
        wrapped = textwrap.wrap(second, WIDTH - width - 2, break_on_hyphens=False) or [""]
        lines += [
            f"{head:{width}}  {line}" for head, line in zip([first, *[""] * WIDTH], wrapped, strict=False)
        ]
    return "\n".join(line.rstrip() for line in lines)


def _unknown(argument: str, rule: str, given: str, names: list[str]) -> AblateError:
    return AblateError(
        str(Problem(rule, (), given, listed(names, 40), nearest(given, names), source=argument))
    )
