"""Calls a user's function, or runs a script with other constants: a file that is run, and imports nothing of ours.

python -P runner.py train.py:train '{"lr": 0.1}' SEED
python -P runner.py train.py '{"LEARNING_RATE": 0.1}' SEED
"""

import ast
import importlib
import inspect
import json
import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

MARK = "ablate metrics: "  # Begins the lines of standard output that hold metrics as JSON.


def constants(tree: ast.Module) -> dict[str, ast.expr]:
    """Returns name → the value assigned at the top level, of names that are assigned once."""
    found: dict[str, list[ast.expr]] = {}
    for node in tree.body:
        for target in node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]:
            if isinstance(target, ast.Name) and (value := getattr(node, "value", None)):
                found.setdefault(target.id, []).append(value)
    return {name: values[0] for name, values in found.items() if len(values) == 1}


def copied(script: Path, values: Mapping[str, Any], folder: Path) -> Path:
    """Writes a copy of a script with other constants, beside links to the script's neighbours, and returns it."""
    source = script.read_bytes()
    lines, known = source.splitlines(keepends=True), constants(ast.parse(source))
    # From the end, so that the places of those before stay as they are.
    for name in sorted(values, key=lambda name: (known[name].lineno, known[name].col_offset), reverse=True):
        node = known[name]
        first, last = node.lineno - 1, node.end_lineno or 0
        rest = lines[last - 1][node.end_col_offset :]
        lines[first:last] = [lines[first][: node.col_offset] + repr(values[name]).encode() + rest]
    for other in {*script.parent.iterdir()} - {script}:
        (folder / other.name).symlink_to(other)
    copy = folder / script.name
    copy.write_bytes(b"".join(lines))
    return copy


def tell(metrics: Mapping[str, Any]) -> None:
    """Prints numbers by name; a value that `float` takes is a number."""
    print(f"\n{MARK}{json.dumps(metrics, default=float)}", file=sys.__stdout__, flush=True)


def main(target: str, config: str, seed: str) -> None:
    """Calls `train.py:train` or `package.module:train` and prints the numbers it returns, or runs `train.py`."""
    place, _, name = target.rpartition(":")
    values: dict[str, Any] = json.loads(config)
    if not place:
        copy = copied(
            Path(target).absolute(), values, Path(tempfile.mkdtemp(dir=os.environ.get("ABLATE_DIR")))
        )
        os.execv(sys.executable, [sys.executable, str(copy)])
    folder, module = os.path.split(place.removesuffix(".py"))
    sys.path[:0] = [os.path.abspath(folder), os.getcwd()]
    train = getattr(importlib.import_module(module), name)
    listens = "report" in inspect.signature(train).parameters
    report = {"report": lambda step, **metrics: tell({"step": step, **metrics})} if listens else {}
    found = train(values, int(seed), **report)
    if not isinstance(found, Mapping):
        sys.exit(f"{target} must return numbers by name, as {{'accuracy': 0.9}}; it returned {found!r}")
    tell(found)


if __name__ == "__main__":
    main(*sys.argv[1:])
