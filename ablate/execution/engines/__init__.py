"""Where trials run; an engine is a file here, found by its name in `--engine`."""

from ablate.base.registry import Catalogue

ENGINES = Catalogue()
