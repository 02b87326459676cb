"""The evidence of a study, for tables, verdicts and figures: frames, and facts on variants, tasks and claims."""

from __future__ import annotations

import functools
import hashlib
import itertools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, assert_never

from pydantic import ConfigDict, ValidationError

from ablate.base.errors import AblateError
from ablate.base.kept import problem_of
from ablate.core.data_statement import NOT_STATED, DataStatement, Split
from ablate.core.metric import FRESH, Metric, Outcome, Sampling
from ablate.core.other_looks import EarlierCalls, SupersededRuns
from ablate.core.over import LEAST_TREND, Family, Over
from ablate.core.provenance import Given, LostRun, Planned, Provenance
from ablate.core.replication import PlannedSeeds, Replication
from ablate.core.stage_facts import REMEDY, FactsT, StageFacts
from ablate.core.trial import Level

if TYPE_CHECKING:
    import pandas as pd

ClaimKind = Literal["beats", "matches", "does_not_lose", "interaction", "gains"]
"""The kind of a claim.

An interaction: A beats B by more at one level, on one slice or in one condition than at another. `gains`: the
difference of A from B grows by more than X with each doubling of a number of the conditions.
"""


def is_likeness(kind: ClaimKind) -> bool:
    """Returns whether a claim of a kind says how alike two sides are, within a margin of its own."""
    match kind:
        case "matches" | "does_not_lose":
            return True
        case "beats" | "interaction" | "gains":
            return False
        case _:
            assert_never(kind)


# Kept facts with another key are of another version: a key that was renamed would load as nothing.
_NO_OTHER_KEYS = ConfigDict(extra="forbid")


@dataclass(frozen=True)
class Less:
    """The other place of an interaction, a level, a slice or a condition, at which A beats B by less."""

    __pydantic_config__: ClassVar[ConfigDict] = _NO_OTHER_KEYS

    a: list[str]
    b: list[str]
    metric: str
    condition: str = ""


@dataclass(frozen=True)
class Claim:
    """A claim; each side is a set of variants, whose mean per seed is compared."""

    __pydantic_config__: ClassVar[ConfigDict] = _NO_OTHER_KEYS

    text: str
    kind: ClaimKind
    metric: str
    a: list[str]  # Of an interaction: A where it beats B by more; so is the next.
    b: list[str]
    by: float  # X of the grammar: 0 for a plain `beats`.
    declared: str = ""  # ISO 8601 date and time of the first run that knew it.
    exploratory: bool = False  # Declared after trials of the study existed.
    less: Less | None = None  # Of an interaction alone.
    constant: str = ""  # The name that B has, where it is a constant of the task and no variant.
    condition: str = ""  # The one condition that it is about; empty: it follows `Over.form` of the study.
    along: str = ""  # Of `gains`: the path, or column, along which the difference grows.

    @property
    def sides(self) -> list[list[str]]:
        """A and B; of an interaction also A and B where it beats B by less."""
        sides = [self.a, self.b]
        if self.less is not None:
            sides += [self.less.a, self.less.b]
        return [side for side in sides if side]

    @property
    def conditions(self) -> list[str]:
        """The conditions that it names; none where it follows the study."""
        named = [self.condition, self.less.condition if self.less is not None else ""]
        return [condition for condition in named if condition]

    def is_told_by(self, conditions: Collection[str]) -> bool:
        """Returns whether these conditions suffice to judge the claim."""
        if self.kind == "gains" and len(conditions) < LEAST_TREND:
            return False
        return all(condition in conditions for condition in self.conditions)

    @property
    def metrics(self) -> list[str]:
        """The metric; of an interaction of two slices both."""
        return [self.metric] if self.less is None else [*dict.fromkeys([self.metric, self.less.metric])]

    @property
    def variants(self) -> list[str]:
        """The variants that are compared, side by side, each once."""
        names = itertools.chain.from_iterable(self.sides)
        return [name for name in dict.fromkeys(names) if name != self.constant]

    @property
    def hash(self) -> str:
        """A digest of the words of the claim."""
        return hashlib.blake2b(self.text.encode(), digest_size=6).hexdigest()


BASELINE = "baseline"
ALL_PAIRS = "all_pairs"  # In place of one variant that all others are compared with.


NAMELESS_TASK = "runs"
"""The only task of runs that were given without the name of one."""


@dataclass(frozen=True)
class TaskFacts:
    """The facts of a task of the study."""

    __pydantic_config__: ClassVar[ConfigDict] = _NO_OTHER_KEYS

    name: str
    # The metrics that trials are compared by; also the names of columns of the trials frame.
    metrics: dict[str, Metric]
    outcome: Outcome = "graded"
    sampling: Sampling = FRESH
    # Numbers that say how steadily a run trained; also names of columns, where some run has them.
    stability: dict[str, Metric] = field(default_factory=dict)
    # What claims may compare a variant with → metric → its value.
    constants: dict[str, dict[str, float]] = field(default_factory=dict)
    # What the study states of the data of code that is not ours, of which `sampling` is a guess on the safe side; None
    # where `sampling` is known.
    stated: DataStatement | None = None
    # How training and validation data were divided, by the digests of the runs; not known of older folders.
    split: Split = NOT_STATED

    @property
    def name_for_readers(self) -> str:
        """Its name; empty where nobody gave it one."""
        return "" if self.name == NAMELESS_TASK else self.name


@dataclass(frozen=True)
class VariantFacts:
    """The facts of a variant; the baseline is the first."""

    __pydantic_config__: ClassVar[ConfigDict] = _NO_OTHER_KEYS

    name: str
    # Path that some variant changes → what this one has there, on the first task; without paths that it lacks.
    levels: dict[str, Level]
    changes: dict[str, str]  # Of those, the paths that it changes → the label of its level.
    placebo: bool = False  # The baseline again, with other initialisation and dropout streams.
    parameters: dict[str, int] = field(default_factory=dict)  # Task → trainable parameters.
    parameters_by_part: dict[str, dict[str, int]] = field(default_factory=dict)
    # Task → matrix-product FLOPs of a forward pass on one example.
    flops: dict[str, int | None] = field(default_factory=dict)
    # The same of a forward and a backward pass.
    training_flops: dict[str, int | None] = field(default_factory=dict)
    # Task → function → how many numbers go through it beside those products, in a forward pass on one example.
    beside: dict[str, dict[str, int]] = field(default_factory=dict)
    # Task → training examples that a whole training processes.
    examples: dict[str, int | None] = field(default_factory=dict)
    # Task → path → label of the value that a search has chosen; empty where nothing is tuned.
    tuned: dict[str, dict[str, str]] = field(default_factory=dict)
    # Task → the names under which `RUNNER_UPS` has it at other settings, for which verdicts must hold too.
    rivals: dict[str, list[str]] = field(default_factory=dict)

    def compute(self, task: str) -> int | None:
        """Returns the FLOPs of the whole training, forward and backward; None where they are not known."""
        flops = self.training_flops.get(task)
        examples = self.examples.get(task)
        return None if flops is None or examples is None else flops * examples


@dataclass(frozen=True)
class StudyFacts:
    """The facts of a study that tables and figures need beside the frames."""

    __pydantic_config__: ClassVar[ConfigDict] = _NO_OTHER_KEYS

    study: str
    question: str
    notes: str
    metric: str  # The primary metric.
    # The column of the trials frame that holds it: the metric at the last step, or at the best validation.
    column: str
    at: str
    margin: float | None
    design: str
    # The planned seeds, whether or not they have run; where looks decide on their number, those of the looks taken.
    seeds: list[int]
    tasks: list[TaskFacts]
    variants: list[VariantFacts]
    factors: dict[str, list[str]]  # Path → labels of its levels, the baseline's first.
    claims: list[Claim]
    # Of the run that wrote the folder: command, commit, dirty, versions, device, machine.
    environment: dict[str, Any] = field(default_factory=dict)
    # The learning rate that all variants share without having been tuned, such as `lr 0.003`; else empty.
    rate: str = ""
    # Variant → its learning rate, where nothing tuned any and they differ beside other changes: `0.003`.
    rates: dict[str, str] = field(default_factory=dict)
    # The limits of the verdicts that are known before training: inputs that cannot be seen, examples seen in training;
    # of given runs, notes on how they were read and compared.
    cautions: list[str] = field(default_factory=list)
    # Signs in the source of the user's program that seeds or settings have no effect, which no run contradicts.
    code_notes: list[str] = field(default_factory=list)
    # `StageFacts.key` → what a stage keeps beside its frame, as files have it; read by `of` alone.
    features: dict[str, Any] = field(default_factory=dict)
    # Metric → the value on validation data whose first time is asked for; empty: none.
    target: dict[str, float] = field(default_factory=dict)
    # Variant, or `path=level`, → the name that the study gives it for readers; see `core.short_names`.
    labels: dict[str, str] = field(default_factory=dict)
    # The variant that the others are compared with, or `all_pairs`.
    compare: str = BASELINE
    reported: str = ""  # ISO 8601 date and time of the report; empty where that is not known.
    replication: Replication = field(default_factory=PlannedSeeds)
    provenance: Provenance = field(default_factory=Planned)
    # Variant → its trainings that do not count, since its trials were trained again; of those that have some.
    superseded: dict[str, SupersededRuns] = field(default_factory=dict)
    # Of runs that were given: the earlier calls that judged them, or some of them.
    earlier_calls: EarlierCalls = field(default_factory=EarlierCalls)
    over: Over = field(default_factory=Over)
    family: Family = "all"

    def of(self, kind: type[FactsT]) -> FactsT | None:
        """Returns what a stage keeps; None where the study has no such stage.

        Raises `AblateError` for the first field that the stage does not allow.
        """
        plain = self.features.get(kind.key)
        if plain is None:
            return None
        try:
            return kind.read(plain)
        except ValidationError as error:
            problem = problem_of(error, f"{TRIALS} of {self.study}", REMEDY)
            where = ("features", kind.key, *problem.path)
            raise AblateError(str(replace(problem, path=where))) from None

    def column_of(self, metric: str) -> str:
        """Returns the column of the trials frame that holds a metric as it is judged."""
        return self.column if metric == self.metric else metric

    @property
    def placebos(self) -> list[str]:
        """The names of the variants that are the baseline again."""
        return [variant.name for variant in self.variants if variant.placebo]

    @property
    def planned(self) -> int:
        """The number of trials that verdicts were to rest on."""
        pairs = itertools.product(self.variants, self.tasks)
        return sum(len(self.seeds_of(variant.name, task.name)) for variant, task in pairs)

    @property
    def is_given(self) -> bool:
        """True where the runs existed before they were judged; else a study planned and trained them."""
        return isinstance(self.provenance, Given)

    @property
    def plan(self) -> Planned:
        """The plan of the study; an empty one where runs were given."""
        return self.provenance if isinstance(self.provenance, Planned) else Planned()

    @property
    def warnings(self) -> list[str]:
        """The limits of a study's verdicts that are known before training; none where runs were given."""
        return [] if self.is_given else self.cautions

    @property
    def reading(self) -> list[str]:
        """The notes on how given runs were read and compared; none where a study planned them."""
        return self.cautions if self.is_given else []

    @property
    def lost(self) -> list[LostRun]:
        """The runs whose pairs are left out, of runs that were given."""
        return self.provenance.lost if isinstance(self.provenance, Given) else []

    @property
    def declared(self) -> list[str]:
        """The conditions under which given runs were made, as far as the call states them: `data 9f2c`."""
        own = ("command", "versions")
        return [f"{name} {value}" for name, value in self.environment.items() if name not in own]

    def plan_mark(self, variants: Collection[str], claimed: str = "") -> str:
        """Returns the mark of a comparison of variants, or of a claim on a metric, as `PlanChanges.mark`."""
        replanned = self.plan.replanned
        return "" if replanned is None else replanned.mark(variants, claimed)

    def is_stopped(self, variant: VariantFacts, task: str) -> bool:
        """Returns whether a variant was trained no further on a task, as it changed none of the baseline's numbers.

        Only then are there fewer seeds than at the first look.
        """
        if self.is_given or variant.placebo or variant.name == self.variants[0].name:
            return False
        first_look = self.plan.looks[0] if self.plan.looks else len(self.seeds)
        return len(self.seeds_of(variant.name, task)) < first_look

    def lost_of(self, variant: str, task: str) -> list[LostRun]:
        """Returns the runs of a variant on a task whose pairs are left out."""
        return [run for run in self.lost if (run.variant, run.task) == (variant, task)]

    def is_planned(self, variant: str, task: str) -> bool:
        """Returns whether a variant runs on a task: on every one, or, where runs were given, on those that it has."""
        match self.provenance:
            case Given():
                return bool(self.seeds_of(variant, task) or self.lost_of(variant, task))
            case Planned():
                return True
            case _:
                assert_never(self.provenance)

    def seeds_of(self, variant: str, task: str) -> list[int]:
        """Returns the seeds that a variant has on a task, or was asked for.

        Of a study not all, where the variant was settled before the last look, or stopped.
        """
        match self.provenance:
            case Given(own_seeds):
                return own_seeds.get(variant, {}).get(task, [])
            case Planned(until=until):
                count = until.get(variant, {}).get(task)
                return self.seeds[:count]
            case _:
                assert_never(self.provenance)


TRIAL_COLUMNS = ("id", "variant", "task", "seed", "status", "reason")
"""The columns of the trials frame that are no metric, beside those of factors: names that no metric may have."""
EXAMPLE_COLUMNS = ("id", "metric", "values")
TRIALS = "trials.parquet"
"""The file of a report with the trials frame and the facts."""
RUNNER_UPS = "rivals"  # The frame of the trials of variants at other settings, as `Evidence.trials`.


def frame_of(rows: Any, columns: Sequence[str] | None = None) -> pd.DataFrame:
    """Returns rows as a frame with these columns. A study that is only planned has none, and pandas is not loaded."""
    import pandas as pd

    return pd.DataFrame(rows, columns=None if columns is None else list(columns))


@dataclass(frozen=True, eq=False)
class Evidence:
    """The records of one study as frames, with the facts."""

    facts: StudyFacts
    # One row a trial: id, variant, task, seed, a column a factor path, status, reason, metrics. Of runs that nobody has
    # there is none, but the frame `SUMMARIES`.
    trials: pd.DataFrame
    curves: pd.DataFrame  # id, step, metric, value.
    # id, metric, values: the metric of each test example, in the order of the test split; of completed trials on
    # tasks whose seeds share test examples, and of metrics that are judged: the primary one, as at the step that is
    # judged, and those that claims name, as at the last. Of runs that were given with clusters of examples, also
    # source: a number for each example.
    examples: pd.DataFrame = field(default_factory=functools.partial(frame_of, (), EXAMPLE_COLUMNS))
    # `StageFacts.key` → what a stage has measured or trained beside that; `RUNNER_UPS` or another role → trials that
    # are not judged. Those without rows may be missing.
    frames: Mapping[str, pd.DataFrame] = field(default_factory=dict)

    def frame(self, kind: type[StageFacts]) -> pd.DataFrame:
        """Returns the frame of a stage; without rows, but with its columns, where there is nothing."""
        if kind.key in self.frames:
            return self.frames[kind.key]
        return frame_of((), kind.columns)

    def other_trials(self, role: str, columns: Sequence[str]) -> pd.DataFrame:
        """Returns the trials of a role that are not judged; without rows, but with `columns`, where there are none."""
        if role in self.frames:
            return self.frames[role]
        return frame_of((), columns)

    def having(self, facts: StageFacts, frame: pd.DataFrame | None = None) -> Evidence:
        """Returns the evidence with the facts of a stage, and the frame beside them."""
        features = {**self.facts.features, facts.key: facts.plain()}
        frames = {**self.frames}
        if frame is not None:
            frames[facts.key] = frame
        return replace(self, facts=replace(self.facts, features=features), frames=frames)

    @property
    def only_measured(self) -> bool:
        """True where the study was measured, as by `ablate bench`, and never trained."""
        has_runs = self.facts.replication.has_runs
        return has_runs and self.trials.empty and any(len(frame) for frame in self.frames.values())
