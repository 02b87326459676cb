"""The calibration from the command line."""

import sys
from pathlib import Path

if __name__ == "__main__":
    # What tests share, as pytest finds it.
    sys.path.insert(0, str(Path(__file__).parents[1]))
    from .campaign import main

    raise SystemExit(main())
