"""Known noise: the spread of the baseline's runs, measured once, and reused for single new runs.

The file has the runs of the baseline, and all that must not change: metric, evaluation, data and machine.
`analysis.unpaired` says how it is used. Errors raise `AblateError`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, ClassVar, Literal

import numpy as np
import pandas as pd
from pydantic import ConfigDict, Field, TypeAdapter

from ablate.base.errors import AblateError, Gather, Problem, shown
from ablate.base.files import destination, write_text
from ablate.base.kept import FINITE, content_of, validated
from ablate.base.process import now
from ablate.core.ending import COMPLETED
from ablate.core.replication import RunName
from ablate.report.words import message
from ablate.runs.cautions import ends_in_words
from ablate.runs.checking import CheckedRuns
from ablate.runs.content import digests_of_rows
from ablate.runs.option_values import MADE_WITH
from ablate.runs.options import AnalysisOptions
from ablate.runs.reading import RunTable

_MAY_CHANGE = "commit"

_REMEDY = "Restore it, or measure the noise again with --keep-noise"


@dataclass(frozen=True)
class _OfTask:
    """The runs of the baseline on a task."""

    __pydantic_config__: ClassVar[ConfigDict] = FINITE

    n: int
    sd: Annotated[float, Field(ge=0)]
    values: Annotated[list[float], Field(min_length=2)]

    @property
    def is_consistent(self) -> bool:
        """True where number and standard deviation are those of the values."""
        return self.n == len(self.values) and bool(
            np.isclose(np.std(self.values, ddof=1), self.sd, rtol=1e-6)
        )


@dataclass(frozen=True)
class KeptNoise:
    """The content of the file."""

    __pydantic_config__: ClassVar[ConfigDict] = FINITE

    date: str
    made_with: dict[str, str]
    noise: Annotated[dict[str, _OfTask], Field(min_length=1)]
    format: Literal[1] = 1


_NOISE = TypeAdapter(KeptNoise)


def _made(options: AnalysisOptions) -> dict[str, str]:
    """Returns the baseline, metric and direction, and all that the runs were made with."""
    judged = {"baseline": options.baseline, "metric": options.metric, "direction": options.judged_direction}
    return {**judged, **dict(options.made_with)}


def keep_noise(runs: CheckedRuns, options: AnalysisOptions, file: Path, run_name: RunName) -> str:
    """Writes the noise of the baseline's runs, n, σ and values by task, and returns it in words.

    run_name: the word for one run.

    Raises `AblateError` for a file that holds something else.
    """
    _refuse_means(runs.are_summaries, "--keep-noise")
    target = destination(file)
    if target.exists() and target.stat().st_size > 0:
        _read(file)
    trials = runs.compared
    baseline = trials[trials["variant"] == options.baseline]
    noise = baseline.groupby("task")[options.metric].agg(n="size", sd="std", values=list)
    made = _made(options)
    missing = " ".join(f"--made-with {name} VALUE" for name in MADE_WITH if name not in made)
    with Gather() as at:
        at.refuse(
            missing,
            "--keep-noise",
            "must be given with what must not change, and with the commit",
            hint=f"Give {missing}",
        )
        at.refuse(
            baseline.empty or noise["n"].min() < 2 or (baseline["status"] != "completed").any(),
            "RUNS",
            f"must have two or more completed runs of {options.baseline} on each task; ten are better",
            noise["n"].to_dict(),
        )
    by_task: dict[str, _OfTask] = {}
    for task, row in noise.to_dict("index").items():
        by_task[str(task)] = _OfTask(
            int(row["n"]), float(row["sd"]), [float(value) for value in row["values"]]
        )
    kept = KeptNoise(date=now(), made_with=made, noise=by_task)
    write_text(target, _NOISE.dump_json(kept, indent=1).decode() + "\n")
    lines = [message("analyse.kept", task, runs.sd, runs.n, file) for task, runs in by_task.items()]
    lost = runs.trials[runs.is_left_out & (runs.trials["variant"] == options.baseline)]
    if not lost.empty:
        lines.append(message("analyse.kept_without", ends_in_words(lost, run_name)))
    return "\n".join(lines)


def _refuse_means(are_summaries: bool, option: str) -> None:
    """Raises `Invalid` for an option that needs runs where only means and deviations are given."""
    with Gather() as at:
        at.refuse(are_summaries, option, "needs runs: of these only mean and deviation are known")


def beside_noise(table: RunTable, options: AnalysisOptions, file: Path) -> RunTable:
    """Returns the table with the baseline's runs that a file of `keep_noise` has."""
    _refuse_means(table.are_summaries, "--known-noise")
    kept = _read(file)
    _refuse_changes(kept.made_with, _made(options))
    values = pd.Series({task: of_task.values for task, of_task in kept.noise.items()}).explode()
    runs = {
        "id": [f"{file}, run {run}" for run in range(1, len(values) + 1)],
        "task": values.index,
        "seed": range(-1, -len(values) - 1, -1),
        "example": "all",
        "variant": options.baseline,
        "ended": [COMPLETED] * len(values),
        options.metric: values.to_numpy(dtype=float),
    }
    noise = pd.DataFrame(runs).set_index("id", drop=False)
    # Whoever judges single runs by the same noise looks at the same runs of the baseline.
    content = [*table.content, *digests_of_rows(noise.drop(columns="id"))]
    return replace(table, rows=pd.concat([noise, table.rows]), content=content)


def _read(file: Path) -> KeptNoise:
    """Returns what a file of `keep_noise` says. Raises `AblateError` for any other file, and for an edited one."""
    content = content_of(file, _REMEDY)
    if content is None:
        raise AblateError(str(Problem("does not exist", hint=_REMEDY, source=str(file))))
    kept = validated(_NOISE, content, file, _REMEDY)
    for task, of_task in kept.noise.items():
        if not of_task.is_consistent:
            rule = "must be the number and the standard deviation of its values: the file was edited"
            problem = Problem(rule, ("noise", task), (of_task.n, of_task.sd), hint=_REMEDY, source=str(file))
            raise AblateError(str(problem))
    return kept


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
            "must come from runs that were made in the same way",
            {name: made_now.get(name) for name in changed},
            shown(changed),
            "Measure it again, with --keep-noise",
        )
