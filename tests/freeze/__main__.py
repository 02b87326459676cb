"""Compares what the package does now with its recordings, or records it anew."""

import argparse
import os
import sys
from pathlib import Path

if __name__ == "__main__":
    # The modules that tests share, as pytest finds them.
    sys.path.insert(0, str(Path(__file__).parents[1]))
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.setdefault("MPLBACKEND", "agg")
    from .recordings import RECORDINGS, selected

    parser = argparse.ArgumentParser(prog="python -m tests.freeze", description=__doc__)
    names = (
        f"a recording, or the first word of several (all without any); recordings: {', '.join(RECORDINGS)}"
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=names)
    parser.add_argument("--record", action="store_true", help="record them anew")
    options = parser.parse_args()
    differences = 0
    for recording in selected(options.names):
        if options.record:
            recording.record()
            print(f"{recording.name}: recorded")
        elif difference := recording.difference():
            differences += 1
            print(difference)
    raise SystemExit(differences > 0)
