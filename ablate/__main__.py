"""`python -m ablate`."""

import os
import sys

import ablate

# `python -m` puts the current folder first, in which a `random.py` may lie; the package need not be found there.
if not sys.flags.safe_path and not os.path.abspath(ablate.__file__).startswith(os.path.join(os.getcwd(), "")):
    sys.path[:1] = [entry for entry in sys.path[:1] if os.path.abspath(entry) != os.getcwd()]

from ablate.cli import main

main()
