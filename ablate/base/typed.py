"""Commands and values as they can be typed, commands where this process was started."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

DEFAULT_RESULTS = Path("results")


def typed(*arguments: str | Path) -> str:
    """`ablate ARGUMENTS`, quoted for a shell; with the path of `ablate` where a shell would not find it."""
    return shlex.join([*_program(), *map(str, arguments)])


def at_results(results: Path) -> list[str]:
    """The option that names a results folder to a command; nothing for the one that it takes anyway."""
    return [] if results == DEFAULT_RESULTS else ["--results", str(results)]


def word(value: Any) -> str:
    """A value as a study file gives it; `none` for None."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, str) and re.fullmatch(r"[A-Za-z_][\w.-]*", value):
        return value
    return "none" if value is None else json.dumps(value, ensure_ascii=False)


def _program() -> Sequence[str]:
    started = Path(sys.argv[0])
    if started.name != "ablate":
        return ["python", "-m", "ablate"] if started.parts[-2:] == ("ablate", "__main__.py") else ["ablate"]
    found = shutil.which("ablate")
    if found is not None and started.exists() and os.path.samefile(found, started):
        return ["ablate"]
    return [str(started)]
