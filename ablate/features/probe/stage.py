"""The probe: the baseline twice under one seed, once under another, and each level under the first.

What does not change a short run by more than its repetition does may not change a long one either: a seed that is fixed
in a script, a flag that nothing reads.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from pydantic import Field

from ablate.base.errors import AblateError, listed, nearest
from ablate.base.wording import exact
from ablate.core.events import FixedPlan
from ablate.core.metric import FREE
from ablate.core.record import Record
from ablate.core.trial import AGAIN, Cell
from ablate.external.calling import UNREAD
from ablate.study.checks import Draft, attempt, refuse_own
from ablate.study.expand import report_at
from ablate.study.experiment import Experiment
from ablate.study.patch import apply_patches, short_label

if TYPE_CHECKING:
    from ablate.route.running import Run

_PROBE = "What makes a run short, path → value: {config.max_iters: 20}. Nothing that short runs do not show is trained."
_LATE = "Paths of factors that act too late for a short run to show it, which are trained all the same."
GRAMMAR: dict[str, tuple[Any, Any]] = {
    "probe": (Annotated[dict[str, Any], Field(description=_PROBE)], {}),
    "late": (Annotated[list[str], Field(description=_LATE)], []),
}
REPEAT, SEED = "baseline again", "another seed"


def check_probe(draft: Draft) -> None:
    """Refuses a probe that does not fit the baseline or changes what is compared, and what acts late in none."""
    study, document, paths = draft.study, draft.document, draft.design.paths
    probe, late = study.section("probe"), study.section("late")
    for config in draft.design.variants[0].configs:
        _, problems = attempt(lambda config: draft.resolve(apply_patches(config, probe)), config)
        report_at(problems, probe, ("probe",), document)
    for path in probe:
        refuse_own(
            path, "is what makes a run of the probe short", "Probe without it, or compare without it", draft
        )
    for index, path in enumerate(late):
        if path not in paths or not probe:
            rule = (
                "is not changed by any variant" if probe else "needs a `probe`, to which it is an exception"
            )
            document.refuse(("late", index), rule, path, listed(paths), nearest(path, paths))


def settles(experiment: Experiment, options: Any = None) -> bool:
    """Whether the study has a probe."""
    return bool(experiment.study.section("probe"))


def at_most(experiment: Experiment, left: int) -> int:
    """With the runs of the probe."""
    return left + len({cell.id for cell, _ in _runs(experiment)}) * settles(experiment)


def settle(run: Run) -> Experiment:
    """The study with what the probe found. Raises `AblateError` for what it has not shown to change anything."""
    experiment = run.experiment
    runs = [*_runs(experiment)]
    cells = [cell for cell, _ in runs]
    run.folder.trial_list.add(cells)
    records = run.drive(FixedPlan(cells), later=len(experiment.cells()), fresh=run.options.fresh)
    if any(cell.id not in records or records[cell.id].status == "failed" for cell in cells):
        raise run.unfinished("probe", cells, records)
    dead, remarks = list[str](), list[str]()
    for task in experiment.tasks:
        of_task = {cell.variant: (records[cell.id], paths) for cell, paths in runs if cell.task == task}
        (base, _), (again, _) = of_task.pop("baseline"), of_task.pop(REPEAT)
        noise, on = distance(base, again), experiment.on(task)
        if noise:
            remarks.append(f"two runs of the baseline under one seed differ by up to {exact(noise)}{on}")
        for name, (record, paths) in of_task.items():
            if distance(base, record) > noise:
                continue
            if paths and {*paths} <= {*experiment.study.section("late")}:
                remarks.append(f"{name} changes nothing in a short run{on}; the study says that it acts late")
            else:
                dead.append(f"{name} changes nothing{on}")
    if dead:
        known = dict.fromkeys([*dead, *experiment.workload.cautions(experiment.variants[0].configs[0])])
        hint = "Mend it, or list a factor that acts late under `late:`"
        lines = "\n".join(f"  {line}" for line in known)
        raise AblateError(
            f"{experiment.path}: the probe refuses the study, of which nothing was trained:\n{lines}\n{hint}"
        )
    choice = replace(experiment.choice, cells=[*experiment.choice.cells, *cells])
    return replace(experiment, choice=choice, remarks=[*experiment.remarks, *remarks])


def _runs(experiment: Experiment) -> Iterator[tuple[Cell, tuple[str, ...]]]:
    """The runs of the probe, each with the paths that it changes."""
    base, design = experiment.variants[0].configs, experiment.design
    first = experiment.study.seeds.values[0]
    runs: list[tuple[str, tuple[str, ...], Any, int, str]] = [
        ("baseline", (), base, first, ""),
        (REPEAT, (), base, first, AGAIN),
        (SEED, (), base, first + 1, ""),
    ]
    for path, levels in design.factors.items():
        runs += [(f"{path}={short_label(of.value)}", (path,), of.configs, first, "") for of in levels]
    by_hand = [variant for variant in design.variants if variant.at[:1] == ("variants",)]
    runs += [(variant.name, (*variant.patches,), variant.configs, first, "") for variant in by_hand]
    for index, task in enumerate(experiment.tasks):
        for name, paths, configs, seed, stream in runs:
            config = experiment.patched(configs[index], experiment.study.section("probe"), index)
            trial = replace(experiment.trial(config, seed, stream), checkpoint="none")
            where = f"probe, {name}{experiment.on(task)}"
            yield Cell(name, task, seed, trial, where, role="probe"), paths


def distance(one: Record, other: Record) -> float:
    """The largest difference of any number of two runs, times and memory aside; infinite where one lacks some."""
    mine, its = _numbers(one), _numbers(other)
    if one.status != other.status or mine.keys() != its.keys():
        return np.inf
    pairs = [(mine[name], its[name]) for name in mine]
    if any(a.shape != b.shape or (np.isnan(a) != np.isnan(b)).any() for a, b in pairs):
        return np.inf
    return max((float(np.nanmax(np.abs(a - b), initial=0.0)) for a, b in pairs), default=0.0)


def _numbers(record: Record) -> Mapping[str, Any]:
    curves = {f"curve {name}": curve.values for name, curve in record.curves.items()}
    metrics = {
        name: np.array([value], float) for name, value in record.metrics.items() if not name.endswith(FREE)
    }
    return metrics | curves


def name_unread(run: Run, missing: bool) -> None:
    """Warns of the settings that the baseline's code has not read."""
    cell = run.experiment.cells()[0]
    record = run.store.load(cell.trial)
    if record and (unread := record.environment.get(UNREAD)):
        run.warn(f"never read, so that no change of it changes anything: {listed(unread)}")
