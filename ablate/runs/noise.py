"""Known noise: how far runs of the baseline are apart, measured once, and reused for single new runs.

The file has the runs of the baseline, and what must not change: what is judged, evaluation, data and machine.
`analysis.unpaired` says how it is used. What is wrong raises `AblateError`.
"""

import json
from collections.abc import Mapping
from typing import Any

import pandas as pd

from ablate.base.errors import AblateError, Gather, shown
from ablate.base.files import write_text
from ablate.base.process import now
from ablate.base.text import first_line
from ablate.report.words import message

MADE = ("evaluation", "data", "machine", "commit")


def _made(asked: Mapping[str, Any]) -> dict[str, Any]:
    """What is judged, and what the runs were made with; of that the commit alone may change."""
    return {name: asked[name] for name in ("baseline", "metric", "direction")} | dict(asked["made_with"])


def keep(trials: pd.DataFrame, asked: Mapping[str, Any]) -> str:
    """Writes the noise of the baseline's runs, n, σ and values by task, and says it."""
    own, made, file = trials[trials["variant"] == asked["baseline"]], _made(asked), asked["keep_noise"]
    noise = own.groupby("task")[asked["metric"]].agg(n="size", sd="std", values=list)
    with Gather() as at:
        lacking = " ".join(f"--made-with {name} VALUE" for name in MADE if name not in made)
        at.refuse(
            lacking, "--keep-noise", "takes what must not change, and the commit", hint=f"Give {lacking}"
        )
        at.refuse(
            own.empty or noise["n"].min() < 2 or (own["status"] != "completed").any(),
            "RUNS",
            f"must have two completed runs of {asked['baseline']} or more on each task, better ten",
            noise["n"].to_dict(),
        )
    kept = {"date": now(), "made_with": made, "noise": noise.to_dict("index")}
    write_text(file, json.dumps(kept, indent=1) + "\n")
    return "\n".join(
        message("analyse.kept", task, of["sd"], of["n"], file) for task, of in kept["noise"].items()
    )


def beside(rows: pd.DataFrame, asked: Mapping[str, Any]) -> pd.DataFrame:
    """Adds the baseline's runs that `--known-noise` names to the rows."""
    file, made = asked["known_noise"], _made(asked)
    try:
        kept = json.loads(file.read_bytes())
        noise = pd.DataFrame.from_dict(kept["noise"], "index")["values"].explode()
        was = {
            name: of for name, of in kept["made_with"].items() if name != "commit" and made.get(name) != of
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise AblateError(f"{file}: is no noise that --keep-noise has kept ({first_line(error)})") from None
    with Gather() as at:
        at.refuse(
            was,
            "--known-noise",
            "must be of runs that were made alike",
            {name: made.get(name) for name in was},
            shown(was),
            "Measure it again, with --keep-noise",
        )
    own = {
        "id": [f"{file}, run {run}" for run in range(1, len(noise) + 1)],
        **{"task": noise.index, "seed": range(-1, -len(noise) - 1, -1), "example": "all"},
        **{"variant": asked["baseline"], "status": "completed", asked["metric"]: noise.to_numpy()},
    }
    return pd.concat([pd.DataFrame(own).set_index("id", drop=False), rows])
