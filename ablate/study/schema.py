"""The study file's own sections; those of its workload are added when it is known."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    PositiveFloat,
    PositiveInt,
    create_model,
)

from ablate.base.registry import OnOff, PartConfig, Slot, StrictModel
from ablate.core import names
from ablate.core.facts import BASELINE
from ablate.core.over import Family
from ablate.core.trial import Checkpoint
from ablate.core.workload import Workload
from ablate.study import design_kinds, fractional  # noqa: F401  # A study has a design whatever its workload
from ablate.study.sections import ResourcesSection, Seeds, SeedsSection, refusal
from ablate.study.stage_config import StageConfig

# Characters of the name of a study.
MAX_NAME = 100
PLACEBO = "placebo"


def _study_name(name: str) -> str:
    """Returns a name that a study may have; refuses those of the harness, and what is too long."""
    stem = names.stem(name)
    if stem.lower() in names.RESERVED:
        raise refusal("is reserved for ablate", f"any other name than {', '.join(names.RESERVED)}")
    if len(stem) > MAX_NAME:
        raise refusal("is too long", f"at most {MAX_NAME} characters")
    return name


_NAME_ALLOWED = "1 to 80 characters, no space, '/', '\\', '=' or ',', the first none of '@', '+' and '-'"


def _variant_name(name: str) -> str:
    """Returns a name that a variant may have, which also names columns and files; refuses others."""
    if name in (BASELINE, PLACEBO) or not _is_name(name):
        rule = "is not a valid name for a variant"
        raise refusal(rule, f"{_NAME_ALLOWED}, and not {BASELINE} or {PLACEBO}")
    return name


def _condition_name(name: str) -> str:
    """Returns a name that a condition may have; refuses others."""
    if not _is_name(name):
        raise refusal("is not a valid name for a condition", _NAME_ALLOWED)
    return name


def _is_name(name: str) -> bool:
    """Returns whether a name can stand in tables, claims and names of files."""
    has_good_length = 0 < len(name) <= 80
    # Programs take a cell of a table for a formula where it begins so.
    is_like_formula = name.startswith(("@", "+", "-"))
    is_folder = name in (".", "..")
    return has_good_length and not (is_folder or is_like_formula or any(map(_is_forbidden, name)))


def _is_forbidden(character: str) -> bool:
    """Returns whether no variant and no condition may have a character in its name."""
    return character in "/\\=," or character.isspace() or not character.isprintable()


StudyName = Annotated[str, Field(pattern=f"^{names.OWN}$"), AfterValidator(_study_name)]
ReportName = Annotated[str, Field(pattern=f"^{names.NAME}$"), AfterValidator(_study_name)]
VariantName = Annotated[str, AfterValidator(_variant_name)]
ConditionName = Annotated[str, AfterValidator(_condition_name)]


class MetricSection(StrictModel):
    """The number that is judged, the same for all variants."""

    name: str | None = None
    "A metric of the task; not given: its first."
    margin: PositiveFloat | None = None
    "The smallest difference of interest, in the metric's units; declared, `equivalent` becomes a verdict."
    at: Literal["last", "best_validation"] = "last"
    "Tested at the last step, or at the step that validation favours."
    target: float | None = None
    "The value on validation data that counts as learned, for `steps_to_target`; not given: that at which it is solved."


def _by_name(given: object) -> object:
    """Returns the section of a metric that is given by its name alone."""
    return {"name": given} if isinstance(given, str) else given


MetricAsked = Annotated[
    MetricSection,
    BeforeValidator(_by_name, json_schema_input_type=str | MetricSection),
]


def _short(part: PartConfig) -> Any:
    """Returns a part as a study file has it: without parameters by its name alone."""
    dumped = part.model_dump()
    return dumped["name"] if len(dumped) == 1 else dumped


class StudyConfig(StrictModel):
    """A study, without the sections of its workload."""

    name: ReportName
    """Also the name of its folder under results/ and of its MLflow experiment. NAME@confirm repeats what NAME found, as
    `ablate run --confirm` does. Only `ablate run` itself writes other names with an `@`, of runs that differ from a
    study as written."""
    question: str = ""
    "The question of the study; opens the report."
    workload: str = "sequence"
    "The kind of trial."
    folder: str = "."
    "The folder to which plugins and files of data are relative, itself relative to the study file."
    plugins: Annotated[list[str], Field(max_length=100)] = []
    "Python files that register parts, tasks or workloads."
    metric: MetricAsked = MetricSection()
    "The primary metric."
    factors: dict[str, Annotated[list[Any], Field(min_length=1, max_length=1_000)]] = {}
    "Path → levels; the baseline's own may be left out."
    design: Annotated[Any, Slot("design"), PlainSerializer(_short)] = "one_factor"
    "Which combinations of levels are trained; `ablate list design` lists them."
    variants: Annotated[
        dict[VariantName, Annotated[dict[str, Any], Field(min_length=1)]], Field(max_length=1_000)
    ] = {}
    "Variants named by hand: name → {path: value}."
    conditions: Annotated[dict[ConditionName, dict[str, Any]], Field(max_length=100)] = {}
    """Conditions in each of which every variant is trained and judged: name → {path: value}, patches of one trial's
    configuration. `{}` is the study as written; `tasks` is the short form of conditions that patch `task`."""
    over: Literal["each", "mean", "every"] = "each"
    "What a verdict is about: each, one condition; mean, the mean over all; every, whether it holds in every one."
    along: Annotated[str, Field(min_length=1)] | None = None
    """The path of a number that differs in each condition; the report says how much the difference of a variant grows
    with each doubling of it."""
    scale: dict[ConditionName, PositiveFloat] = {}
    """Condition → the difference in its metric that counts as 1 where conditions are added; not given: the range of the
    metric, or 1 where it has none."""
    compare: str = BASELINE
    "What each variant is compared with: the baseline, another variant by its name, or all_pairs: with each other."
    labels: dict[str, Annotated[str, Field(min_length=1, max_length=60)]] = {}
    "Names for readers: variant, or path=level → the words that stand for it in tables and figures."
    placebo: OnOff = False
    "Adds the baseline again with other initialisation and dropout streams, to show what no difference looks like."
    seeds: Seeds = SeedsSection()
    """Number of paired seeds, from 0 on; or {from: 100, count: 10}; or each of them, as in [0, 3, 7]; or, until every
    comparison and claim is settled, {min: 5, max: 20}."""
    time_limit: PositiveFloat | None = None
    "Seconds after which a trial is ended as failed."
    checkpoint: Checkpoint = "none"
    "The weights that are kept for `ablate eval`: final, of the last step; best, of the best evaluation."
    resources: ResourcesSection = ResourcesSection()
    "What a trial takes of a machine of a cluster, and which machines."
    save_every: PositiveInt | None = None
    "Steps after which a trial saves its state, so that it resumes there after a kill."
    claims: Annotated[list[str], Field(max_length=1_000)] = []
    "Statements to be judged."
    family: Family = "all"
    """The verdicts that share the level: all, the comparisons and the claims; claims, these alone; ordered, the claims
    in their order, each at the full level, until one is not decided."""
    notes: str = ""
    "Free text for the report."


def study_model(workload: Workload, configs: Sequence[type[StageConfig]]) -> type[StudyConfig]:
    """Returns the schema of studies of a workload, with the keys of stages.

    `task` is optional in itself, since `tasks` can replace it.
    """
    fields: dict[str, Any] = dict(workload.schema())
    for config in configs:
        for name, field in config.model_fields.items():
            fields[name] = (field.annotation, field)
    if "task" in fields:
        kind, _ = fields["task"]
        fields["task"] = (kind | None, None)
        fields["tasks"] = (Annotated[list[kind], Field(max_length=100)], [])  # type: ignore[valid-type]
    return create_model("Study", __base__=_Study, **fields)


def config_model(workload: Workload) -> type[StrictModel]:
    """Returns the schema of one trial's config: the workload's sections, one task."""
    return create_model("Config", __base__=_Config, **dict[str, Any](workload.schema()))


# Assembled models have no source, and pydantic would look for their fields' docstrings in every module that is loaded.
class _Study(StudyConfig):
    model_config = ConfigDict(use_attribute_docstrings=False)


class _Config(StrictModel):
    model_config = ConfigDict(use_attribute_docstrings=False)
