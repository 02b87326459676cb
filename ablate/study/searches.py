"""What a search is to do, checked: its space, objectives, sampler, pruner and budget."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ablate.base.errors import Invalid, Problem, listed, nearest
from ablate.base.registry import CATALOGUE, PartConfig
from ablate.core.metric import Description, Metric
from ablate.core.searched import WINNER, ObjectiveFacts, SearchFacts
from ablate.study.designs import Config, Resolve
from ablate.study.document import Document, PathKey
from ablate.study.schema import TUNING_SEEDS_FROM, StudyBase
from ablate.study.sections.search import SearchSection, TuneSection
from ablate.study.space import Build, Space, check_grid, read_space

COSTS = ("parameters", "flops", "compute")
STABILITY = ("divergence_rate", "seed_spread")
DEFAULT_TRIALS = 20


@dataclass(frozen=True)
class SearchSpec:
    """One search, or one for each variant and task that is tuned."""

    space: Space
    objectives: tuple[ObjectiveFacts, ...]
    sampler: PartConfig
    pruner: PartConfig
    trials: int
    seeds: tuple[int, ...]
    batch: int
    at: str
    "`last`, or `best_validation`: the evaluation that counts."
    winners: int = 1
    storage: str | None = None
    remarks: tuple[str, ...] = field(default=(), compare=False)

    def facts(self, storage: str) -> SearchFacts:
        """What tables and reports say of it."""
        return SearchFacts(
            parameters=[parameter.facts() for parameter in self.space.parameters],
            objectives=list(self.objectives),
            sampler=_label(self.sampler),
            pruner=_label(self.pruner),
            trials=self.trials,
            seeds=list(self.seeds),
            batch=self.batch,
            storage=storage,
        )


def _label(part: PartConfig) -> str:
    """The name, with the parameters that are not at their default: `tpe(n_startup_trials=5)`."""
    given = part.model_dump()
    plain = type(part)(name=part.name).model_dump()
    changed = {key: value for key, value in given.items() if value != plain[key]}
    return part.name + (f"({','.join(f'{k}={v}' for k, v in changed.items())})" if changed else "")


def read_search(
    study: StudyBase,
    kind: str,
    bases: Sequence[tuple[str, Config]],
    description: Description | None,
    metrics: Mapping[str, Metric],
    resolve: Resolve,
    build: Build,
    document: Document,
) -> SearchSpec | None:
    """The `search:` or `tune:` of a study; what is wrong with it is reported to the document."""
    section: SearchSection | TuneSection = getattr(study, kind)
    before = len(document.problems)
    _check_conflicts(study, kind, section, document)
    found = read_space(section.over, (kind, "over"), bases, resolve, build, document)
    objectives = _objectives(study, kind, metrics, description, document)
    trials = section.trials or DEFAULT_TRIALS
    if section.sampler.part.exhaustive and found is not None:
        trials = _grid_trials(section, found[0], kind, document)
    for name, part in (("sampler", section.sampler), ("pruner", section.pruner)):
        try:
            built = part.build()
            if name == "pruner" and not trials:
                continue  # The grid that it would prune is none.
            if name == "pruner":
                built.check(
                    objectives=len(objectives),
                    reports=description.reports if description else None,
                    seeds=section.seeds,
                    trials=trials,
                    batch=section.batch,
                )
            elif len(objectives) > 1 and not built.several:
                able = listed(CATALOGUE.able("sampler", "several"))
                rule = f"looks for one objective; the search has {len(objectives)}"
                raise Invalid("", rule, part.name, able, "Choose another sampler, or one objective")
        except Invalid as error:
            for problem in error.problems:
                document.report(dataclasses.replace(problem, path=(kind, name, *problem.path)))
    _check_numbers(section.sampler, found[0] if found else None, kind, document)
    winners = getattr(section, "winners", 1)
    if winners > trials > 0:
        rule = f"are more than the settings that are tried, {trials}"
        document.report(Problem(rule, (kind, "winners"), winners, f"1 to {trials}"))
    if len(document.problems) > before or found is None:
        return None
    return SearchSpec(
        space=found[0],
        objectives=tuple(objectives),
        sampler=section.sampler,
        pruner=section.pruner,
        trials=trials,
        seeds=tuple(range(TUNING_SEEDS_FROM, TUNING_SEEDS_FROM + section.seeds)),
        batch=section.batch,
        at=study.metric.at,
        winners=getattr(section, "winners", 1),
        storage=section.storage,
        remarks=tuple(found[1]),
    )


def _check_numbers(sampler: PartConfig, space: Space | None, kind: str, document: Document) -> None:
    """Some samplers draw at random where there are too few numbers for them."""
    needed = sampler.part.numbers  # type: ignore[attr-defined]
    if space is None or not needed or document.is_faulty((kind, "sampler")):
        return
    there = sum(p.kind != "choice" and not p.conditions for p in space.parameters)
    if there < needed:
        rule = f"needs {needed} numbers that are always searched; the space has {there}"
        able = [name for name in CATALOGUE.names("sampler") if not CATALOGUE.get("sampler", name).numbers]  # type: ignore[attr-defined]
        document.report(Problem(rule, (kind, "sampler"), sampler.name, listed(able)))


def _check_conflicts(
    study: StudyBase, kind: str, section: SearchSection | TuneSection, document: Document
) -> None:
    """A path cannot be searched and set by something else at once."""
    for name in study.variants if kind == "search" else ():
        if name == WINNER or name.startswith(f"{WINNER}-"):
            rule = "is what a sweep calls the settings that it finds"
            document.report(Problem(rule, ("variants", name), hint="Name it otherwise"))
    changed = set(study.factors) | set(itertools.chain.from_iterable(study.variants.values()))
    for path in section.over:
        at: PathKey = (kind, "over", path)
        if path.partition(".")[0] in ("task", "tasks"):
            document.report(Problem("changes the task, on which all settings must be judged alike", at))
        clash = [c for c in changed if c == path or path.startswith(f"{c}.") or c.startswith(f"{path}.")]
        if kind == "tune" and clash:
            below = [c for c in clash if path.startswith(f"{c}.")]
            rule = f"is what the study compares ({listed(clash)}); tuning would undo it"
            if below:
                rule = (
                    f"is a setting of what the study compares ({listed(below)}): not every level need have it"
                )
            document.report(Problem(rule, at, hint="Tune another path"))


def _objectives(
    study: StudyBase,
    kind: str,
    metrics: Mapping[str, Metric],
    description: Description | None,
    document: Document,
) -> list[ObjectiveFacts]:
    primary = study.metric.name or next(iter(metrics), "")
    names = list(getattr(study.search, "objectives", [])) if kind == "search" else []
    found: list[ObjectiveFacts] = []
    for index, name in enumerate(names or [primary]):
        at: PathKey = (kind, "objectives", index)
        if names.count(name) > 1 and names.index(name) < index:
            document.report(Problem("is listed twice", at, name))
        elif name in metrics:
            found.append(ObjectiveFacts(name, metrics[name].direction, "validation", metrics[name].floor))
        elif name in COSTS or name in STABILITY:
            found.append(ObjectiveFacts(name, "min", "cost" if name in COSTS else "stability"))
            if name in COSTS and description is not None and getattr(description, name) is None:
                rule = f"is not known of what {study.workload} trains here"
                document.report(Problem(rule, at, name, hint="Search for another cost"))
            if name == "seed_spread" and not any(other in metrics for other in names):
                rule = "is the spread of a metric, and none is searched for"
                document.report(Problem(rule, at, name, hint=f"Add one: {listed(metrics)}"))
            if name == "seed_spread" and study.search and study.search.seeds < 2:
                rule = "is a standard deviation over seeds, and the search has one"
                document.report(Problem(rule, at, name, hint="Give `seeds: 3`"))
        elif metrics:
            allowed = [*metrics, *COSTS, *STABILITY]
            document.report(Problem("no such objective", at, name, listed(allowed), nearest(name, allowed)))
    return found


def _grid_trials(section: SearchSection | TuneSection, space: Space, kind: str, document: Document) -> int:
    points = check_grid(space, (kind, "over"), document)
    if points and section.trials is not None and section.trials < points:
        rule = f"would leave {points - section.trials} of the {points} points of the grid out"
        hint = "Leave it out, use coarser steps, or another sampler"
        document.report(Problem(rule, (kind, "trials"), section.trials, f"{points}", hint))
    return points


def described_point(space: Space, point: Mapping[str, object]) -> str:
    """A setting in words: `training.lr=0.0031, model.mixer=lstm`."""
    return ", ".join(f"{path}={label}" for path, label in space.labels(point).items())
