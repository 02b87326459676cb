"""The settings of a run, from the files that it keeps them in: YAML, JSON or TOML, as text by dotted names."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path

from ruamel.yaml import YAML
from ruamel.yaml.composer import MaxDepthExceededError
from ruamel.yaml.error import YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from ablate.base.errors import Invalid
from ablate.base.files import NotReadableError, read_plain
from ablate.base.numerals import in_one_form
from ablate.base.once import TwiceError, loads, put_once
from ablate.base.text import first_line
from ablate.report.words import message
from ablate.runs.cells import as_text

_MAX_BYTES = 2**22
_MAX_DEPTH = 40
_MAX_VALUES = 20_000


def settings_in(files: Sequence[Path], notes: list[str]) -> dict[str, str]:
    """Returns name → value as text, of all files; the first file that has a name gives its value.

    Adds to the notes what other files say of it. Raises `Invalid`.
    """
    settings: dict[str, str] = {}
    for file in files:
        of_file = _settings_of(file)
        shared = [name for name in of_file if name in settings]
        other = [name for name in shared if in_one_form(of_file[name]) != in_one_form(settings[name])]
        if other:
            notes.append(message("analyse.other_settings", str(file), files[0].name, other))
        settings = of_file | settings
    return settings


DELETED = "~"
"""The value of a setting, or of a group of settings, that a call of Hydra has deleted, as `~sched` does."""


def overrides_in(file: Path) -> dict[str, str]:
    """Returns name → value of what a call of Hydra has overridden; nothing where there is no such file.

    Raises `Invalid`.
    """
    if not file.exists():
        return {}
    overrides: dict[str, str] = {}
    for line in _flat(file, document_in(file)).values():
        name, sign, value = line.partition("=")
        if name.startswith("~"):
            overrides[name.removeprefix("~")] = DELETED
        elif sign and not name.startswith("hydra"):
            overrides[name.lstrip("+")] = value
    return overrides


def choices_in(file: Path) -> dict[str, str]:
    """Returns group → option, of the groups of settings that Hydra has composed. Raises `Invalid`."""
    if not file.exists():
        return {}
    prefix = "hydra.runtime.choices."
    settings = _flat(file, document_in(file))
    return {name.removeprefix(prefix): value for name, value in settings.items() if name.startswith(prefix)}


def _settings_of(file: Path) -> dict[str, str]:
    """Returns the settings of one file. Raises `Invalid`."""
    content = document_in(file)
    if isinstance(content, Mapping) and _is_of_wandb(content):
        # W&B keeps each setting as an object, whose value is the setting.
        content = {
            name: entry["value"] for name, entry in content.items() if name not in ("_wandb", "wandb_version")
        }
    if not isinstance(content, Mapping):
        if content is None or content == "":
            return {}
        raise Invalid("", f"{file}: must hold settings by their names")
    return _flat(file, content)


def _is_of_wandb(content: Mapping[str, object]) -> bool:
    return "_wandb" in content and all(
        isinstance(entry, Mapping) and "value" in entry
        for name, entry in content.items()
        if name != "wandb_version"
    )


def document_in(file: Path) -> object:
    """Returns the content of a file, in which each value of YAML is text as it is written. Raises `Invalid`."""
    try:
        text = read_plain(file, _MAX_BYTES).decode("utf-8-sig")
        if file.suffix.lower() == ".json":
            return loads(text)
        if file.suffix.lower() == ".toml":
            return tomllib.loads(text)
        return _plain_yaml(text)
    except NotReadableError as error:
        raise Invalid("", f"{file}: {error}") from None
    except (ValueError, RecursionError, YAMLError) as error:
        raise Invalid(
            "", f"{file}: is no {file.suffix.lower()[1:].upper()} that can be read: {_fault(error)}"
        ) from None


def _fault(error: Exception) -> str:
    if isinstance(error, (RecursionError, MaxDepthExceededError)):
        return "it is nested too deeply"
    mark = getattr(error, "problem_mark", None)
    line = f"line {mark.line + 1}: " if mark else ""
    return line + first_line(getattr(error, "problem", None) or error)


def _plain_yaml(text: str) -> object:
    """Returns the content of YAML as it is composed, without construction: nothing in it can run or grow.

    Raises `YAMLError` or `ValueError`.
    """
    yaml = YAML(typ="safe", pure=True)
    yaml.max_depth = _MAX_DEPTH
    yaml.composer.warn_double_anchors = False
    root = yaml.compose(text)
    return None if root is None else _Composed().plain(root, 0)


class _Composed:
    """The walk over the nodes of one file, of which it counts the values: an alias may stand for many."""

    def __init__(self) -> None:
        self._count = 0

    def plain(self, node: Node, depth: int) -> object:
        """Returns a node as objects, lists and text. Raises `ValueError`."""
        self._count += 1
        if self._count > _MAX_VALUES or depth > _MAX_DEPTH:
            raise ValueError(f"it has more than {_MAX_VALUES:,} values, or more than {_MAX_DEPTH} levels")
        if isinstance(node, MappingNode):
            entries: dict[str, object] = {}
            for key, value in node.value:
                put_once(entries, str(key.value), self.plain(value, depth + 1))
            return entries
        if isinstance(node, SequenceNode):
            return [self.plain(item, depth + 1) for item in node.value]
        assert isinstance(node, ScalarNode)
        return "null" if node.value in ("", "~") and not node.style else str(node.value)


def _flat(file: Path, content: object, prefix: str = "", depth: int = 0) -> dict[str, str]:
    """Returns values as text by their dotted names; a list of plain values is one value. Raises `Invalid`."""
    if depth > _MAX_DEPTH:
        raise Invalid("", f"{file}: is nested too deeply: more than {_MAX_DEPTH} levels")
    if isinstance(content, Mapping):
        entries = {str(key): value for key, value in content.items()}
    elif isinstance(content, list) and (
        not prefix or any(isinstance(item, (Mapping, list)) for item in content)
    ):
        entries = {str(place): value for place, value in enumerate(content)}
    else:
        return {as_text(prefix): _text(content)}
    values: dict[str, str] = {}
    for name, value in entries.items():
        below = _flat(file, value, f"{prefix}.{name}" if prefix else name, depth + 1)
        for path, text in below.items():
            try:
                put_once(values, path, text)
            except TwiceError as error:
                raise Invalid("", f"{file}: {error}") from None
    return values


def _text(value: object) -> str:
    """Returns a value as people write it in YAML and JSON."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return f"[{', '.join(_text(item) for item in value)}]"
    return as_text(value)
