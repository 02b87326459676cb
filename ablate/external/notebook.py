"""The code cells of a notebook as one script, and its cell of parameters."""

from __future__ import annotations

import ast
import json
import re
from dataclasses import dataclass
from typing import Any

from ablate.external.script import NotReplaceable

SUFFIX = ".ipynb"
PARAMETERS = "parameters"
"""The tag of the cell whose names papermill replaces, and a study too."""
_OF_IPYTHON = re.compile(r"(\s*)([%!]{1,2}[\w~./].*)")
"""A line that IPython alone understands: a magic, or a command of a shell."""
_ABOUT_CELL = ("%%time", "%%timeit", "%%capture")
"""Magics of a whole cell that leave what it does as it is."""


@dataclass(frozen=True)
class NotebookScript:
    """A notebook as a script."""

    source: bytes
    parameters: range
    """The lines of the cell that is tagged `parameters`; empty where none is."""
    left_out: tuple[str, ...]
    """Lines that IPython alone understands."""


def script_of(content: bytes) -> NotebookScript:
    """Returns the code cells of a notebook, in order. Raises `NotReplaceable` for what is no script of Python."""
    try:
        cells = json.loads(content)["cells"]
        code = [(number, cell) for number, cell in enumerate(cells, 1) if cell["cell_type"] == "code"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise NotReplaceable("it is no notebook of format 4") from None
    lines: list[str] = []
    left_out: list[str] = []
    parameters = range(0)
    for number, cell in code:
        text, others = _as_python("".join(cell["source"]), number)
        lines.append(f"# Cell {number}")
        if PARAMETERS in _tags(cell):
            parameters = range(len(lines) + 1, len(lines) + 1 + len(text))
        lines += text
        left_out += others
    return NotebookScript("".join(f"{line}\n" for line in lines).encode(), parameters, tuple(left_out))


def _tags(cell: dict[str, Any]) -> list[str]:
    """Returns the tags of a cell."""
    tags: list[str] = cell.get("metadata", {}).get("tags", [])
    return tags


def _as_python(text: str, number: int) -> tuple[list[str], list[str]]:
    """Returns the lines of a cell, and those left out of it, in whose place is `pass`. Raises `NotReplaceable`."""
    try:
        ast.parse(text)
    except (SyntaxError, ValueError):
        pass
    else:
        return text.split("\n"), []
    lines: list[str] = []
    left_out: list[str] = []
    for line in text.split("\n"):
        match = _OF_IPYTHON.fullmatch(line)
        if match is None:
            lines.append(line)
            continue
        word = match[2].split()[0]
        if word.startswith("%%") and word not in _ABOUT_CELL:
            raise NotReplaceable(f"cell {number} begins with {word}, and is not of Python")
        left_out.append(match[2])
        lines.append(f"{match[1]}pass  # {match[2]}")
    return lines, left_out
