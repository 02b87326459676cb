"""The only way of these tests to what is no public entry of the package: adapt it when that moves."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from ablate.core.facts import Evidence


def folder_of(path: Path) -> Any:
    """The results folder of a study."""
    from ablate.records.folder import StudyFolder

    return StudyFolder.at(path)


def judged_folder(path: Path) -> dict[str, pd.DataFrame]:
    """Everything that a report says of a results folder, decided again from its evidence; nothing is drawn."""
    from ablate.analysis.learning import noise
    from ablate.route.publish import material

    found = material(folder_of(path))
    return {
        "comparisons": found.comparisons,
        "claims": found.claims,
        "stability": found.table("stability"),
        "speed": found.table("speed"),
        "scaling": found.table("scaling"),
        "noise": noise(found.evidence, found.comparisons) if len(found.comparisons) else found.comparisons,
    }


def judged(evidence: Evidence) -> dict[str, pd.DataFrame]:
    """Comparisons, claims, stability and speed of evidence that was made up."""
    from ablate.analysis.claims import judge_claims
    from ablate.analysis.compare import compare
    from ablate.analysis.learning import stability
    from ablate.features.speed.ratios import speeds

    return {
        "comparisons": compare(evidence),
        "claims": judge_claims(evidence),
        "stability": stability(evidence),
        "speed": speeds(evidence),
    }


def evidence_of(path: Path) -> Evidence:
    """The evidence in a results folder."""
    found: Evidence = folder_of(path).evidence()
    return found


def errors(evidence: Evidence) -> list[tuple[str, str, str, str, float, float]]:
    """Variant, baseline, task, metric, and of the mean difference the standard error with its degrees of freedom."""
    from ablate.analysis.compare import every
    from ablate.analysis.runs import Runs

    return [
        (one.pair.name, one.pair.against, one.pair.task.name, one.metric, error.se, error.df)
        for one in every(Runs(evidence))
        for error in one.contrast.differences.errors[-1:]
    ]


def brought_up_to_date(results: Path) -> None:
    """MLflow, with all that has run in a results folder."""
    from ablate.tracking.ui import bring_up_to_date

    bring_up_to_date(results, print)


def problems(path: Path, sets: Sequence[str], seeds: int | None, confirm: bool) -> list[Any]:
    """The problems of a study, each with path, line, rule and source; none where it is valid."""
    from ablate.base.errors import StudyError
    from ablate.study.prepare import prepare

    try:
        prepare(path, sets, seeds, confirm=confirm)
    except StudyError as error:
        return error.problems
    return []


def trial_ids(study: Path, results: Path, *, tried: bool) -> dict[str, list[tuple[str, str]]]:
    """Of each kind of trial of a study the name and id of each cell.

    `given`: as the study gives its variants; `judged`: as its report judges them, at the settings that were chosen;
    `stress`: their grid; `tried`, where that is asked for: every setting in the table of its search, prepared again.
    """
    from ablate.route.choose import as_reported, changed, narrowed
    from ablate.route.options import Options
    from ablate.study.prepare import prepare

    experiment, folder = narrowed(prepare(study), Options()), folder_of(results)
    found = {"given": experiment.cells(), "stress": experiment.companions(experiment.cells())}
    stale = folder.has_trials and changed(experiment, folder)
    chosen = experiment if stale else as_reported(experiment, folder)
    if chosen.choice.by:
        found |= {"judged": chosen.cells(), "stress": chosen.companions(chosen.cells())}
    named = {kind: [(cell.name, cell.id) for cell in cells] for kind, cells in found.items()}
    if tried and chosen.choice.by:
        from ablate.features.search.table import table_of

        table = table_of(folder.evidence())
        spec = experiment.read["search"]["search" if chosen.choice.by == "sweep" else "tune"]
        variants = {variant.name: variant for variant in experiment.variants}
        named["tried"] = [
            (f"{row['variant']} {row['number']} on {row['task']} seed {seed}", trial.id)
            for place, row in table.trials.iterrows()
            for variant in [variants[row["variant"]]]
            for index in [experiment.tasks.index(row["task"])]
            for setting in [
                experiment.patched(variant.configs[index], spec.space.patches(table.point(place)), index)
            ]
            for seed in spec.facts.seeds
            for trial in [experiment.trial(setting, seed, "placebo" if variant.placebo else "")]
        ]
    return {kind: cells for kind, cells in named.items() if cells}


def driven(study: Path, store: Path, sets: Sequence[str] = ()) -> Iterator[str]:
    """What the driver and the engine of `--jobs 0` tell of a study, in order, twice: trained, and from the store."""
    from ablate.base.plugins import load_plugin
    from ablate.core.events import FixedPlan
    from ablate.execution.driver import drive
    from ablate.execution.engines.in_process import InProcess
    from ablate.execution.supervisor import Supervised
    from ablate.execution.trial import WorkloadRef
    from ablate.records.store import Store
    from ablate.study.prepare import prepare

    cells = prepare(study, sets).cells()
    names = {cell.id: cell.name for cell in cells}
    plugin = Path(__file__).parents[1] / "toy.py"
    told: list[str] = []

    def tell(who: str, event: Any) -> None:
        record = getattr(event, "record", None)
        trial = getattr(event, "trial_id", None) or getattr(record, "id", None)
        parts = [who, type(event).__name__, names.get(trial, ""), getattr(record, "status", "")]
        parts += [
            f"{key}={getattr(event, key)}" for key in ("step", "to_train", "left") if hasattr(event, key)
        ]
        told.append(" ".join(filter(None, parts)))

    class Heard(InProcess):
        def run(self, trials: Any, hear: Any) -> None:
            def both(event: Any) -> bool:
                tell("engine", event)
                return bool(hear(event))

            super().run(trials, both)

    for _ in range(2):
        engine = Supervised(Heard(WorkloadRef("toy", (load_plugin(plugin),), command="a test")))
        drive(FixedPlan(cells), engine, Store(store), lambda event: tell("driver", event))
        engine.close()
        told.append("driver ends")
    yield from told
