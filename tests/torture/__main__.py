"""The campaign from the command line."""

from .campaign import main

if __name__ == "__main__":
    raise SystemExit(main())
