"""Python runs this before a script: when that ends, $ABLATE_DIR has a line for each module, its name and its file."""

import atexit
import os
import sys
from importlib.machinery import PathFinder


def write_modules() -> None:
    """Of this process, unless it is killed."""
    # At its end a script has lost its name.
    files = {name: getattr(module, "__file__", None) or "" for name, module in list(sys.modules.items())}
    files["__main__"] = os.path.abspath(sys.argv[0])
    with open(f"{os.environ['ABLATE_DIR']}/modules-{os.getpid()}.txt", "w") as file:
        file.writelines(f"{name}\t{path}\n" for name, path in files.items())


atexit.register(write_modules)
sys.path.remove(os.path.dirname(__file__))
# The file of this name before which this one stands.
if (spec := PathFinder.find_spec("sitecustomize", sys.path)) and spec.loader:
    spec.loader.exec_module(sys.modules[__name__])
