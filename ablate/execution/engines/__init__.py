"""Where trials run; an engine is a file here, found by its name in `--engine`."""
