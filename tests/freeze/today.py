"""Holds the only way of these tests to what is no public entry of the package: adapt it when that moves."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd

from ablate.core.events import EngineEvent
from ablate.core.facts import Evidence
from ablate.core.trial import Trial
from ablate.records.folder import StudyFolder


def judged_folder(path: Path) -> dict[str, pd.DataFrame]:
    """Returns the tables of a report, decided again from the evidence in its folder; nothing is drawn."""
    from ablate.analysis.noise import noise
    from ablate.pipeline.judging import judge_evidence

    found = judge_evidence(StudyFolder.at(path))
    return {
        "comparisons": found.comparisons,
        "claims": found.claims,
        "stability": found.table("stability"),
        "speed": found.table("speed"),
        "scaling": found.table("scaling"),
        "noise": noise(found.evidence, found.comparisons) if len(found.comparisons) else found.comparisons,
    }


def judged(evidence: Evidence) -> dict[str, pd.DataFrame]:
    """Returns comparisons, claims, stability and speed of evidence that was made up."""
    from ablate.analysis.claims import judge_claims
    from ablate.analysis.compare import compare
    from ablate.analysis.speed_tables import speeds
    from ablate.analysis.stability import stability

    return {
        "comparisons": compare(evidence),
        "claims": judge_claims(evidence),
        "stability": stability(evidence),
        "speed": speeds(evidence),
    }


def evidence_of(path: Path) -> Evidence:
    """Returns the evidence in a results folder."""
    return StudyFolder.at(path).evidence()


def errors(evidence: Evidence) -> list[tuple[str, str, str, str, float, float]]:
    """Returns variant, baseline, task and metric of each mean difference, with its standard error and freedom."""
    from ablate.analysis.compare import all_comparisons
    from ablate.analysis.runs import Runs

    rows = []
    for one in all_comparisons(Runs(evidence)):
        for error in one.verdict.contrasts[0].differences.errors[-1:]:
            pair = one.pair
            rows.append((pair.name, pair.against, pair.place, one.metric, error.se, error.df))
    return rows


def brought_up_to_date(results: Path) -> None:
    """Brings MLflow up to date with all that has run in a results folder; the run may have left that to this."""
    from ablate.tracking.ui import bring_up_to_date

    bring_up_to_date(results, print)


def source_digests(plugins: Sequence[Path]) -> Iterator[tuple[str, str]]:
    """Yields what trial ids and keys of timings name, with the digest of its sources.

    plugins: files that register a workload of their name.
    """
    from ablate.base.plugins import load_plugins
    from ablate.base.registry import CATALOGUE
    from ablate.external import runner, script
    from ablate.external.best import best_values
    from ablate.external.command import filled
    from ablate.external.reading import Reading
    from ablate.stages.speed.calls import measure_group
    from ablate.study.sources import source_digest
    from ablate.training.trial import train_trial
    from ablate.training.workload import SequenceWorkload

    CATALOGUE.load_builtin()
    load_plugins(plugins)
    own = [Reading, best_values, filled, runner.main]
    yield "built-in", source_digest([train_trial])
    yield "function and command", source_digest(own)
    yield "script", source_digest([*own, script.main])
    yield "timings", source_digest([SequenceWorkload, measure_group])
    for slot in CATALOGUE.slots():
        for name in CATALOGUE.names(slot):
            part = CATALOGUE.get(slot, name)
            if part.__module__.startswith("ablate.") and slot != "workload":
                yield f"{slot} {name}", source_digest([part])
    for plugin in plugins:
        yield f"workload of a plugin, {plugin.stem}", source_digest([CATALOGUE.get("workload", plugin.stem)])


def refusals(study: Path, sets: Sequence[str]) -> list[str]:
    """Returns file, line, path and rule of each problem of a study; none where it is valid."""
    from harness import prepare

    from ablate.base.errors import NOT_GIVEN, StudyError

    try:
        prepare(study, sets)
    except StudyError as error:
        rules = [replace(problem, given=NOT_GIVEN, allowed="", hint="") for problem in error.problems]
        return [str(rule) for rule in rules]
    return []


def trial_ids(study: Path, results: Path, *, tried: bool) -> dict[str, list[tuple[str, str]]]:
    """Returns, for each kind of trial of a study, the name and id of each cell.

    `given`: as the study gives its variants; `judged`: as its report judges them, at the settings that were chosen;
    `stress`: their grid; `tried`, where that is asked for: every setting in the table of its search, prepared again.
    """
    from harness import checked

    from ablate.pipeline.prepare import companions
    from ablate.pipeline.reports.reported import as_reported, changed_sections

    experiment, stages = checked(study)
    for stage in stages:
        experiment = stage.adjust(experiment)
    folder = StudyFolder.at(results)
    kinds = {"given": experiment.cells(), "stress": companions(experiment, stages, experiment.cells())}
    stale = folder.has_trials and changed_sections(experiment, folder)
    chosen = experiment if stale else as_reported(experiment, folder)
    if chosen.selection.by:
        kinds |= {"judged": chosen.cells(), "stress": companions(chosen, stages, chosen.cells())}
    named = {kind: [(cell.name, cell.id) for cell in cells] for kind, cells in kinds.items() if cells}
    if not (tried and chosen.selection.by):
        return named

    from searching import spec_of

    from ablate.analysis.search_table import search_table_of

    table = search_table_of(folder.evidence())
    spec = spec_of(experiment, "search" if chosen.selection.by == "sweep" else "tune")
    variants = {variant.name: variant for variant in experiment.variants}
    named["tried"] = []
    for place, row in table.trials.iterrows():
        variant = variants[row["variant"]]
        task = row["task"]
        patches = spec.space.patches(table.point(place))
        setting = experiment.patched(variant.configs[task], patches, task)
        for seed in spec.seeds[task]:
            trial = experiment.trial(setting, seed, "placebo" if variant.placebo else "")
            name = f"{row['variant']} {row['number']} on {row['task']} seed {seed}"
            named["tried"].append((name, trial.id))
    return named


def driven(study: Path, store: Path, sets: Sequence[str] = ()) -> Iterator[str]:
    """Yields what the driver and the engine of `--jobs 0` tell of a study, in order: trained, then from the store."""
    from harness import prepare

    from ablate.base.plugins import load_plugin
    from ablate.core.events import FixedPlan
    from ablate.execution.driver import drive
    from ablate.execution.engines.in_process import InProcess
    from ablate.execution.run_trial import WorkloadRef
    from ablate.execution.supervisor import Supervised
    from ablate.records.store import Store

    cells = prepare(study, sets).cells()
    names = {cell.id: cell.name for cell in cells}
    plugin = Path(__file__).parents[1] / "toy.py"
    lines: list[str] = []

    def tell(teller: str, event: object) -> None:
        fields = vars(event)
        words = [teller, type(event).__name__]
        record = fields.get("record")
        trial_id = fields.get("trial_id") or (record and record.id)
        if trial_id in names:
            words.append(names[trial_id])
        if record:
            words.append(record.status)
        words += [f"{key}={fields[key]}" for key in ("step", "to_train", "left") if key in fields]
        lines.append(" ".join(words))

    class Overheard(InProcess):
        def run(self, trials: Sequence[Trial], hear: Callable[[EngineEvent], bool]) -> None:
            def tell_and_hear(event: EngineEvent) -> bool:
                tell("engine", event)
                return hear(event)

            super().run(trials, tell_and_hear)

    for _ in range(2):
        engine = Supervised(Overheard(WorkloadRef("toy", (load_plugin(plugin),), command="a test")))
        drive(FixedPlan(cells), engine, Store(store), lambda event: tell("driver", event))
        engine.close()
        lines.append("driver ends")
    yield from lines
