"""One search, read and checked: its space, objectives, sampler, pruner and budget."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ablate.base.errors import Invalid, listed, nearest
from ablate.base.registry import CATALOGUE, PartConfig
from ablate.core.metric import Description, Metric
from ablate.core.search_table import WINNER, Objective, SearchFacts
from ablate.core.workload import Workload
from ablate.study.checks import attempt
from ablate.study.designs.design import Config, Design, Resolve
from ablate.study.document import Document, PathKey
from ablate.study.schema import StudyBase
from ablate.study.sections.search import SearchSection, TuneSection
from ablate.study.sections.seeds import TUNING_SEEDS_FROM
from ablate.study.space import Space
from ablate.study.space_reader import SpaceReader, check_grid

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
    remarks: tuple[str, ...] = field(default=(), compare=False)

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


@dataclass(frozen=True)
class SearchReader:
    """Reads the `search:` or `tune:` of a study; problems are reported to the document."""

    study: StudyBase
    kind: str
    "search or tune."
    bases: Sequence[tuple[str, Config]]
    "The configs that the search will change, by the name of their variant."
    description: Description | None
    "Of the baseline, where it can be built."
    metrics: Mapping[str, Metric]
    resolve: Resolve
    workload: Workload
    document: Document

    @property
    def section(self) -> SearchSection | TuneSection:
        """The section that is read."""
        return getattr(self.study, self.kind)

    def read(self) -> SearchSpec | None:
        """The search; None where something is wrong with it."""
        section, document = self.section, self.document
        before = len(document.problems)
        self._check_conflicts()
        reader = SpaceReader((self.kind, "over"), self.bases, self.resolve, self.workload, document)
        space, remarks = reader.read(section.over) or (None, ())
        objectives = self._objectives()
        trials = section.trials or DEFAULT_TRIALS
        if section.sampler.part.exhaustive and space:
            trials = self._grid_trials(space)
        with document.reporting(self.kind, "sampler"):
            self._check_sampler(section.sampler, len(objectives), space)
        with document.reporting(self.kind, "pruner"):
            pruner = section.pruner.build()
            # A grid that was refused has no trials, and nothing to prune.
            if trials:
                pruner.check(
                    objectives=len(objectives),
                    reports=self.description.reports if self.description else None,
                    seeds=section.seeds,
                    trials=trials,
                    batch=section.batch,
                )
        winners = getattr(section, "winners", 1)
        if winners > trials > 0:
            document.refuse(
                (self.kind, "winners"),
                f"are more than the {trials} settings that are tried",
                winners,
                f"1 to {trials}",
            )
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
            at=self.study.metric.at,
            winners=winners,
            remarks=tuple(remarks),
        )

    def _check_sampler(self, sampler: PartConfig, objectives: int, space: Space | None) -> None:
        """Raises `Invalid` for a sampler that cannot search for the objectives, or has too few numbers to model."""
        part = sampler.build()
        if objectives > 1 and not part.several:
            able = listed(CATALOGUE.able("sampler", "several"))
            raise Invalid(
                "",
                f"looks for one objective; the search has {objectives}",
                sampler.name,
                able,
                "Choose another sampler, or one objective",
            )
        if space is None:
            return
        numbers = sum(p.kind != "choice" and p.path not in space.conditions for p in space.parameters)
        if numbers < part.numbers:
            rule = f"needs {part.numbers} numbers that are always searched; the space has {numbers}"
            others = sorted({*CATALOGUE.names("sampler")} - {*CATALOGUE.able("sampler", "numbers")})
            raise Invalid("", rule, sampler.name, listed(others))

    def _check_conflicts(self) -> None:
        """A path cannot be searched and set by something else at once."""
        study, refuse = self.study, self.document.refuse
        for name in study.variants if self.kind == "search" else ():
            if name == WINNER or name.startswith(f"{WINNER}-"):
                refuse(
                    ("variants", name),
                    "is the name of a setting that a sweep finds",
                    hint="Choose another name",
                )
        changed = dict.fromkeys([*study.factors, *itertools.chain.from_iterable(study.variants.values())])
        for path in self.section.over:
            at: PathKey = (self.kind, "over", path)
            if path.partition(".")[0] in ("task", "tasks"):
                refuse(at, "changes the task, on which all settings must be judged alike")
            above = [c for c in changed if path.startswith(f"{c}.")]
            clash = [c for c in changed if c == path or c.startswith(f"{path}.")]
            if self.kind == "tune" and (above or clash):
                rule = (
                    f"belongs to what the study compares ({listed(above)}): some levels may not have it"
                    if above
                    else f"is what the study compares ({listed(clash)}); tuning would undo it"
                )
                refuse(at, rule, hint="Tune another path")

    def _objectives(self) -> list[Objective]:
        metrics, refuse = self.metrics, self.document.refuse
        names = list(getattr(self.section, "objectives", []))
        found: list[Objective] = []
        for index, name in enumerate(names or [self.study.metric.name or next(iter(metrics), "")]):
            at: PathKey = (self.kind, "objectives", index)
            if name in names[:index]:
                refuse(at, "is listed twice", name)
            elif name in metrics:
                found.append(Objective(name, metrics[name].direction, "validation", metrics[name].floor))
            elif name in COSTS:
                found.append(Objective(name, "min", "cost"))
                if self.description is not None and getattr(self.description, name) is None:
                    refuse(
                        at,
                        f"is not known for this config of {self.study.workload}",
                        name,
                        hint="Search for another cost",
                    )
            elif name in STABILITY:
                found.append(Objective(name, "min", "stability"))
                if name == "seed_spread" and not any(other in metrics for other in names):
                    refuse(
                        at,
                        "is the spread of a metric, and none is searched for",
                        name,
                        hint=f"Add one: {listed(metrics)}",
                    )
                if name == "seed_spread" and self.section.seeds < 2:
                    refuse(
                        at,
                        "is a standard deviation over seeds, and the search has one",
                        name,
                        hint="Give `seeds: 3`",
                    )
            elif metrics:
                allowed = [*metrics, *COSTS, *STABILITY]
                refuse(at, "no such objective", name, listed(allowed), nearest(name, allowed))
        return found

    def _grid_trials(self, space: Space) -> int:
        points = check_grid(space, (self.kind, "over"), self.document)
        given = self.section.trials or points
        if given < points:
            self.document.refuse(
                (self.kind, "trials"),
                f"would leave {points - given} of the {points} points of the grid out",
                given,
                f"{points}",
                "Leave it out, use coarser steps, or another sampler",
            )
        return points


def read_searches(
    workload: Workload,
    study: StudyBase,
    design: Design,
    metrics: Mapping[str, Metric],
    resolve: Resolve,
    document: Document,
) -> list[SearchSpec | None]:
    """The `search:` and the `tune:` of a study; None for one that it does not have."""
    description = attempt(workload.describe, design.variants[0].configs[0])[0]
    found: list[SearchSpec | None] = []
    for kind, variants in (("search", design.variants[:1]), ("tune", design.variants)):
        bases = [(v.name, config) for v in variants for config in v.configs]
        reader = SearchReader(study, kind, bases, description, metrics, resolve, workload, document)
        found.append(reader.read() if getattr(study, kind) is not None else None)
    if study.search is not None and len(design.variants[0].configs) > 1:
        document.refuse(
            ("search",),
            "looks at one task, and the study has several",
            hint="Give `task`, one study for each",
        )
    return found
