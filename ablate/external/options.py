"""The sections of a study of the user's code: how it is run and read, its settings, its metrics."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, PositiveFloat, PositiveInt, model_validator
from pydantic_core import PydanticCustomError

from ablate.base.registry import OnOff, StrictModel
from ablate.core.data_statement import NOT_STATED, HeldOut, Split
from ablate.core.gpus import Gpus
from ablate.core.metric import Direction, Outcome
from ablate.external.best import At
from ablate.external.dialect import Dialect


class Resources(StrictModel):
    """Limits of one trial of a user's own code: threads, GPU, memory and time."""

    threads: Annotated[
        PositiveInt, Field(description="Threads of a trial, by OMP_NUM_THREADS and similar variables.")
    ] = 1
    gpu: Annotated[OnOff, Field(description="Whether it needs a GPU, as `gpus: 1`.")] = False
    gpus: Annotated[
        Gpus | None,
        Field(description="GPUs, which it alone sees: 2 for two of them, 0.5 lets two trials share one."),
    ] = None
    memory: Annotated[
        float | None, Field(ge=0.01, le=1e6, description="GiB of data that a process may hold.")
    ] = None
    time: Annotated[
        PositiveFloat | None, Field(description="Seconds after which a trial is stopped, as failed.")
    ] = None

    @model_validator(mode="before")
    @classmethod
    def _switch_on_gpu(cls, given: Any) -> Any:
        """Returns the section with `gpu: on` where it says how many; refuses `gpu: off` beside a number."""
        if not isinstance(given, dict) or given.get("gpus") is None:
            return given
        if given.get("gpu") in (False, "off") and "gpu" in given:
            raise PydanticCustomError("rule", "has both `gpu: off` and `gpus`", {"allowed": "`gpus:` alone"})
        return {**given, "gpu": True}


def _text(given: Any) -> Any:
    """Returns a number as a text; refuses what has no one notation in an environment."""
    if given is None or isinstance(given, bool):
        kind = "null" if given is None else "a switch"
        rule = f"is {kind}, which programs read in different ways"
        allowed = 'the text that your code reads, such as "1"'
        raise PydanticCustomError("rule", rule, {"allowed": allowed})
    return str(given) if isinstance(given, (int, float)) else given


class Options(StrictModel):
    """Settings that all kinds of a user's own training code share."""

    @model_validator(mode="before")
    @classmethod
    def _refuse_sources(cls, given: Any) -> Any:
        """Refuses a key of earlier studies, with what has taken its place."""
        if isinstance(given, dict) and "sources" in given:
            rule = "has the key `sources`, which no longer exists: all copied code and config counts"
            raise PydanticCustomError(
                "rule", rule, {"allowed": "`data:` for what lies elsewhere or is large"}
            )
        return given

    read: Annotated[
        dict[str, str],
        Field(
            description="Metric → regular expression for a line that is printed, its one group the number; `step` "
            "gives the steps of curves. What is not listed is read from files in $ABLATE_DIR."
        ),
    ] = {}
    env: Annotated[
        dict[Annotated[str, Field(pattern=r"^[A-Za-z_]\w*$")], Annotated[str, BeforeValidator(_text)]],
        Field(description="Variables of the environment of a trial; {name} is a setting, as in a command."),
    ] = {}
    files: Annotated[
        dict[str, str],
        Field(
            description="Files that a trial gets in its copy of your folder: path → a file of yours in which {name} is "
            "a setting, or `config` for all settings and the seed, as JSON, YAML or TOML."
        ),
    ] = {}
    data: Annotated[
        list[str],
        Field(
            description="Files and folders that trials read in place, linked into their copies of the code."
        ),
    ] = []
    exclude: Annotated[
        list[str], Field(description="Patterns of paths, or of names, that are not copied for a trial.")
    ] = []
    keep: Annotated[
        list[str],
        Field(
            description="Patterns of files above 10 MB that are kept in a trial's folder after its success."
        ),
    ] = []
    resume: Annotated[
        OnOff, Field(description="Whether a second attempt finds the trial's folder as the first left it.")
    ] = False
    isolate: Annotated[
        OnOff,
        Field(description="Whether each trial runs in a copy of the repository; off: in the study's folder."),
    ] = True
    resources: Annotated[Resources, Field(description="Threads, GPU, memory and time of a trial.")] = (
        Resources()
    )
    parallel: Annotated[OnOff, Field(description="Whether several trials may run at once.")] = False


class FunctionOptions(Options):
    """Settings of a workload that is a Python function of the user's: `workload: {function: …}`."""

    function: Annotated[
        str, Field(description="`train.py:train`, or `package.module:train`, relative to the study.")
    ]


class ConstantsOptions(Options):
    """Settings of code whose constants are replaced."""

    constants: Annotated[
        str | None,
        Field(
            description="The file that has the constants which `config:` sets, relative to the study: .py or .toml; by "
            "default that of `script:`. They are names of the top level, `Config.lr` of a class, names of options of "
            "argparse, or keys of TOML."
        ),
    ] = None
    seed: Annotated[str | None, Field(description="The constant that gets the seed.")] = None


class CommandOptions(ConstantsOptions):
    """Options of `workload: {command: …}`."""

    command: Annotated[
        str | list[str],
        Field(description="Command; split into words as by a shell, but run without one; {{ is a brace."),
    ]
    dialect: Annotated[
        Dialect | None,
        Field(
            description="How the command takes null, lists and switches; by default as the library does that its "
            "program imports."
        ),
    ] = None


class ScriptOptions(ConstantsOptions):
    """Options of `workload: {script: …}`."""

    script: Annotated[str, Field(description="A Python file or a notebook, relative to the study.")]


class OwnMetric(StrictModel):
    """A number by which runs are judged."""

    direction: Annotated[Direction, Field(description="`max`: more is better.")]
    margin: Annotated[
        PositiveFloat | None,
        Field(description="The smallest difference of interest, for the metric that the study judges."),
    ] = None
    floor: Annotated[float | None, Field(description="The value of guessing.")] = None
    ceiling: Annotated[float | None, Field(description="The best possible value.")] = None
    solved: Annotated[float | None, Field(description="The value at which a run counts as learned.")] = None
    resolution: Annotated[
        float,
        Field(ge=0, description="The smallest possible difference: 1/N for an accuracy over N examples."),
    ] = 0.0
    outcome: Annotated[
        Outcome,
        Field(description="all_or_nothing: a run either finds the solution or stays near guessing."),
    ] = "graded"
    at: Annotated[
        At,
        Field(
            description="The step that counts: the last, or the best by another metric, the first on ties."
        ),
    ] = "last"
    by: Annotated[
        str | None,
        Field(
            description="The metric whose best value says which step counts, of those at which both were read."
        ),
    ] = None


class DataSection(StrictModel):
    """The statements of a study on the data on which its code is evaluated, the only ones that reports make."""

    @model_validator(mode="before")
    @classmethod
    def _refuse_files(cls, given: Any) -> Any:
        """Refuses files, which have their place in another section."""
        if isinstance(given, str | list):
            rule = "describes how examples are held out and divided, and cannot name files"
            allowed = "{test: held_out, split: fixed}, and `data: [PATH]` under `workload:` for files that trials read"
            raise PydanticCustomError("rule", rule, {"allowed": allowed})
        return given

    test: Annotated[
        HeldOut,
        Field(
            description="held_out: the examples behind the judged metric are the same for every seed, and nothing "
            "trains, tunes or stops on them."
        ),
    ] = NOT_STATED
    split: Annotated[
        Split,
        Field(
            description="How data are divided: fixed, one way for all seeds; each_seed, anew for every seed."
        ),
    ] = NOT_STATED


OwnMetrics = Annotated[
    dict[
        Annotated[str, Field(pattern=r"^[A-Za-z_][\w./-]*$")],
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


def _switched(given: Any) -> Any:
    """Returns a config with `on` and `off` as booleans."""
    if isinstance(given, dict):
        return {key: _switched(value) for key, value in given.items()}
    return {"on": True, "off": False}.get(given, given) if isinstance(given, str) else given


OwnConfig = Annotated[
    dict[str, Any],
    BeforeValidator(_switched),
    Field(
        description="The baseline's settings, under names of your own; factors are paths such as config.lr."
    ),
]
