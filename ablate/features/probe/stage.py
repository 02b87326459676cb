"""The probe: the baseline twice under one seed, once under another, and each level under the first.

What does not change a short run by more than its repetition does may not change a long one either: a seed that is fixed
in a script, a flag that nothing reads.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from pydantic import Field

from ablate.base.errors import AblateError, listed, nearest
from ablate.base.wording import exact
from ablate.core.events import FixedPlan
from ablate.core.facts import BASELINE
from ablate.core.metric import FREE
from ablate.core.record import Record
from ablate.core.trial import AGAIN, Cell
from ablate.external.workload import External
from ablate.study.checks import Draft, attempt, refuse_own
from ablate.study.designs import Variant
from ablate.study.expand import report_at
from ablate.study.experiment import Experiment
from ablate.study.patch import apply_patches, short_label

if TYPE_CHECKING:
    from ablate.route.running import Run

GRAMMAR: dict[str, tuple[Any, Any]] = {
    "probe": (
        Annotated[
            dict[str, Any],
            Field(
                description="What makes a run short, path → value: {config.max_iters: 20}. A study is not trained "
                "where short runs show that a seed or a level changes nothing."
            ),
        ],
        {},
    ),
    "acts_late": (
        Annotated[
            list[str],
            Field(description="Paths of factors that act too late for a short run to show it."),
        ],
        [],
    ),
}
REPEAT, SEED = "baseline again", "another seed"


def check_probe(draft: Draft) -> None:
    """Refuses a probe that does not fit the baseline or changes what is compared, and what acts late in none."""
    study, document, paths = draft.study, draft.document, draft.design.paths
    probe = study.section("probe")
    for config in draft.design.variants[0].configs:
        _, problems = attempt(lambda config: draft.resolve(apply_patches(config, probe)), config)
        report_at(problems, probe, ("probe",), document)
    for path in probe:
        hint = "Probe without it, or compare without it"
        refuse_own(path, "is what makes a run of the probe short", hint, draft)
    for index, path in enumerate(study.section("acts_late")):
        if path not in paths or not probe:
            rule = (
                "is not changed by any variant" if probe else "needs a `probe`, to which it is an exception"
            )
            document.refuse(("acts_late", index), rule, path, listed(paths), nearest(path, paths))


def settles(experiment: Experiment, options: Any = None) -> bool:
    """Whether the study has a probe."""
    return bool(experiment.study.section("probe"))


def at_most(experiment: Experiment, left: int) -> int:
    """With the runs of the probe."""
    return left + len({cell.id for cell in _runs(experiment)}) * settles(experiment)


def settle(run: Run) -> Experiment:
    """The study with what the probe found. Raises `AblateError` for what it has not shown to change anything."""
    experiment, cells = run.experiment, [*_runs(run.experiment)]
    run.folder.trial_list.add(cells)
    records = run.drive(FixedPlan(cells), later=len(experiment.cells()), fresh=run.options.fresh)
    if any(cell.id not in records or records[cell.id].status == "failed" for cell in cells):
        raise run.unfinished("probe", cells, records)
    of = {(cell.variant, cell.task): records[cell.id] for cell in cells}
    noise = {task: distance(of[BASELINE, task], of[REPEAT, task]) for task in experiment.tasks}
    still = [
        cell
        for cell in cells
        if cell.variant not in (BASELINE, REPEAT)
        and distance(of[BASELINE, cell.task], records[cell.id]) <= noise[cell.task]
    ]
    late = [cell for cell in still if cell.levels.keys() & {*experiment.study.section("acts_late")}]
    if dead := [f"{cell.name} changes nothing" for cell in still if cell not in late]:
        known = [*dead, *experiment.workload.cautions(experiment.variants[0].configs[0])]
        lines = "\n".join(f"  {line}" for line in known)
        raise AblateError(
            f"{experiment.path}: the probe refuses the study, of which nothing was trained:\n{lines}\n"
            "Mend it, or list a factor that acts late under `acts_late:`"
        )
    differ = "two runs of the baseline under one seed differ by up to"
    remarks = [
        *experiment.remarks,
        *(f"{differ} {exact(by)}{experiment.on(task)}" for task, by in noise.items() if by),
        *(f"{cell.name} changes nothing in a short run; the study says that it acts late" for cell in late),
    ]
    choice = replace(experiment.choice, cells=[*experiment.choice.cells, *cells])
    return replace(experiment, choice=choice, remarks=remarks)


def _runs(experiment: Experiment) -> Iterator[Cell]:
    """The runs of the probe, each with the paths that it changes as its levels."""
    (baseline, *others), first = experiment.variants, experiment.study.seeds.values[0]
    runs = [
        (baseline, first, ""),
        (replace(baseline, name=REPEAT), first, AGAIN),
        (replace(baseline, name=SEED), first + 1, ""),
        *((variant, first, "") for variant in others if variant.at[:1] == ("variants",)),
    ]
    for path, levels in experiment.design.factors.items():
        every = [Variant(f"{path}={short_label(of.value)}", of.configs, {path: of.value}) for of in levels]
        runs += [(variant, first, "") for variant in every]
    for index, task in enumerate(experiment.tasks):
        for variant, seed, stream in runs:
            config = experiment.patched(variant.configs[index], experiment.study.section("probe"), index)
            trial = replace(experiment.trial(config, seed, stream), checkpoint="none")
            name, changed = f"probe, {variant.name}{experiment.on(task)}", dict.fromkeys(variant.patches)
            yield Cell(variant.name, task, seed, trial, name, changed, role="probe")


def distance(one: Record, other: Record) -> float:
    """The largest difference of any number of two runs, times and memory aside; infinite where one lacks some."""
    mine, its = _numbers(one), _numbers(other)
    if mine.keys() != its.keys():
        return np.inf
    return max((abs(value - its[place]) for place, value in mine.items()), default=0.0)


def _numbers(record: Record) -> Mapping[tuple[str, int], float]:
    """Metric and step, −1 of the last → value."""
    metrics = {(name, -1): of for name, of in record.metrics.items() if not name.endswith(FREE)}
    points = {
        name: zip(of.steps.tolist(), of.values.tolist(), strict=True) for name, of in record.curves.items()
    }
    curves = {(name, step): value for name, of in points.items() for step, value in of}
    return {
        place: value for place, value in (metrics | curves).items() if value is not None and value == value
    }


def commands(experiment: Experiment, store: Any) -> tuple[list[str], None]:
    """What `ablate plan` shows of one's own code: the command line of each variant."""
    workload, seed = experiment.workload, experiment.study.seeds.values[0]
    if not isinstance(workload, External):
        return [], None
    every = (
        f"{variant.name}: {shlex.join(workload.words(variant.configs[0], seed))}"
        for variant in experiment.variants
    )
    return ["\n".join(every)], None
