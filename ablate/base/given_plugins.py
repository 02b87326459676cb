"""Plugins that the command line names; those of a study are loaded, and their faults reported, with it."""

from __future__ import annotations

import traceback
from collections.abc import Iterable
from pathlib import Path

from ablate.base.errors import AblateError, Problem
from ablate.base.plugins import load_plugin


def load_given(paths: Iterable[Path]) -> None:
    """Registers what the files hold. Raises `AblateError` with the line at which one fails."""
    for path in paths:
        file = path.resolve()
        try:
            load_plugin(file)
        except (Exception, SystemExit) as error:
            frames = [f for f in traceback.extract_tb(error.__traceback__) if Path(f.filename) == file]
            line = error.lineno if isinstance(error, SyntaxError) else frames[-1].lineno if frames else None
            rule = f"fails when it is loaded: {type(error).__name__}: {error}"
            problem = Problem(rule, hint="Fix the plugin", line=line, source=str(path))
            raise AblateError(str(problem)) from None
