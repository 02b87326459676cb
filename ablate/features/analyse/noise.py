"""Known noise: how far runs of the baseline are apart, measured once, and reused for single new runs.

It is kept with what must not change: evaluation, data and machine. `analysis.unpaired` says how it is used. What is
wrong raises `AblateError`.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
from pydantic import ValidationError, create_model

from ablate.base.errors import AblateError, Problem
from ablate.base.files import unreadable, write_text
from ablate.base.process import now
from ablate.base.text import first_line
from ablate.features.analyse.reading import MOST, require
from ablate.features.analyse.runs import Asked, Runs

SAME = ("evaluation", "data", "machine")
AGAIN = "Measure it: ablate analyse RUNS --keep-noise FILE"
# The file; n, sd and values of the metric by task, `made_with`: the commit, and digests of `SAME`.
Noise = create_model(
    "Noise",
    **dict.fromkeys(("baseline", "metric", "direction", "date"), (str, ...)),  # type: ignore[call-overload]
    **{"made_with": (dict[str, str], ...), "n": (dict[str, int], ...), "sd": (dict[str, float], ...)},
    values=(dict[str, list[float]], ...),
)


def keep(file: Path, runs: Runs, asked: Asked, made_with: Mapping[str, str]) -> dict[str, Any]:
    """Writes the noise of the baseline's runs."""
    metric, direction = next((name, of.direction) for name, of in asked.metrics.items())
    lacking = [f"--made-with {name} VALUE" for name in (*SAME, "commit") if name not in made_with]
    require(
        not lacking,
        asked.runs,
        "noise is kept with what must not change, and with its commit",
        hint=f"Give {' '.join(lacking)}, or columns of these names",
    )
    own = runs.trials[runs.trials["variant"] == asked.baseline]
    by_task = own.groupby("task")[metric]
    require(
        len(own) and by_task.size().min() > 1 and (own["status"] == "completed").all(),
        asked.runs,
        "noise takes two completed runs of the baseline or more on each task, better ten",
        given=by_task.size().to_dict(),
    )
    found: dict[str, Any] = {
        "baseline": asked.baseline,
        "metric": metric,
        "direction": direction,
        "date": now(),
    }
    found |= {"made_with": dict(made_with), "n": by_task.size().to_dict(), "sd": by_task.std().to_dict()}
    write_text(file, json.dumps(found | {"values": by_task.agg(list).to_dict()}, indent=1) + "\n")
    return found


def load(file: Path) -> dict[str, Any]:
    """What `keep` wrote."""
    why = unreadable(file, MOST)
    require(not why, file, str(why), hint=AGAIN)
    try:
        return Noise.model_validate_json(file.read_bytes()).model_dump()
    except ValidationError as error:
        raise AblateError(f"{file}: is no noise that was kept ({first_line(error)}). {AGAIN}") from None


def beside(
    noise: Mapping[str, Any], runs: Runs, asked: Asked, made_with: Mapping[str, str], file: Path
) -> Runs:
    """The runs with those of the baseline that were kept."""
    both = (made_with, noise["made_with"])
    rows, mine, kept = runs.trials, *({name: of.get(name, "nothing") for name in SAME} for of in both)
    rule = "must be that under which the noise was measured"
    changed = [
        str(Problem(f"{name} {rule}", given=mine[name], allowed=kept[name], hint=AGAIN, source=str(file)))
        for name in SAME
        if mine[name] != kept[name]
    ]
    if changed:
        raise AblateError("\n".join(changed))
    foreign = rows[(rows["variant"] == asked.baseline) | ~rows["task"].isin([*noise["values"]])]
    require(
        foreign.empty,
        asked.runs,
        "has runs of the baseline, or of a task, that were not kept",
        given=foreign[["variant", "task"]].head(1).to_dict("records"),
    )
    own = [
        {"id": f"{file}: run {i}", "variant": asked.baseline, "task": task, "seed": i, noise["metric"]: value}
        for task in dict.fromkeys(rows["task"])
        for i, value in enumerate(noise["values"][task], start=1)
    ]
    whole = pd.concat([pd.DataFrame(own).assign(status="completed", reason=""), rows], ignore_index=True)
    return runs._replace(trials=whole)


def made_with(table: pd.DataFrame, given: Mapping[str, str]) -> dict[str, str]:
    """Commit and digests: as given, else those in the columns of these names, which must have one value each."""
    found = {name: sorted({*table[name].astype(str)}) for name in (*SAME, "commit") if name in table}
    for name, values in found.items():
        require(
            name in given or len(values) == 1,
            table.index[0],
            f"column {name} must have one value",
            given=values,
        )
    return {**{name: values[0] for name, values in found.items()}, **given}
