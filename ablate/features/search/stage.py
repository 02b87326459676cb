"""From a study to what is judged of it: a sweep from the baseline, or the tuning of every variant, on equal budgets.

Also the searches as studies of Optuna's, for its own dashboard: `ablate export --optuna`.
"""

from __future__ import annotations

import importlib.metadata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from ablate.base.errors import AblateError, Problem, StudyError
from ablate.base.text import masked
from ablate.core.facts import BASELINE, Evidence
from ablate.core.metric import Description, size_of
from ablate.core.record import Record
from ablate.core.trial import Cell
from ablate.features.search.search import Search, SearchPlan
from ablate.features.search.space import Point
from ablate.features.search.spec import SearchSpec
from ablate.features.search.table import NAME, SearchTable, table_of, tabulated, winner_names
from ablate.report.words import say
from ablate.route.gather import gather
from ablate.route.running import Run
from ablate.study.designs import Variant
from ablate.study.experiment import Choice, Experiment, facts_of
from ablate.study.schema import PLACEBO

if TYPE_CHECKING:
    import pandas as pd

# Roles of the trainings of a search, and of variants as the study gives them.
TRIED, UNTUNED = "tried", "untuned"


def settles(experiment: Experiment, options: Any = None) -> bool:
    """Whether the variants of a run are searched for."""
    sweeps, read = options is not None and options.sweep, experiment.read[NAME]
    if sweeps and "search" not in read:
        raise StudyError(
            [
                Problem(
                    "is required: it says what a sweep looks for",
                    ("search",),
                    hint="Add it, or use `ablate run`",
                    source=str(experiment.path),
                )
            ]
        )
    return sweeps or "tune" in read


def settle(run: Run) -> Experiment:
    """The study with the best settings as its variants; searches until the budget is used."""
    experiment, sweeps = run.experiment, run.options.sweep
    spec: SearchSpec = experiment.read[NAME]["search" if sweeps else "tune"]
    names = {BASELINE, *(run.options.only or (variant.name for variant in experiment.variants))}
    searched = [v for v in experiment.variants[: 1 if sweeps else None] if v.name in names]
    every = [
        _search(experiment, spec, variant, index, "" if sweeps else f"{variant.name} · ")
        for variant in searched
        for index in range(len(experiment.tasks))
    ]
    plan = SearchPlan(every, run.folder.trial_list.add)
    _compare_versions(run, spec, plan.left)
    judged = 1 + spec.section.winners + experiment.study.placebo if sweeps else len(searched)
    records = run.drive(plan, later=_judging(experiment, judged))
    cells = list(plan.cells.values())
    if not all(search.complete for search in every):
        raise run.unfinished("search", cells, records)
    objectives = spec.facts.objectives
    if any(row.get("own") for search in every for row in search.rows):
        objectives = [replace(o, source="own") if o.source == "validation" else o for o in objectives]
    facts = replace(spec.facts, objectives=objectives, versions=_versions())
    choice = Choice("sweep" if sweeps else "tuning", cells, tabulated(facts, [s.rows for s in every]))
    return _swept(run, spec, choice) if sweeps else _tuned(run, spec, choice, searched)


def _search(experiment: Experiment, spec: SearchSpec, variant: Variant, index: int, prefix: str) -> Search:
    """The search of a variant on one task; the names of its settings begin with `prefix`."""
    task, stream = experiment.tasks[index], PLACEBO if variant.placebo else ""

    def prepare(number: int, point: Point) -> tuple[list[Cell], Description]:
        setting = experiment.patched(variant.configs[index], spec.space.patches(point), index)
        known = experiment.workload.describe(setting)
        name, levels = f"{prefix}setting {number:03d}", spec.space.labels(point)
        return [
            Cell(
                name,
                task,
                seed,
                # Only the trials of the comparison are evaluated.
                replace(experiment.trial(setting, seed, stream), checkpoint="none"),
                f"{name}{experiment.on(task)} seed {seed}",
                levels,
                TRIED,
                partial(size_of, known),
            )
            for seed in spec.facts.seeds
        ], known

    return Search(spec, prepare, variant.name, task, stream)


def _versions() -> dict[str, str]:
    """Of the packages on which it depends what a sampler suggests."""
    return {name: importlib.metadata.version(name) for name in ("optuna", "numpy", "scipy")}


def _compare_versions(run: Run, spec: SearchSpec, most: int) -> None:
    """Says what it costs where the report has settings of the same space that other versions suggested."""
    known = run.folder.facts().features if run.folder.has_report else {}
    before, now = known.get(NAME, {}), _versions()
    then = before.get("versions", {})
    changed = [
        f"{name} {then.get(name, 'of another version')}" for name in now if then.get(name) != now[name]
    ]
    if before and changed and before["parameters"] == [asdict(p) for p in spec.space.parameters]:
        run.say(say("search.versions", changed, [f"{n} {version}" for n, version in now.items()], most))


def _judging(experiment: Experiment, variants: int) -> int:
    """The most trainings that judge so many variants."""
    beside = experiment.companions(experiment.cells(experiment.study.seeds.values[:1])[:1])
    each = 1 + len(beside) + _trains_untuned(experiment)
    return experiment.study.seeds.count * len(experiment.tasks) * variants * each


def _trains_untuned(experiment: Experiment) -> bool:
    section = experiment.study.section("tune")
    return section is not None and section.untuned


def at_most(experiment: Experiment, left: int) -> int:
    """The trainings of the searches, those that judge, and those of the variants as the study gives them."""
    spec, variants = experiment.read[NAME]["tune"], len(experiment.variants)
    tried = variants * len(experiment.tasks) * spec.facts.trials * len(spec.facts.seeds)
    return tried + _judging(experiment, variants)


def begun(run: Run) -> bool:
    """Whether a setting was trained, from which a claim could have been read."""
    return any(cell.role == TRIED and run.store.has(cell.id) for cell in run.folder.trial_list.cells())


def _swept(run: Run, spec: SearchSpec, choice: Choice) -> Experiment:
    """The baseline, the best settings that differ from it, and the placebo."""
    experiment, table = run.experiment, choice.found
    baseline, *others = experiment.variants
    if dropped := [variant.name for variant in others if not variant.placebo]:
        run.say(say("search.left_to_run", dropped))
    places = table.best(BASELINE, experiment.tasks[0], spec.section.winners)
    names = winner_names(spec.section.winners)
    table.trials.loc[places, "chosen"] = names[: len(places)]
    if len(places) < len(names):
        run.say(say("search.fewer", len(places), len(names), len(spec.facts.objectives) > 1))
    variants = [baseline]
    for place, name in zip(places, names, strict=False):
        point = table.point(place)
        patches, tuned = spec.space.patches(point), {experiment.tasks[0]: spec.space.labels(point)}
        config = experiment.patched(baseline.configs[0], patches)
        if any(config == variant.configs[0] for variant in variants):
            run.say(say("search.itself", name))
        else:
            variants.append(Variant(name, [config], patches, ("search",), tuned=tuned))
    variants += [variant for variant in others if variant.placebo]
    paths = [p.path for p in spec.space.parameters if any(p.path in v.patches for v in variants)]
    return experiment.judging(variants, paths, choice)


def _tuned(run: Run, spec: SearchSpec, choice: Choice, searched: Sequence[Variant]) -> Experiment:
    """Every variant that was searched for with its best settings; where none has a value, as it was given."""
    experiment, table = run.experiment, choice.found
    variants = []
    for variant in searched:
        configs, labels = list(variant.configs), {}
        for index, task in enumerate(experiment.tasks):
            if not (places := table.best(variant.name, task)):
                run.warn(say("search.no_setting", f"{variant.name}{experiment.on(task)}"))
                continue
            table.trials.loc[places, "chosen"] = variant.name
            point = table.point(places[0])
            configs[index] = experiment.patched(configs[index], spec.space.patches(point), index)
            labels[task] = spec.space.labels(point)
        variants.append(replace(variant, configs=configs, tuned=labels, given=variant.configs))
    found = experiment.judging(variants, experiment.design.paths, choice)
    return replace(found, left_out=[v.name for v in experiment.variants if v not in searched])


def untuned(experiment: Experiment, cells: Sequence[Cell]) -> Iterator[Cell]:
    """The trainings of tuned variants as the study gives them."""
    known = {variant.name: variant.given for variant in experiment.variants if variant.given is not None}
    for cell in cells if known and _trains_untuned(experiment) else ():
        if (given := known.get(cell.variant)) is not None:
            trial = experiment.trial(given[experiment.tasks.index(cell.task)], cell.seed, cell.trial.stream)
            name = f"{cell.variant} {UNTUNED}{cell.name.removeprefix(cell.variant)}"
            yield replace(cell, trial=trial, name=name, role=UNTUNED)


def frames(
    experiment: Experiment, cells: Sequence[Cell], records: Mapping[str, Record]
) -> Mapping[str, pd.DataFrame]:
    """The settings that were tried, and the trials of the untuned variants."""
    found = {}
    if isinstance(experiment.choice.found, SearchTable):
        found[NAME] = experiment.choice.found.trials
    if given := [cell for cell in cells if cell.role == UNTUNED]:
        found[UNTUNED] = gather(facts_of(experiment), given, records).trials
    return found


def facts(experiment: Experiment) -> Mapping[str, Any]:
    """What the searches share."""
    table = experiment.choice.found
    return asdict(table.facts) if isinstance(table, SearchTable) else {}


def plan(experiment: Experiment, store: Any) -> tuple[list[str], None]:
    """The spaces and the budgets."""
    sentences = []
    for kind, spec in experiment.read[NAME].items():
        tunes, known = kind == "tune", spec.facts
        searches = len(experiment.variants) * len(experiment.tasks) if tunes else 1
        sentences.append(
            say(
                "plan.search",
                kind,
                settings=known.trials,
                sampler=known.sampler,
                pruner="" if known.pruner == "none" else known.pruner,
                variants=len(experiment.variants) if tunes else 0,
                objectives=[say("plan.objective", o.name, o.direction) for o in known.objectives],
                seeds=len(known.seeds),
                trials=searches * known.trials * len(known.seeds),
                then=say("plan.chosen", spec.section.untuned)
                if tunes
                else say("plan.winners", winner_names(spec.section.winners)),
            )
        )
        sentences += [say("plan.range", parameter) for parameter in known.parameters]
    return sentences, None


def export(evidence: Evidence, url: str) -> list[str]:
    """Writes each search of a study into a storage of Optuna's, and returns their names."""
    names: list[str] = []
    if (found := table_of(evidence)) is None:
        return names
    for variant, task in dict.fromkeys(zip(found.trials["variant"], found.trials["task"], strict=True)):
        names.append(" ".join(filter(None, [evidence.facts.study, evidence.facts.searched, variant, task])))
        try:
            found.rebuilt(variant, task, url, names[-1])
        except Exception as error:
            first = next(iter(str(error).splitlines()), type(error).__name__)
            raise AblateError(f"--optuna {masked(url)}: {masked(first)}; name another storage") from None
    return names
