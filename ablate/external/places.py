"""Where a constant may stand in a Python source: at the top level, in a class, as the default of an argument."""

from __future__ import annotations

import ast
import copy
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass

from ablate.base.errors import listed
from ablate.external.notebook import PARAMETERS
from ablate.external.script import Constants, Edit, literal

_FIELDS = ("field", "Field")
"""Functions that make a field of a class: of dataclasses, attrs and pydantic."""
_FACTORIES = ("default_factory", "factory")


@dataclass(frozen=True)
class _Default:
    """The default of a field."""

    node: ast.expr
    is_made: bool = False
    """Whether it is a function that makes the value anew for each instance."""


class NamedConstants(ABC):
    """Constants that a study may give other values, each named by a path."""

    @abstractmethod
    def paths(self) -> list[str]:
        """Returns the constants whose values can be replaced."""

    @abstractmethod
    def has(self, path: str) -> bool:
        """Returns whether there is a constant, whether or not its value can be replaced."""

    @abstractmethod
    def fault(self, path: str, value: object) -> str:
        """Returns the rule that forbids to replace a constant by a value; empty text where none does."""


class Place(NamedConstants):
    """A kind of place for constants, in one source.

    What a place has is looked for there alone, and refused where it cannot be replaced.
    """

    def __init__(self, tree: ast.Module, file: str) -> None:
        """tree: the syntax tree of the source; file: its name."""
        self.tree = tree
        self.file = file

    @abstractmethod
    def edit(self, path: str, value: object) -> Edit:
        """Returns the edit that gives a constant another value."""


class TopLevel(Place):
    """The names that a source assigns once, alone, at its top level: `LR`."""

    def __init__(self, tree: ast.Module, file: str) -> None:
        super().__init__(tree, file)
        self.constants = Constants.of(tree)
        self._classes = {node.name for node in tree.body if isinstance(node, ast.ClassDef)}

    def paths(self) -> list[str]:
        return self.constants.names()

    def has(self, path: str) -> bool:
        return path in self.constants.lines and path not in self._classes

    def fault(self, path: str, value: object) -> str:
        fault = self.constants.fault(path)
        if fault:
            return f"is not assigned once, alone, at the top level of {self.file}: {fault}"
        if self.constants.has_other_keys(path, value):
            return f"has keys in {self.file} that are not text, which a study cannot give"
        return ""

    def edit(self, path: str, value: object) -> Edit:
        return Edit(self.constants.values[path], literal(value))


class ParametersCell(TopLevel):
    """The names that a notebook assigns in its cell of parameters, and nowhere else."""

    def __init__(self, tree: ast.Module, file: str, lines: range) -> None:
        """lines: those of the cell; none where no cell has the tag."""
        super().__init__(tree, file)
        self._lines = lines

    def paths(self) -> list[str]:
        return [path for path in super().paths() if self.constants.values[path].lineno in self._lines]

    def fault(self, path: str, value: object) -> str:
        if not self._lines:
            return (
                f"has no place in {self.file}: tag the cell that assigns it `{PARAMETERS}`, as for papermill"
            )
        fault = super().fault(path, value)
        if fault or self.constants.values[path].lineno in self._lines:
            return fault
        return f"is not assigned in the cell of {self.file} that is tagged `{PARAMETERS}`"


class ClassFields(Place):
    """The fields of dataclasses, and other attributes that the body of a class assigns: `Config.lr`."""

    def __init__(self, tree: ast.Module, file: str) -> None:
        super().__init__(tree, file)
        self._classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
        # A class's body assigns its attributes as a module does its names.
        self._fields = {name: Constants.of(ast.Module(node.body, [])) for name, node in self._classes.items()}

    def paths(self) -> list[str]:
        paths: list[str] = []
        for name, fields in self._fields.items():
            paths += [f"{name}.{field}" for field in fields.names()]
        return paths

    def has(self, path: str) -> bool:
        name, dot, _ = path.partition(".")
        return bool(dot) and name in self._classes

    def fault(self, path: str, value: object) -> str:
        name, _, field = path.partition(".")
        fault = self._fields[name].fault(field)
        if fault:
            return f"is not assigned once, alone, in the class {name} of {self.file}: {fault}"
        lines = sorted(self._lines_that_override(name, field))
        if lines:
            return f"gets another value in {self.file}, {_lines(lines)}, so that its default may never count"
        node = self._fields[name].values[field]
        default = _default_of(node)
        if default is None:
            return f"has no default in {self.file}, line {node.lineno}"
        if self._is_mutable(name, default, value):
            return f"can be no list or section in {self.file}: write field(default_factory=…) in line {node.lineno}"
        return ""

    def edit(self, path: str, value: object) -> Edit:
        name, _, field = path.partition(".")
        default = _default_of(self._fields[name].values[field])
        assert default is not None
        if default.is_made:
            return Edit(default.node, f"lambda: {literal(value)}")
        return Edit(default.node, _like(default.node, value))

    def _lines_that_override(self, name: str, field: str) -> Iterator[int]:
        """Yields the lines that set an attribute of a class, or call the class with that argument."""
        for node in ast.walk(self.tree):
            match node:
                case ast.Attribute(value=ast.Name(owner), attr=attribute, ctx=ast.Store()):
                    if (owner, attribute) == (name, field):
                        yield node.lineno
                case ast.Call(func=ast.Name(owner), keywords=keywords) if owner == name:
                    if any(keyword.arg == field for keyword in keywords):
                        yield node.lineno

    def _is_mutable(self, name: str, default: _Default, value: object) -> bool:
        """Returns whether a dataclass refuses a value as the default of a field."""
        decorators = [ast.unparse(decorator) for decorator in self._classes[name].decorator_list]
        is_dataclass = any("dataclass" in decorator for decorator in decorators)
        is_tuple = isinstance(default.node, ast.Tuple) and isinstance(value, list)
        return is_dataclass and isinstance(value, list | dict) and not (is_tuple or default.is_made)


class ParserDefaults(Place):
    """The defaults of options of argparse, by the names that their values have: `weight_decay`."""

    def __init__(self, tree: ast.Module, file: str) -> None:
        super().__init__(tree, file)
        self._options: dict[str, list[ast.Call]] = {}
        self._set: dict[str, list[int]] = {}
        for node in ast.walk(tree):
            match node:
                case ast.Call(func=ast.Attribute(attr="add_argument")):
                    name = _name_of_option(node)
                    if name:
                        self._options.setdefault(name, []).append(node)
                case ast.Call(func=ast.Attribute(attr="set_defaults")):
                    for keyword in node.keywords:
                        self._set.setdefault(str(keyword.arg), []).append(node.lineno)

    def paths(self) -> list[str]:
        return [name for name in self._options if not self.fault(name, 0)]

    def has(self, path: str) -> bool:
        return path in self._options

    def fault(self, path: str, value: object) -> str:
        calls = self._options[path]
        first = calls[0]
        lines = [call.lineno for call in calls]
        if len(calls) > 1:
            return f"is the name of {len(calls)} options in {self.file}, {_lines(lines)}"
        if path in self._set:
            return f"gets its default in {self.file} by set_defaults, {_lines(self._set[path])}"
        if any(keyword.arg is None for keyword in first.keywords):
            return f"gets what is not seen in {self.file}, line {first.lineno}: write default= there"
        if any(keyword.arg == "required" for keyword in first.keywords):
            return f"may be a required option in {self.file}, line {first.lineno}: give it in a command"
        return ""

    def edit(self, path: str, value: object) -> Edit:
        (call,) = self._options[path]
        for keyword in call.keywords:
            if keyword.arg == "default":
                return Edit(keyword.value, _like(keyword.value, value))
        changed = copy.deepcopy(call)
        changed.keywords.append(ast.keyword("default", ast.parse(literal(value), "value", "eval").body))
        return Edit(call, ast.unparse(changed))


PLACES: tuple[type[Place], ...] = (TopLevel, ClassFields, ParserDefaults)
"""The places in which a constant is looked for; the first that has it counts."""


def _lines(lines: list[int]) -> str:
    """Returns the numbers of lines in words."""
    return f"line {lines[0]}" if len(lines) == 1 else f"lines {listed(lines)}"


def _like(node: ast.expr, value: object) -> str:
    """Returns a value as an expression; as a tuple in place of a tuple, which JSON lacks."""
    if isinstance(node, ast.Tuple) and isinstance(value, list):
        return f"({''.join(f'{literal(item)}, ' for item in value).strip()})"
    return literal(value)


def _default_of(value: ast.expr) -> _Default | None:
    """Returns the default of a field by the value that its class assigns; None of a call such as `field()`."""
    if not isinstance(value, ast.Call) or ast.unparse(value.func).rpartition(".")[2] not in _FIELDS:
        return _Default(value)
    for keyword in value.keywords:
        if keyword.arg == "default" or keyword.arg in _FACTORIES:
            return _Default(keyword.value, is_made=keyword.arg != "default")
    return _Default(value.args[0]) if value.args else None


def _name_of_option(call: ast.Call) -> str:
    """Returns the name of the value of an option that `add_argument` adds; empty of what is no option."""
    options: list[str] = []
    for argument in call.args:
        if not isinstance(argument, ast.Constant) or not str(argument.value).startswith("-"):
            return ""
        options.append(str(argument.value))
    for keyword in call.keywords:
        if keyword.arg == "dest" and isinstance(keyword.value, ast.Constant):
            return str(keyword.value.value)
    long = [option for option in options if option.startswith("--")]
    for option in [*long, *options]:
        return option.lstrip("-").replace("-", "_")
    return ""
