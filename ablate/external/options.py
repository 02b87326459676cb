"""What a study says of its own code: how it is run and read, its settings, its metrics."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, PositiveFloat, PositiveInt

from ablate.base.errors import Invalid
from ablate.base.registry import OnOff, PartConfig, StrictModel
from ablate.external.reading import STEP, compiled
from ablate.study.sections import refusal

# Columns that tables of trials and curves have.
TAKEN = ("id", "variant", "task", "seed", "status", "reason", STEP)


def _compiles(pattern: str) -> str:
    try:
        compiled(pattern)
    except Invalid as error:
        raise refusal(error.problems[0].rule, error.problems[0].allowed) from None
    return pattern


def _switches(given: Any) -> Any:
    """Plain data with the words `on` and `off` as what they mean in a study."""
    if isinstance(given, dict):
        return {key: _switches(value) for key, value in given.items()}
    if isinstance(given, list):
        return [_switches(value) for value in given]
    return {"on": True, "off": False}.get(given, given) if isinstance(given, str) else given


def _without_seed(given: dict[str, Any]) -> dict[str, Any]:
    if "seed" in given:
        raise refusal("has a seed, which the study gives each trial", "`seeds:` of the study")
    return given


def _own_name(name: str) -> str:
    if name in TAKEN:
        raise refusal("is a name that tables have already", f"any but {', '.join(TAKEN)}")
    return name


class Resources(StrictModel):
    """What a trial may use."""

    threads: PositiveInt = 1
    "Threads that OMP_NUM_THREADS and its like allow."
    gpu: OnOff = False
    "Whether it needs a GPU; each trial then sees one."
    memory: PositiveFloat | None = None
    "GiB of data that its first process may hold."
    time: PositiveFloat | None = None
    "Seconds after which it is ended as failed."


class Options(PartConfig):
    """What a study says of its own code, whatever its kind."""

    read: dict[str, Annotated[str, AfterValidator(_compiles)]] = {}
    """Metric → regular expression for a line that is printed, its one group the number; `step` gives the steps of
    curves. What is not listed is read from JSON and JSON lines in $ABLATE_DIR."""
    sources: list[str] = []
    "Files and folders, beside what is imported, whose edits train anew."
    resources: Resources = {}  # type: ignore[assignment]
    "Threads, GPU, memory and time of a trial."
    parallel: OnOff = False
    "Whether several trials may run at once."


class OwnMetric(StrictModel):
    """A number by which runs are judged."""

    direction: Literal["max", "min"]
    "`max`: more is better."
    margin: PositiveFloat | None = None
    "The smallest difference of interest, for the metric that the study judges."
    floor: float | None = None
    "The value of guessing."
    ceiling: float | None = None
    "The best possible value."
    solved: float | None = None
    "The value at which a run counts as learned."
    resolution: Annotated[float, Field(ge=0)] = 0.0
    "The smallest possible difference: 1/N for an accuracy over N examples."
    outcome: Literal["graded", "all_or_nothing"] = "graded"
    "all_or_nothing: a run either finds the solution or stays near guessing."


MetricName = Annotated[str, Field(pattern=r"^[A-Za-z_][\w./-]*$"), AfterValidator(_own_name)]
OwnMetrics = Annotated[
    dict[
        MetricName,
        Annotated[
            OwnMetric,
            BeforeValidator(
                lambda given: {"direction": given} if isinstance(given, str) else given,
                json_schema_input_type=Literal["max", "min"] | OwnMetric,
            ),
        ],
    ],
    Field(
        min_length=1,
        description="The numbers that a trial reports and verdicts are about, the first one judged.",
    ),
]
OwnConfig = Annotated[
    dict[str, Any],
    AfterValidator(_without_seed),
    BeforeValidator(_switches),
    Field(
        description="The baseline's settings, under names of your own; factors are paths such as config.lr."
    ),
]
