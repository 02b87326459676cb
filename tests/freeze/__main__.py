"""Records again what the package does: all of it, or the recordings whose names are given."""

import argparse
import os
import sys
from pathlib import Path

if __name__ == "__main__":
    # What tests share, as pytest finds it.
    sys.path.insert(0, str(Path(__file__).parents[1]))
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.setdefault("MPLBACKEND", "agg")
    from .compare import difference
    from .recordings import RECORDINGS, path_of

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(RECORDINGS)}")
    parser.add_argument("--record", action="store_true", help="write them; without it they are only compared")
    given = parser.parse_args()
    wrong = 0
    for name in given.names or RECORDINGS:
        lines = RECORDINGS[name]()
        if given.record:
            path_of(name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
            print(f"{name}: {len(lines)} lines")
        elif found := difference(path_of(name), lines):
            wrong += 1
            print(found)
    raise SystemExit(wrong > 0)
