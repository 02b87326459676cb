from __future__ import annotations

from pathlib import Path

from rich.console import Console

from ablate.commands.plan import show_plan
from ablate.route.console import saying
from ablate.route.options import Options
from ablate.route.plan import planned, study_of


def print_plan(path: Path, options: Options, console: Console, detect: float | None = None) -> None:
    """Prints the plan of a study, as `ablate plan` does."""
    show_plan(planned(study_of(path, options), options, saying(console), detect), console)
