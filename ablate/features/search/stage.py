"""From a study to what is judged of it: a sweep from the baseline, or the tuning of every variant, on equal budgets.

Also the searches as studies of Optuna's, for its own dashboard: `ablate export --optuna`.
"""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from ablate.base.errors import AblateError, Problem, StudyError
from ablate.base.text import first_line, masked
from ablate.core.facts import BASELINE, Evidence
from ablate.core.metric import Description, size_of
from ablate.core.record import Record
from ablate.core.trial import RIVAL, Cell
from ablate.features.search.rivals import rivals
from ablate.features.search.search import Search, SearchPlan
from ablate.features.search.space import Point
from ablate.features.search.spec import SearchSpec
from ablate.features.search.table import NAME, SearchTable, table_of, tabulated, winner_names
from ablate.report.words import say
from ablate.route.running import Run
from ablate.study.designs import Variant
from ablate.study.experiment import Choice, Experiment

if TYPE_CHECKING:
    import pandas as pd

# The role of the trainings of a search.
TRIED = "tried"


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
    spec = _spec(experiment, "search" if sweeps else "tune")
    names = {BASELINE, *(run.options.only or (variant.name for variant in experiment.variants))}
    kept = [variant for variant in experiment.variants if variant.name in names]
    # A placebo has the settings of the baseline.
    searched = kept[:1] if sweeps else [variant for variant in kept if not variant.placebo]
    every = [
        _search(experiment, spec, variant, index, "" if sweeps else f"{variant.name} · ")
        for variant in searched
        for index in range(len(experiment.tasks))
    ]
    plan = SearchPlan(every, run.folder.trial_list.add)
    _compare_versions(run, spec, plan.left)
    judged = 1 + spec.section.winners + experiment.study.placebo if sweeps else len(kept)
    records = run.drive(plan, later=_judging(experiment, judged, spec.rivals))
    cells = list(plan.cells.values())
    if not all(search.complete for search in every):
        raise run.unfinished("search", cells, records)
    objectives = spec.facts.objectives
    if any(row.get("own") for search in every for row in search.rows):
        objectives = [replace(o, source="own") if o.source == "validation" else o for o in objectives]
    facts = replace(spec.facts, objectives=objectives, versions=_versions())
    choice = Choice("sweep" if sweeps else "tuning", cells, tabulated(facts, [s.rows for s in every]))
    return _swept(run, spec, choice) if sweeps else _tuned(run, spec, choice, kept)


def _spec(experiment: Experiment, kind: str) -> SearchSpec:
    """As it was read; where each seed chooses for itself, with the seeds of the study to tune on."""
    spec: SearchSpec = experiment.read[NAME][kind]
    if not spec.section.each_seed:
        return spec
    seeds = [*experiment.study.seeds.values]
    return replace(spec, facts=replace(spec.facts, seeds=seeds), seeds=[seeds] * len(experiment.tasks))


def _search(experiment: Experiment, spec: SearchSpec, variant: Variant, index: int, prefix: str) -> Search:
    """The search of a variant on one task; the names of its settings begin with `prefix`."""
    task = experiment.tasks[index]

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
                replace(experiment.trial(setting, seed), checkpoint="none"),
                f"{name}{experiment.on(task)} seed {seed}",
                levels,
                TRIED,
                partial(size_of, known),
            )
            for seed in spec.seeds[index]
        ], known

    return Search(spec, prepare, variant.name, task)


def _versions() -> dict[str, str]:
    """Of the packages on which it depends what a sampler suggests."""
    return {name: importlib.metadata.version(name) for name in ("optuna", "numpy", "scipy")}


def _compare_versions(run: Run, spec: SearchSpec, most: int) -> None:
    """Says what it costs where the report has settings of the same space that other versions suggested."""
    known = run.folder.facts().features if run.folder.has_report else {}
    before, now = known.get(NAME, {}), _versions()
    changed = [f"{name} {then}" for name, then in before.get("versions", {}).items() if then != now.get(name)]
    if changed and before["parameters"] == [asdict(p) for p in spec.space.parameters]:
        run.say(say("search.versions", changed, [f"{n} {version}" for n, version in now.items()], most))


def _judging(experiment: Experiment, variants: int, rivals: int = 0) -> int:
    """The most trainings that judge so many variants, each with so many rivals."""
    beside = experiment.companions(experiment.cells(experiment.study.seeds.values[:1])[:1])
    return experiment.study.seeds.count * len(experiment.tasks) * variants * (1 + len(beside) + rivals)


def at_most(experiment: Experiment, left: int) -> int:
    """The trainings of the searches, those that judge, and those of the variants as the study gives them."""
    spec, variants = _spec(experiment, "tune"), len(experiment.variants)
    tried = _searches(experiment) * spec.facts.trials * len(spec.facts.seeds)
    return tried + _judging(experiment, variants, spec.rivals)


def _searches(experiment: Experiment) -> int:
    return sum(not variant.placebo for variant in experiment.variants) * len(experiment.tasks)


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


def _tuned(run: Run, spec: SearchSpec, choice: Choice, kept: Sequence[Variant]) -> Experiment:
    """Every variant with its best settings, a placebo with the baseline's; where none has a value, as it was given."""
    experiment, table, variants = run.experiment, choice.found, list[Variant]()
    near = {task: {} if spec.section.each_seed else rivals(table, task) for task in experiment.tasks}
    for variant in kept:
        owner = BASELINE if variant.placebo else variant.name
        configs, labels, others, by_seed = list(variant.configs), {}, {}, {}
        for index, task in enumerate(experiment.tasks):
            if not (places := table.best(owner, task)):
                run.warn(say("search.no_setting", f"{variant.name}{experiment.on(task)}"))
                continue
            if spec.section.each_seed:
                places = [table.best(owner, task, 1, seed)[0] for seed in range(len(spec.facts.seeds))]
            table.trials.loc[places, "chosen"] = owner
            known = {
                place: (
                    spec.space.labels(point := table.point(place)),
                    experiment.patched(variant.configs[index], spec.space.patches(point), index),
                )
                for place in (*places, *near[task].get(owner, ()))
            }
            configs[index] = known[max(places, key=places.count)][1]
            by_seed[task] = [known[place][1] for place in places] if spec.section.each_seed else []
            of_all = [known[place][0] for place in places]
            labels[task] = {
                path: " or ".join(dict.fromkeys(of[path] for of in of_all if path in of))
                for path in of_all[0]
            }
            others[task] = {
                f"{variant.name} at {', '.join(f'{path}={label}' for path, label in of.items())}": config
                for of, config in (known[place] for place in near[task].get(owner, ()))
            }
        variants.append(replace(variant, configs=configs, tuned=labels, rivals=others, by_seed=by_seed))
    found = experiment.judging(variants, experiment.design.paths, choice)
    return replace(found, left_out=[v.name for v in experiment.variants if v not in kept])


def more(experiment: Experiment, cells: Sequence[Cell], evidence: Callable[[], Evidence]) -> Iterator[Cell]:
    """The runs of `cells` at the rivals of their setting: the baseline's, and those on which a decision rests."""
    from ablate.analysis.claims import resting  # Of which a plan has no need.

    known = {variant.name: variant.rivals for variant in experiment.variants}
    resting_on = resting(evidence()) if cells and any(known.values()) else ()
    for cell in cells:
        rivals = known[cell.variant].get(cell.task, {})
        for name, config in (
            rivals.items() if cell.variant == BASELINE or (cell.variant, cell.task) in resting_on else ()
        ):
            # Only the trials of the comparison are evaluated.
            trial = replace(experiment.trial(config, cell.seed, cell.trial.stream), checkpoint="none")
            yield replace(
                cell,
                trial=trial,
                name=f"{name}{cell.name.removeprefix(cell.variant)}",
                role=RIVAL,
                size=partial(experiment.size, Variant(f"{name}{experiment.on(cell.task)}", [config]), 0),
                setting=name,
            )


def frames(
    experiment: Experiment, cells: Sequence[Cell], records: Mapping[str, Record]
) -> Mapping[str, pd.DataFrame]:
    """The settings that were tried."""
    table = experiment.choice.found
    return {NAME: table.trials} if isinstance(table, SearchTable) else {}


def facts(experiment: Experiment) -> Mapping[str, Any]:
    """What the searches share."""
    table = experiment.choice.found
    return asdict(table.facts) if isinstance(table, SearchTable) else {}


def plan(experiment: Experiment, store: Any) -> tuple[list[str], None]:
    """The spaces and the budgets."""
    sentences = []
    for kind in experiment.read[NAME]:
        spec = _spec(experiment, kind)
        tunes, known = kind == "tune", spec.facts
        searches = _searches(experiment) if tunes else 1
        sentences.append(
            say(
                "plan.search",
                kind,
                settings=known.trials,
                sampler=known.sampler,
                pruner="" if known.pruner == "none" else known.pruner,
                variants=searches // len(experiment.tasks) if tunes else 0,
                objectives=[say("plan.objective", o.name, o.direction) for o in known.objectives],
                seeds=len(known.seeds),
                trials=searches * known.trials * len(known.seeds),
                then=say("plan.chosen") if tunes else say("plan.winners", winner_names(spec.section.winners)),
            )
        )
        sentences += [say("plan.range", parameter) for parameter in known.parameters]
        if tunes and spec.rivals:
            places = experiment.study.seeds.count * len(experiment.tasks)
            most = [places * count * spec.rivals for count in (1, len(experiment.variants))]
            sentences.append(say("plan.rivals", spec.rivals, *most))
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
            raise AblateError(f"--optuna {masked(url)}: {first_line(error)}; name another storage") from None
    return names
