"""Tables of runs with summaries among them, read and judged."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
from click.testing import CliRunner

from ablate.cli import main
from ablate.runs.formats.frames import runs_in_frame
from ablate.runs.options import AnalysisOptions
from ablate.runs.reading import RunTable, by_roles


def table_of(frame: pd.DataFrame, options: AnalysisOptions) -> RunTable:
    """Returns the runs of a frame by their roles."""
    return by_roles(runs_in_frame(frame, options), options)


def judged(results: Path, *words: object) -> tuple[dict[str, Any], str]:
    """Returns the planned verdicts of a call by variant, and what it says of its input."""
    done = CliRunner().invoke(main, ["analyse", *map(str, words), "--results", str(results), "--json"])
    assert done.exit_code == 0, done.output
    rows = [row for row in json.loads(done.stdout)["verdicts"] if not row["exploratory"]]
    return {row["variant"]: row for row in rows}, " ".join(done.stderr.split())
