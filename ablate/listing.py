"""`ablate list`: what is registered, and what each part is."""

from __future__ import annotations

import inspect
import textwrap
from pathlib import Path
from typing import Any

from ablate.errors import AblateError, Problem, listed, nearest
from ablate.registry import CATALOGUE, SLOT_MARK
from ablate.study.json_schema import Node, settings, summary

WIDTH = 100


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
        meaning = textwrap.wrap(node.get("description", ""), WIDTH - width - 4)
        lines += [f"  {'':{width}}  {line}" for line in meaning]
    return "\n".join([*lines, "", f"defined in {_place(part)}"])


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
        wrapped = textwrap.wrap(second, WIDTH - width - 2) or [""]
        lines += [
            f"{head:{width}}  {line}" for head, line in zip([first, *[""] * WIDTH], wrapped, strict=False)
        ]
    return "\n".join(line.rstrip() for line in lines)


def _unknown(argument: str, rule: str, given: str, names: list[str]) -> AblateError:
    return AblateError(
        str(Problem(rule, (), given, listed(names, 40), nearest(given, names), source=argument))
    )
