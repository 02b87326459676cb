"""Where trials run, an engine a file; `ablate.session.workers` has their one list."""
