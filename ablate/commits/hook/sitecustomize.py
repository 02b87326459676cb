"""Python runs this before a script, whose end leaves a list of the files of its modules in $ABLATE_DIR."""

import atexit
import os
import sys


@atexit.register
def write_files() -> None:
    """Writes the source files of all modules that this process has imported to a list in $ABLATE_DIR.

    At its end, a script itself has lost the name of its file.
    """
    with open(f"{os.environ['ABLATE_DIR']}/files-{os.getpid()}.txt", "w") as file:
        file.writelines(
            f"{getattr(module, '__file__', None) or os.path.abspath(sys.argv[0])}\n"
            for module in [*sys.modules.values()]
        )


# The module of this name that this one hides, where there is one; Python forgives its absence.
sys.path.remove(os.path.dirname(__file__))
del sys.modules[__name__]
__import__(__name__)
