"""How the jobs of SLURM ended, by a table of `sacct` that lies beside the folders of runs: `sacct.csv`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from ablate.core.ending import Ending
from ablate.runs.ends.end_files import files_of, text_of
from ablate.runs.ends.statuses import ending_of_word

_NAMES = re.compile(r"\.?sacct(?:[-_.]\w+)*")
_KEYS = ("jobname", "jobid", "jobidraw")
"""The columns that may have the name of the folder of a run, in small letters."""


def account_files(root: Path) -> list[Path]:
    """Returns the tables of `sacct` in a folder, by their names."""
    return [file for file in files_of(root) if _NAMES.fullmatch(file.name.lower())]


def endings_in_accounts(files: Sequence[Path]) -> Mapping[str, Ending]:
    """Returns name or id of a job → how it ended; of several jobs of one name the last counts.

    None of what is not a table of `sacct`, and none of the steps of jobs: `107.batch`.
    """
    endings: dict[str, Ending] = {}
    for file in files:
        lines = [_cells_of(line) for line in text_of(file).splitlines() if line.strip()]
        header = [cell.lower() for cell in lines[0]] if lines else []
        if "state" not in header:
            continue
        keys = [header.index(name) for name in _KEYS if name in header]
        for cells in lines[1:]:
            row = dict(enumerate(cells))
            ending = ending_of_word(row.get(header.index("state"), ""), file.name)
            names = [row.get(key, "") for key in keys]
            is_step = any(re.fullmatch(r"\d\S*\.\w+", name) for name in names)
            if ending is not None and not is_step:
                endings |= dict.fromkeys(filter(None, names), ending)
    return endings


def _cells_of(line: str) -> list[str]:
    """Returns the cells of a line, between bars, tabs, commas or spaces."""
    mark = next((mark for mark in "|\t,;" if mark in line), None)
    if mark is not None:
        return [cell.strip().strip('"') for cell in line.split(mark)]
    # `CANCELLED by 1000` is one cell.
    return re.sub(r" by (\d+)", "", line).split()
