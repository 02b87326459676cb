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

    threads: Annotated[PositiveInt, Field(description="Threads that OMP_NUM_THREADS and its like allow.")] = 1
    gpu: Annotated[OnOff, Field(description="Whether it needs a GPU; each trial then sees one.")] = False
    memory: Annotated[
        PositiveFloat | None, Field(description="GiB of data that its first process may hold.")
    ] = None
    time: Annotated[PositiveFloat | None, Field(description="Seconds after which it is ended as failed.")] = (
        None
    )


class Options(PartConfig):
    """What a study says of its own code, whatever its kind."""

    read: Annotated[
        dict[str, Annotated[str, AfterValidator(_compiles)]],
        Field(
            description="Metric → regular expression for a line that is printed, its one group the number; `step` "
            "gives the steps of curves. What is not listed is read from JSON and JSON lines in $ABLATE_DIR."
        ),
    ] = {}
    sources: Annotated[
        list[str], Field(description="Files and folders, beside what is imported, whose edits train anew.")
    ] = []
    resources: Annotated[Resources, Field(description="Threads, GPU, memory and time of a trial.")] = {}  # type: ignore[assignment]
    parallel: Annotated[OnOff, Field(description="Whether several trials may run at once.")] = False


class OwnMetric(StrictModel):
    """A number by which runs are judged."""

    direction: Annotated[Literal["max", "min"], Field(description="`max`: more is better.")]
    margin: Annotated[
        PositiveFloat | None,
        Field(description="The smallest difference of interest, for the metric that the study judges."),
    ] = None
    floor: Annotated[float | None, Field(description="The value of guessing.")] = None
    ceiling: Annotated[float | None, Field(description="The best possible value.")] = None
    solved: Annotated[float | None, Field(description="The value at which a run counts as learned.")] = None
    resolution: Annotated[float, Field(ge=0)] = 0.0
    "The smallest possible difference: 1/N for an accuracy over N examples."
    outcome: Annotated[
        Literal["graded", "all_or_nothing"],
        Field(description="all_or_nothing: a run either finds the solution or stays near guessing."),
    ] = "graded"


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
