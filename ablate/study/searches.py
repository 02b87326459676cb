"""One search, read and checked: its space, objectives, sampler, pruner and budget."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass

from ablate.base.errors import Gather, Invalid, listed, nearest
from ablate.base.registry import CATALOGUE, PartConfig
from ablate.core.metric import Description, Metric
from ablate.core.search_table import WINNER, Objective, SearchFacts
from ablate.study.checks import Draft, attempt
from ablate.study.document import PathKey
from ablate.study.sections.seeds import TUNING_SEEDS_FROM
from ablate.study.space import Space, SpaceReader

COSTS = ("parameters", "flops", "compute")
STABILITY = ("divergence_rate", "seed_spread")
DEFAULT_TRIALS = 20


@dataclass(frozen=True)
class SearchSpec:
    """One search, or one for each variant and task that is tuned."""

    space: Space
    objectives: tuple[Objective, ...]
    sampler: PartConfig
    pruner: PartConfig
    trials: int
    seeds: tuple[int, ...]
    batch: int
    at: str
    "`last`, or `best_validation`: the evaluation that counts."
    winners: int = 1

    def facts(self) -> SearchFacts:
        """The facts that tables and reports show."""
        return SearchFacts(
            parameters=list(self.space.parameters),
            objectives=list(self.objectives),
            sampler=_label(self.sampler),
            pruner=_label(self.pruner),
            trials=self.trials,
            seeds=list(self.seeds),
            batch=self.batch,
        )


def _label(part: PartConfig) -> str:
    """The name, with the parameters that are not at their default: `tpe(n_startup_trials=5)`."""
    given = part.model_dump()
    plain = type(part)(name=part.name).model_dump()
    changed = {key: value for key, value in given.items() if value != plain[key]}
    return part.name + (f"({','.join(f'{k}={v}' for k, v in changed.items())})" if changed else "")


def _read(draft: Draft, kind: str, metrics: Mapping[str, Metric]) -> SearchSpec | None:
    """The `search:` or `tune:` of a study; None where something is wrong with it, which is reported."""
    section, document, variants = draft.study.section(kind), draft.document, draft.design.variants
    before = len(document.problems)
    _check_conflicts(draft, kind)
    description = attempt(draft.workload.describe, variants[0].configs[0])[0]
    changed = variants if kind == "tune" else variants[:1]
    bases = [(variant.name, config) for variant in changed for config in variant.configs]
    space = SpaceReader(draft, kind, bases).read(section.over)
    objectives = _objectives(draft, kind, metrics, description)
    trials = section.trials or DEFAULT_TRIALS
    if section.sampler.part.exhaustive and space:
        trials = _grid_trials(draft, kind, space)
    with document.reporting(kind, "sampler"):
        _check_sampler(section.sampler, len(objectives), space)
    with document.reporting(kind, "pruner"):
        pruner = section.pruner.build()
        # A grid that was refused has no trials, and nothing to prune.
        if trials:
            pruner.check(
                objectives=len(objectives),
                reports=description.reports if description else None,
                seeds=section.seeds,
                trials=trials,
                batch=section.batch,
            )
    winners = getattr(section, "winners", 1)
    if winners > trials > 0:
        rule = f"are more than the {trials} settings that are tried"
        document.refuse((kind, "winners"), rule, winners, f"1 to {trials}")
    if space is None or len(document.problems) > before:
        return None
    return SearchSpec(
        space=space,
        objectives=tuple(objectives),
        sampler=section.sampler,
        pruner=section.pruner,
        trials=trials,
        seeds=tuple(range(TUNING_SEEDS_FROM, TUNING_SEEDS_FROM + section.seeds)),
        batch=section.batch,
        at=draft.study.metric.at,
        winners=winners,
    )


def _check_conflicts(draft: Draft, kind: str) -> None:
    """A path cannot be searched and set by something else at once."""
    study, refuse = draft.study, draft.document.refuse
    for name in study.variants if kind == "search" else ():
        if name == WINNER or name.startswith(f"{WINNER}-"):
            rule = "is the name of a setting that a sweep finds"
            refuse(("variants", name), rule, hint="Choose another name")
    changed = dict.fromkeys([*study.factors, *itertools.chain.from_iterable(study.variants.values())])
    for path in study.section(kind).over:
        at: PathKey = (kind, "over", path)
        if path.partition(".")[0] in ("task", "tasks"):
            refuse(at, "changes the task, on which all settings must be judged alike")
        above = [c for c in changed if path.startswith(f"{c}.")]
        clash = [c for c in changed if f"{c}.".startswith(f"{path}.")]
        if kind == "tune" and (above or clash):
            rule = f"is what the study compares ({listed(clash)}); tuning would undo it"
            if above:
                rule = f"belongs to what the study compares ({listed(above)}): some levels may not have it"
            refuse(at, rule, hint="Tune another path")


def _objectives(
    draft: Draft, kind: str, metrics: Mapping[str, Metric], description: Description | None
) -> list[Objective]:
    """What is searched for; `description` is that of the baseline, where it can be built."""
    study, section = draft.study, draft.study.section(kind)
    names = list(getattr(section, "objectives", []))
    found: list[Objective] = []
    for index, name in enumerate(names or [study.metric.name or next(iter(metrics), "")]):
        with draft.document.reporting(kind, "objectives", index), Gather() as at:
            if name in names[:index]:
                raise Invalid("", "is listed twice", name)
            if name in metrics:
                found.append(Objective(name, metrics[name].direction, "validation", metrics[name].floor))
            elif name in COSTS:
                found.append(Objective(name, "min", "cost"))
                unknown = description is not None and getattr(description, name) is None
                rule = f"is not known for this config of {study.workload}"
                at.refuse(unknown, "", rule, name, hint="Search for another cost")
            elif name in STABILITY:
                found.append(Objective(name, "min", "stability"))
                spread, of = name == "seed_spread", set(metrics) & set(names)
                rule = "is the spread of a metric, and none is searched for"
                at.refuse(spread and not of, "", rule, name, hint=f"Add one: {listed(metrics)}")
                rule = "is a standard deviation over seeds, and the search has one"
                at.refuse(spread and section.seeds < 2, "", rule, name, hint="Give `seeds: 3`")
            elif metrics:
                allowed = [*metrics, *COSTS, *STABILITY]
                raise Invalid("", "no such objective", name, listed(allowed), nearest(name, allowed))
    return found


def _grid_trials(draft: Draft, kind: str, space: Space) -> int:
    points = 0
    with draft.document.reporting(kind, "over"):
        points = space.grid_size()
    given = draft.study.section(kind).trials or points
    if given < points:
        rule = f"would leave {points - given} of the {points} points of the grid out"
        hint = "Leave it out, use coarser steps, or another sampler"
        draft.document.refuse((kind, "trials"), rule, given, f"{points}", hint)
    return points


def _check_sampler(sampler: PartConfig, objectives: int, space: Space | None) -> None:
    """Raises `Invalid` for a sampler that cannot search for the objectives, or has too few numbers to model."""
    part = sampler.build()
    if objectives > 1 and not part.several:
        rule = f"looks for one objective; the search has {objectives}"
        able = listed(CATALOGUE.able("sampler", "several"))
        raise Invalid("", rule, sampler.name, able, "Choose another sampler, or one objective")
    if space is None:
        return
    numbers = sum(p.kind != "choice" and p.path not in space.conditions for p in space.parameters)
    if numbers < part.numbers:
        rule = f"needs {part.numbers} numbers that are always searched; the space has {numbers}"
        others = sorted({*CATALOGUE.names("sampler")} - {*CATALOGUE.able("sampler", "numbers")})
        raise Invalid("", rule, sampler.name, listed(others))


def read_searches(draft: Draft, metrics: Mapping[str, Metric]) -> dict[str, SearchSpec | None]:
    """The `search:` and the `tune:` of a study; None for one with mistakes."""
    found = {kind: _read(draft, kind, metrics) for kind in draft.study.searches()}
    if "search" in found and len(draft.design.variants[0].configs) > 1:
        rule = "looks at one task, and the study has several"
        draft.document.refuse(("search",), rule, hint="Give `task`, one study for each")
    return found
