"""One search, read and checked: its space, objectives, sampler, pruner and budget."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from ablate.analysis.runner_ups import MAX_RUNNER_UPS
from ablate.analysis.search_table import Objective, SearchFacts, winner_names
from ablate.base.errors import listed, nearest
from ablate.base.registry import PartConfig
from ablate.base.streams import stream_seed
from ablate.core.metric import Description
from ablate.core.names import CONFIRM, confirmed
from ablate.core.trial import identified
from ablate.search.pruners import check_pruner
from ablate.stages.search.objectives import read_objectives
from ablate.stages.search.outer_values import OuterReader, OuterValues, widest
from ablate.stages.search.section import MIN_TUNING_SEEDS, SearchSection, TuneSection
from ablate.stages.search.space import Point, Space
from ablate.stages.search.space_reader import SpaceReader
from ablate.study.designs import Config
from ablate.study.draft import Draft
from ablate.study.patch import key_of, overlap
from ablate.study.plain_yaml import PathKey
from ablate.study.sections import TUNING_SEEDS_FROM

DEFAULT_TRIALS = 20
NUM_FIRST_SEEDS = 900_000
"""The seeds at which tuning may begin, counted from `TUNING_SEEDS_FROM`."""


@dataclass(frozen=True)
class SearchSpec:
    """The search of a section; tuning makes it for each variant and task."""

    space: Space
    # What tables and reports show.
    facts: SearchFacts
    section: SearchSection | TuneSection
    # `last`, or `best_validation`: the evaluation that counts.
    at: str
    # Task → its tuning seeds.
    seeds: Mapping[str, Sequence[int]]
    # The metric, less being better, that decides between settings alike in the objective; empty: none.
    tie: str = ""
    # The most runner-ups of one setting that was tuned.
    max_runner_ups: int = 0
    # The settings of an exhaustive sampler, in their order; none of another.
    grid: Sequence[Point] = ()
    # The values by which the grid may still be widened.
    outer: OuterValues = field(default_factory=dict)

    @property
    def most_added(self) -> int:
        """The most settings by which the grid may still be widened."""
        return len(widest(self.space, self.outer).grid()) - len(self.grid) if self.outer else 0


def read_search(draft: Draft, key: str, section: SearchSection | TuneSection) -> SearchSpec | None:
    """Returns the search of one section; None where it has mistakes, which are reported.

    key: `search` or `tune`.
    """
    problems = draft.document.problems
    num_problems = len(problems)
    _check_conflicts(draft, key, section)
    reader = _space_reader(draft, key)
    space = reader.read(section.over)
    grid = _read_grid(draft, key, section, space)
    outer = _read_outer(reader, section, space)
    at = _condition_of(draft, section)
    task = at or draft.tasks[0]
    description = draft.workload.describe(draft.design.variants[0].configs[task])
    objectives = read_objectives(draft, key, section, description)
    trials = _num_trials(section, grid, space)
    _check_sampler(draft, key, section, space=space, objectives=len(objectives))
    _check_pruner(draft, key, section, description=description, objectives=len(objectives), trials=trials)
    _check_counts(draft, section, trials)
    if space is None or len(problems) > num_problems:
        return None

    seeds = _tuning_seeds(draft, section)
    facts = SearchFacts(
        parameters=list(space.parameters),
        objectives=objectives,
        sampler=_label(section.sampler),
        pruner=_label(section.pruner),
        trials=trials,
        seeds=seeds[task],
        batch=section.batch,
        at=at,
        added=[] if outer else None,
    )
    spec = SearchSpec(
        space,
        facts,
        section,
        at=draft.config.metric.at,
        seeds=seeds,
        tie=_tie_breaker(description, objectives[0]),
        grid=grid,
        outer=outer,
    )
    if isinstance(section, SearchSection) or section.each_seed:
        return spec
    return replace(spec, max_runner_ups=min(MAX_RUNNER_UPS, trials + spec.most_added - 1))


def _check_conflicts(draft: Draft, key: str, section: SearchSection | TuneSection) -> None:
    """Refuses names that winners will have, and paths that something else sets."""
    config = draft.config
    refuse = draft.document.refuse
    if isinstance(section, SearchSection):
        for name in winner_names(section.winners):
            if name in config.variants:
                rule = "is the name that a sweep gives to a winner"
                refuse(("variants", name), rule, hint="Choose another name")

    compared = dict.fromkeys(config.factors)
    for patches in config.variants.values():
        compared |= dict.fromkeys(patches)
    for path in section.over:
        place: PathKey = (key, "over", path)
        if path.partition(".")[0] in ("task", "tasks"):
            refuse(place, "changes the task, which must be the same for all settings")
        conflicts = [other for other in compared if overlap(path, other)]
        if key == "tune" and conflicts:
            refuse(
                place,
                f"is compared by the study ({listed(conflicts)}); tuning would overwrite it",
                hint="Tune another path",
            )


def _condition_of(draft: Draft, section: SearchSection | TuneSection) -> str:
    """Returns the condition in which variants are tuned for all; empty where in each, and where it is refused."""
    if not isinstance(section, TuneSection) or section.at is None:
        return ""
    if section.at in draft.tasks:
        return section.at
    names = [name for name in draft.tasks if name]
    rule = "is not a condition of the study"
    if not names:
        rule = "names a condition, and the study has none"
    hint = nearest(section.at, names) or "Remove it, or add `conditions`"
    draft.document.refuse(("tune", "at"), rule, section.at, listed(names), hint)
    return ""


def _space_reader(draft: Draft, key: str) -> SpaceReader:
    """Returns the reader of the space of a section: tuning changes every variant, and a sweep the baseline alone."""
    variants = draft.design.variants
    changed = variants if key == "tune" else variants[:1]
    bases: list[tuple[str, Config]] = []
    for variant in changed:
        bases += [(variant.name, config) for config in variant.configs.values()]
    return SpaceReader(draft, key, bases)


def _read_grid(
    draft: Draft, key: str, section: SearchSection | TuneSection, space: Space | None
) -> Sequence[Point]:
    """Returns the settings of an exhaustive sampler; refuses fewer `trials`.

    None of another sampler, and where the grid is refused.
    """
    if not section.sampler.part.exhaustive or space is None:
        return ()
    points: list[Point] = []
    with draft.document.reporting(key, "over"):
        points = space.grid()
    num_points = len(points)
    if section.trials and section.trials < num_points:
        draft.document.refuse(
            (key, "trials"),
            f"would leave out {num_points - section.trials} of the {num_points} points of the grid",
            section.trials,
            allowed=f"{num_points}",
            hint="Leave it out, use coarser steps, or another sampler",
        )
    return points


def _read_outer(
    reader: SpaceReader, section: SearchSection | TuneSection, space: Space | None
) -> OuterValues:
    """Returns the values by which a grid may be widened; none of a sweep, and where it is refused."""
    if isinstance(section, SearchSection) or space is None:
        return {}
    return OuterReader(reader, space).read(section)


def _num_trials(section: SearchSection | TuneSection, grid: Sequence[Point], space: Space | None) -> int:
    """Returns how many settings a search tries: of a grid every point; 0 where the grid is refused."""
    if not section.sampler.part.exhaustive or space is None:
        return section.trials or DEFAULT_TRIALS
    return len(grid)


def _check_sampler(
    draft: Draft,
    key: str,
    section: SearchSection | TuneSection,
    *,
    space: Space | None,
    objectives: int,
) -> None:
    """Reports a sampler that cannot search over the space, or for so many objectives."""
    sampler = section.sampler.build()
    with draft.document.reporting(key, "sampler"):
        if space is None:
            sampler.check(objectives=objectives, numbers=None, suggest=None)
        else:
            sampler.check(objectives=objectives, numbers=space.always_numbers, suggest=space.suggested)


def _check_pruner(
    draft: Draft,
    key: str,
    section: SearchSection | TuneSection,
    *,
    description: Description,
    objectives: int,
    trials: int,
) -> None:
    """Reports a pruner that could never prune."""
    # A grid that was refused has no trials, and nothing to prune.
    earlier = (trials - 1) // section.batch * section.batch if trials else 1
    with draft.document.reporting(key, "pruner"):
        check_pruner(
            section.pruner.build(),
            objectives=objectives,
            seeds=section.seeds,
            reports=description.reports,
            earlier=earlier,
        )


def _check_counts(draft: Draft, section: SearchSection | TuneSection, trials: int) -> None:
    """Refuses more winners than settings, and too few seeds for tuning."""
    refuse = draft.document.refuse
    if isinstance(section, SearchSection) and section.winners > trials > 0:
        refuse(
            ("search", "winners"),
            f"are more than the {trials} settings that are tried",
            section.winners,
            allowed=f"1 to {trials}",
        )
    if isinstance(section, TuneSection) and section.seeds < MIN_TUNING_SEEDS and not section.each_seed:
        refuse(
            ("tune", "seeds"),
            "are too few: the choice of a setting would be luck",
            section.seeds,
            allowed=f"{MIN_TUNING_SEEDS} or more",
            hint="Or give `each_seed: on`, which tunes for each judged seed on its own validation data",
        )


def _tuning_seeds(draft: Draft, section: SearchSection | TuneSection) -> dict[str, list[int]]:
    """Returns task → the seeds of each setting."""
    seeds: dict[str, list[int]] = {}
    for task, config in draft.design.variants[0].configs.items():
        tunes = isinstance(section, TuneSection)
        first = _first_seed(draft, config) if tunes else TUNING_SEEDS_FROM
        seeds[task] = list(range(first, first + section.seeds))
    return seeds


def _first_seed(draft: Draft, baseline: Config) -> int:
    """Returns the first tuning seed on a task.

    It follows from the baseline and its task alone, so that studies of one baseline share their tuning seeds; a
    confirmation has others.
    """
    identity = key_of(identified(baseline, draft.workload.irrelevant(), {}))
    again = CONFIRM if confirmed(draft.config.name) else ""
    return TUNING_SEEDS_FROM + stream_seed(0, "tune", identity, again) % NUM_FIRST_SEEDS


def _label(part: PartConfig) -> str:
    """Returns the name, with the parameters that are not at their default: `tpe(n_startup_trials=5)`."""
    changed = part.model_dump(exclude_defaults=True, exclude={"name"})
    if not changed:
        return part.name
    return f"{part.name}({','.join(f'{name}={value}' for name, value in changed.items())})"


def _tie_breaker(description: Description, objective: Objective) -> str:
    """Returns the first other metric of which less is better; empty where there is none."""
    for name, metric in description.metrics.items():
        if metric.direction == "min" and name != objective.name:
            return name
    return ""
