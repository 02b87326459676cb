"""Python runs this file at its start, before a script: when it ends, the files of its modules are in $ABLATE_DIR."""

import atexit
import os
import sys
from importlib.machinery import PathFinder
from importlib.util import module_from_spec


def write_modules() -> None:
    """A line each: name, file."""
    with open(os.path.join(os.environ["ABLATE_DIR"], f"modules-{os.getpid()}.txt"), "w") as file:
        for name, module in list(sys.modules.items()):
            file.write(f"{name}\t{getattr(module, '__file__', None) or ''}\n")


atexit.register(write_modules)
sys.path.remove(os.path.dirname(__file__))
# The file of that name that this one stands before.
if (spec := PathFinder.find_spec("sitecustomize", sys.path)) and spec.loader:
    spec.loader.exec_module(module_from_spec(spec))
