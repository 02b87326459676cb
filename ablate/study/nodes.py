"""A text as a tree of YAML nodes, within bounds: a few lines of aliases can stand for a billion values.

YAML 1.2 through ruamel.yaml: `1e-4` is a number and `off` a word.
"""

from __future__ import annotations

from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.composer import Composer, MaxDepthExceededError
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import Node
from ruamel.yaml.reader import ReaderError

MAX_NODES = 20_000
"""Keys and values of a study, those behind an alias as often as they are used."""
MAX_DEPTH = 40
"""Of values inside one another, and of the path of a `--set`."""


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
            raise too_many(self.parser.peek_event().start_mark.line + 1)
        return super().compose_node(parent, index)


def too_many(line: int) -> NotYAML:
    """The refusal of a tree that has more than `MAX_NODES` nodes."""
    rule = (
        f"must have at most {MAX_NODES:,} keys and values, those behind an alias counted wherever it is used"
    )
    return NotYAML(rule, line)


def too_deep(line: int | None) -> NotYAML:
    """The refusal of a tree that is deeper than `MAX_DEPTH`."""
    return NotYAML(f"must be YAML: is nested too deeply; allowed: {MAX_DEPTH} levels", line)


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
        raise too_deep(error.problem_mark.line + 1) from None
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
        raise too_deep(None) from None
