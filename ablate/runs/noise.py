"""Known noise: the spread of the baseline's runs, measured once, and reused for single new runs.

The file has the runs of the baseline, and all that must not change: metric, evaluation, data and machine.
`analysis.unpaired` says how it is used. Errors raise `AblateError`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pandas as pd

from ablate.base.errors import AblateError, Gather, shown
from ablate.base.files import destination, write_text
from ablate.base.process import now
from ablate.base.text import first_line
from ablate.report.words import message
from ablate.runs.options import AnalysisOptions
from ablate.runs.reading import RunTable
from ablate.runs.statuses import is_left_out

MADE = ("evaluation", "data", "machine", "commit")
_MAY_CHANGE = "commit"


def _made(options: AnalysisOptions) -> dict[str, str]:
    """Returns the baseline, metric and direction, and all that the runs were made with."""
    judged = {"baseline": options.baseline, "metric": options.metric, "direction": options.direction}
    return {**judged, **dict(options.made_with)}


def keep_noise(trials: pd.DataFrame, options: AnalysisOptions, file: Path) -> str:
    """Writes the noise of the baseline's runs, n, σ and values by task, and returns it in words.

    Raises `AblateError` for a file that holds something else.
    """
    target = destination(file)
    if target.exists() and target.stat().st_size > 0:
        _read(file)
    baseline = trials[(trials["variant"] == options.baseline) & ~is_left_out(trials)]
    noise = baseline.groupby("task")[options.metric].agg(n="size", sd="std", values=list)
    made = _made(options)
    missing = " ".join(f"--made-with {name} VALUE" for name in MADE if name not in made)
    with Gather() as at:
        at.refuse(
            missing, "--keep-noise", "takes what must not change, and the commit", hint=f"Give {missing}"
        )
        at.refuse(
            baseline.empty or noise["n"].min() < 2 or (baseline["status"] != "completed").any(),
            "RUNS",
            f"must have two completed runs of {options.baseline} or more on each task, better ten",
            noise["n"].to_dict(),
        )
    by_task = noise.to_dict("index")
    kept = {"date": now(), "made_with": made, "noise": by_task}
    write_text(target, json.dumps(kept, indent=1) + "\n")
    lines = [
        message("analyse.kept", task, of_task["sd"], of_task["n"], file) for task, of_task in by_task.items()
    ]
    return "\n".join(lines)


def beside_noise(table: RunTable, options: AnalysisOptions, file: Path) -> RunTable:
    """Returns the table with the baseline's runs that a file of `keep_noise` has."""
    values, made_then = _read(file)
    _refuse_changes(made_then, _made(options))
    runs = {
        "id": [f"{file}, run {run}" for run in range(1, len(values) + 1)],
        "task": values.index,
        "seed": range(-1, -len(values) - 1, -1),
        "example": "all",
        "variant": options.baseline,
        "status": "completed",
        options.metric: values.to_numpy(),
    }
    noise = pd.DataFrame(runs).set_index("id", drop=False)
    return replace(table, rows=pd.concat([noise, table.rows]))


def _read(file: Path) -> tuple[pd.Series, dict[str, str]]:
    """Returns the values of a file of `keep_noise` by task, and what they were made with. Raises `AblateError`."""
    try:
        kept = json.loads(file.read_bytes())
        values = pd.DataFrame.from_dict(kept["noise"], "index")["values"].explode()
        return values, dict(kept["made_with"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise AblateError(
            f"{file}: is not a file that --keep-noise has written ({first_line(error)}); name another"
        ) from None


def _refuse_changes(made_then: Mapping[str, str], made_now: Mapping[str, str]) -> None:
    """Raises `Invalid` where runs were made otherwise than those of the noise."""
    changed = {}
    for name, value in made_then.items():
        if name != _MAY_CHANGE and made_now.get(name) != value:
            changed[name] = value
    with Gather() as at:
        at.refuse(
            changed,
            "--known-noise",
            "must be of runs that were made alike",
            {name: made_now.get(name) for name in changed},
            shown(changed),
            "Measure it again, with --keep-noise",
        )
