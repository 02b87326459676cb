"""A text as plain data, by its tree of YAML nodes, within bounds: a few aliases can stand for a billion values.

YAML 1.2 through ruamel.yaml: `1e-4` is a number and `off` a word. The tree is read rather than the constructed data,
because construction stops at the first duplicate key, and follows aliases without end.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.composer import Composer, MaxDepthExceededError
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode
from ruamel.yaml.reader import ReaderError

from ablate.base.errors import NOT_GIVEN, Problem

PathKey = tuple[str | int, ...]

MAX_NODES = 20_000
"""Keys and values of a study, those behind an alias as often as they are used."""
MAX_DEPTH = 40
"""Of values inside one another, and of the path of a `--set`."""


_TAG = "tag:yaml.org,2002:"
_NO_TEXT = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
"""Control characters but those that end lines and columns, and halves of surrogate pairs, which no file can hold."""


TOO_MANY = (
    f"must have at most {MAX_NODES:,} keys and values, those behind an alias counted wherever it is used"
)
TOO_DEEP = f"must be YAML: is nested too deeply; allowed: {MAX_DEPTH} levels"


class NotYAML(Exception):
    """What keeps a text from being read at all."""

    def __init__(self, rule: str, line: int | None = None) -> None:
        super().__init__(rule)
        self.rule, self.line = rule, line


class _Composer(Composer):
    """Counts nodes while they are made."""

    def __init__(self, loader: Any = None) -> None:
        super().__init__(loader)
        self.warn_double_anchors = False
        self.count = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        self.count += 1
        if self.count > MAX_NODES:
            raise NotYAML(TOO_MANY, self.parser.peek_event().start_mark.line + 1)
        return super().compose_node(parent, index)


def new_yaml() -> YAML:
    """A reader of one text."""
    yaml = YAML(typ="safe", pure=True)
    yaml.Composer = _Composer
    yaml.max_depth = MAX_DEPTH
    return yaml


def composed(text: str) -> Node | None:
    """The node tree of a text, in which aliases lead to one node from several places; raises `NotYAML`."""
    try:
        return new_yaml().compose(text)
    except MaxDepthExceededError as error:
        raise NotYAML(TOO_DEEP, error.problem_mark.line + 1) from None
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        what = " ".join(filter(None, (error.context, error.problem)))
        raise NotYAML(f"must be YAML: {what}", mark.line + 1 if mark else None) from None
    except ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise NotYAML("must be YAML: has a control character", line) from None
    except (YAMLError, ValueError) as error:
        raise NotYAML(f"must be YAML: {(str(error).splitlines() or [''])[0]}") from None
    except RecursionError:
        raise NotYAML(TOO_DEEP) from None


FAULT: Any = object()
"""A value that could not be read; its key is left out."""


class Reader:
    """Turns the nodes of one text into data, and notes the line of each; what is wrong is reported, all at once."""

    def __init__(
        self, lines: dict[PathKey, int], unread: set[PathKey], report: Callable[[Problem], None]
    ) -> None:
        self.lines, self.unread, self.report = lines, unread, report
        self.construct = new_yaml().constructor.construct_object
        self.open: list[Node] = []
        self.count = 0

    def read(self, node: Node, path: PathKey) -> Any:
        """The data of a node; `FAULT` where it cannot be read."""
        line = node.start_mark.line + 1
        self.lines.setdefault(path, line)
        self.count += 1
        if any(node is outer for outer in self.open):
            return self._fault("must not contain itself", path, line)
        # Both at the entry of the file that is read; the node may be that of an alias, far above.
        if self.count > MAX_NODES:
            raise NotYAML(TOO_MANY, self.lines.get(path[:1], line))
        if len(self.open) > MAX_DEPTH:
            raise NotYAML(TOO_DEEP, self.lines.get(path[:1], line))
        if isinstance(node, ScalarNode):
            return self._scalar(node, path, line)
        if str(node.tag) not in (f"{_TAG}map", f"{_TAG}seq"):
            return self._unknown(node, path, line)
        self.open.append(node)
        if isinstance(node, SequenceNode):
            items = [self.read(item, (*path, i)) for i, item in enumerate(node.value)]
            value: Any = [None if item is FAULT else item for item in items]
        else:
            assert isinstance(node, MappingNode)
            value = self._mapping(node, path)
        self.open.pop()
        return value

    def _mapping(self, node: MappingNode, path: PathKey) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key_node, value_node in node.value:
            line, key = key_node.start_mark.line + 1, str(key_node.value)
            if not isinstance(key_node, ScalarNode):
                self._note("a key must be a word", path, line)
            elif not str(key_node.tag).startswith(_TAG):
                self._unknown(key_node, (*path, key), line)
            elif _NO_TEXT.search(key):
                self._note("a key must not have a control character", path, line, key)
            elif key in result:
                first = self.lines[(*path, key)]
                self._note(f"duplicate key, first defined on line {first}", (*path, key), line)
            else:
                self.lines[(*path, key)] = line
                value = self.read(value_node, (*path, key))
                if value is not FAULT:
                    result[key] = value
        return result

    def _scalar(self, node: ScalarNode, path: PathKey, line: int) -> Any:
        kind = str(node.tag).removeprefix(_TAG)
        if _NO_TEXT.search(node.value):
            return self._fault("must not have a control character", path, line, node.value)
        if kind == "timestamp":
            # A date: the word itself, which the schema then judges.
            return str(node.value)
        if kind not in ("str", "int", "float", "bool", "null"):
            return self._unknown(node, path, line)
        try:
            value = self.construct(node)
        except (YAMLError, ValueError, LookupError):
            return self._fault("is not a value that YAML knows", path, line, node.value)
        if isinstance(value, float) and not math.isfinite(value):
            return self._fault("must be a finite number", path, line, value)
        if type(value) is int and not -(2**63) <= value < 2**63:
            return self._fault("must be a number of at most 64 bits", path, line, node.value)
        return value

    def _unknown(self, node: Node, path: PathKey, line: int) -> Any:
        tag = str(node.tag)
        tag = f"!!{tag.removeprefix(_TAG)}" if tag.startswith(_TAG) else tag
        return self._fault("has a tag that means nothing in a study", path, line, tag)

    def _fault(self, rule: str, path: PathKey, line: int, given: Any = NOT_GIVEN) -> Any:
        self._note(rule, path, line, given)
        self.unread.add(path)
        return FAULT

    def _note(self, rule: str, path: PathKey, line: int, given: Any = NOT_GIVEN) -> None:
        self.report(Problem(rule, path, given, line=line))
