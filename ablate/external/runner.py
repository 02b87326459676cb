"""Calls a user's function: a file that is run by itself, and imports no other module of this package.

python -P runner.py train.py:train '{"lr": 0.1}' SEED
"""

import importlib
import inspect
import json
import os
import sys
from collections.abc import Mapping
from typing import Any

MARK = "ablate metrics: "  # Begins the lines of standard output that hold metrics as JSON.


def tell(metrics: Mapping[str, Any]) -> None:
    """Prints numbers by name as a line that the harness reads; a value that `float` takes is a number."""
    print(f"\n{MARK}{json.dumps(metrics, default=float)}", file=sys.__stdout__, flush=True)


def report(step: Any, **metrics: Any) -> None:
    """Prints the metrics at a step; a user's function may take this function as `report`."""
    tell({"step": step, **metrics})


def main(target: str, config: str, seed: str) -> None:
    """Calls `train.py:train` or `package.module:train` and prints the numbers that it returns."""
    place, _, name = target.rpartition(":")
    values: dict[str, Any] = json.loads(config)
    folder, module = os.path.split(place.removesuffix(".py"))
    sys.path[:0] = [os.path.abspath(folder), os.getcwd()]
    train = getattr(importlib.import_module(module), name)
    if "report" in inspect.signature(train).parameters:
        metrics = train(values, int(seed), report=report)
    else:
        metrics = train(values, int(seed))
    if not isinstance(metrics, Mapping):
        sys.exit(f"{target} must return numbers by name, as {{'accuracy': 0.9}}; it returned {metrics!r}")
    tell(metrics)


if __name__ == "__main__":
    main(*sys.argv[1:])
