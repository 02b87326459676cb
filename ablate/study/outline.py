"""Parts, and the paths of a study, as the source of the package declares them: read without importing torch.

For the completion of command lines, which has a fraction of a second. Nothing that runs depends on it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

SECTIONS = (
    "study/schema.py",
    "study/sections/*.py",
    "models/section.py",
    "training/section.py",
    "core/trial.py",
)
ROOTS = {"": "StudyBase", "model": "ModelSection", "training": "TrainingSection"}
MAX_DEPTH = 6


class Outline:
    """The declarations of the package."""

    def __init__(self) -> None:
        self.classes: dict[str, ast.ClassDef] = {}
        self.aliases: dict[str, ast.expr] = {}
        "Names of types that sections define."
        self.parts: dict[str, dict[str, str]] = {}
        "Slot → name of a part → its class."
        package = Path(__file__).parents[1]
        sections = {file for pattern in SECTIONS for file in package.glob(pattern)}
        for file in sorted(package.rglob("*.py")):
            text = file.read_bytes()
            if file in sections or b"\n@register(" in text:
                for node in ast.parse(text).body:
                    if isinstance(node, ast.ClassDef):
                        self._add(node)
                    elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                        self.aliases[node.targets[0].id] = node.value

    def _add(self, node: ast.ClassDef) -> None:
        self.classes[node.name] = node
        for call in node.decorator_list:
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "register":
                slot, name = (str(ast.literal_eval(argument)) for argument in call.args[:2])
                self.parts.setdefault(slot, {})[name] = node.name

    @cached_property
    def paths(self) -> dict[str, list[str]]:
        """Dotted path of a study → the words that it may have there, where these are known."""
        found: dict[str, list[str]] = {}
        for root, name in ROOTS.items():
            found |= dict(self._fields(self.classes[name], root, 0))
        found["task"] = sorted(self.parts["task"])
        return found | dict(self._of_parts("task", "task", 0))

    def _of_parts(self, slot: str, path: str, depth: int) -> Iterator[tuple[str, list[str]]]:
        for name in self.parts.get(slot, {}).values():
            for config in self._configs(name):
                yield from self._fields(config, path, depth + 1)

    def _configs(self, name: str) -> Iterator[ast.ClassDef]:
        """The Config of a class, and those that it inherits."""
        node = self.classes.get(name)
        if node is not None:
            yield from (n for n in node.body if isinstance(n, ast.ClassDef) and n.name == "Config")
            for base in node.bases:
                yield from self._configs(base.id) if isinstance(base, ast.Name) else ()

    def _fields(self, node: ast.ClassDef, path: str, depth: int) -> Iterator[tuple[str, list[str]]]:
        """The paths that a section or config declares, and those further down."""
        for base in node.bases if depth < MAX_DEPTH else ():
            outer = base.value if isinstance(base, ast.Attribute) else base
            if isinstance(outer, ast.Name) and outer.id in self.classes:
                inherited = [self.classes[outer.id]] if outer is base else self._configs(outer.id)
                for one in inherited:
                    yield from self._fields(one, path, depth + 1)
        for field in node.body if depth < MAX_DEPTH else ():
            if not isinstance(field, ast.AnnAssign) or not isinstance(field.target, ast.Name):
                continue
            alias = _argument(field.annotation, "Field", "alias")
            name = alias or field.target.id
            if name.startswith("_") or "ClassVar" in ast.unparse(field.annotation):
                continue
            below = f"{path}.{name}" if path else name
            slot = _argument(field.annotation, "Slot", 0)
            yield below, sorted(self.parts.get(slot, {})) if slot else _words(field.annotation)
            if slot:
                yield from self._of_parts(slot, below, depth + 1)
            for inner in ast.walk(self._meant(field.annotation)):
                if isinstance(inner, ast.Name) and inner.id in self.classes:
                    yield from self._fields(self.classes[inner.id], below, depth + 1)

    def _meant(self, annotation: ast.expr) -> ast.expr:
        """What an annotation stands for, where it is a name that a section gives to a type."""
        return self.aliases.get(annotation.id, annotation) if isinstance(annotation, ast.Name) else annotation


def _argument(annotation: ast.expr, function: str, which: int | str) -> str:
    """The text that a call inside an annotation is given, by place or by keyword; or nothing."""
    for call in ast.walk(annotation):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == function:
            given = {keyword.arg: keyword.value for keyword in call.keywords} | dict(enumerate(call.args))
            if isinstance(found := given.get(which), ast.Constant):
                return str(found.value)
    return ""


def _words(annotation: ast.expr) -> list[str]:
    """The words of a choice or a switch."""
    found = []
    for node in ast.walk(annotation):
        if (
            isinstance(node, ast.Subscript)
            and isinstance(node.value, ast.Name)
            and node.value.id == "Literal"
        ):
            found += [
                c.value
                for c in ast.walk(node.slice)
                if isinstance(c, ast.Constant) and isinstance(c.value, str)
            ]
        elif isinstance(node, ast.Name) and node.id == "OnOff":
            found += ["on", "off"]
    return found
