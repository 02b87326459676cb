"""The plan of a study: what it will train, and what that can tell."""

import shlex
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean

from ablate.analysis.prospects import Power
from ablate.base.process import BEGAN
from ablate.core.events import Capacity
from ablate.core.facts import StudyFacts, VariantFacts
from ablate.core.overhead import Overhead, guessed
from ablate.core.record import Record
from ablate.core.trial import Cell
from ablate.pipeline.evidence.code_notes import code_notes
from ablate.pipeline.evidence.limitations import advice, limitations
from ablate.pipeline.other_code import OtherCode, other_code
from ablate.pipeline.plan.condition_plan import ConditionPlan, condition_plan
from ablate.pipeline.plan.power import power, reported_pairs, stored_pairs
from ablate.pipeline.prepare import companions, prepare
from ablate.pipeline.preregister.claims import as_preregistered
from ablate.pipeline.preregister.dated_plans import expected_changes
from ablate.pipeline.reports.cache import current_report
from ablate.pipeline.reports.place import report_place
from ablate.pipeline.requested import requested
from ablate.records.folder import StudyFolder
from ablate.records.store import Store
from ablate.records.trial_list import first_of_each
from ablate.session.options import Options
from ablate.session.stage import Preview, Stage
from ablate.session.workers import Workers
from ablate.stages import CONFIGS, STAGES
from ablate.study.designs import Variant
from ablate.study.document import read_document
from ablate.study.facts import facts_of
from ablate.study.study import Study

RUN_PER_PLAN = 1.6
"""How long a run takes to read its study, where a plan takes 1: it imports more, 1.3 to 1.9 times as long."""

# A variant and a task; what has that name elsewhere needs pandas, and a plan does not.
Place = tuple[str, str]


@dataclass(frozen=True)
class StudyPlan:
    """The trials of a study, what is left of them, and what they can tell."""

    study: Study
    # The number of trials at each place that are in the store.
    cached: Mapping[Place, int]
    # The number of trials that are not, of the variants as the study gives them.
    to_train: int
    # The time of one training at each place where some have run; where none has, of what took as many FLOPs here.
    seconds: Mapping[Place, float]
    # The workers of a run, and the time that it takes beside training.
    capacity: Capacity
    overhead: Overhead
    # The differences that the seeds can detect.
    power: Power
    limitations: Sequence[str]
    # What is not as it was planned before there were results, in words; empty where all is.
    changes: str
    # The name of each stage, and what it says of the study.
    previews: Sequence[tuple[str, Preview]]
    # The stages that select variants by trainings.
    selecting: Sequence[Stage]
    # Finished trials that a run would train again because of their code alone.
    other_code: OtherCode | None = None
    # The conditions, or tasks, whose trials are planned.
    conditions: Sequence[str] = ()
    # What several conditions cost, and what verdicts over them can detect; None of a study that has one.
    over_conditions: ConditionPlan | None = None

    @property
    def at_most(self) -> int:
        """The largest number of trainings of a run."""
        most = self.to_train
        for stage in self.selecting:
            most = stage.max_trials(self.study, most)
        return most

    @property
    def expected_seconds(self) -> float | None:
        """The expected time of a run of as many trainings; None where no training has been timed."""
        if not self.seconds:
            return None
        most = self.at_most
        at_once = max(1, min(self.capacity.trials, most))
        return fmean(self.seconds.values()) * most / at_once + self.overhead.seconds

    def command_lines(self) -> list[str]:
        """Returns the command line of each variant that runs a command, behind their Python and their dialect."""
        lines: list[str] = []
        study = self.study
        interpreter = study.workload.interpreter(study.baseline_config)
        if interpreter:
            lines.append(f"Python: {interpreter}")
        if self.notation:
            lines.append(f"Dialect: {self.notation}")
        first_task, *other_tasks = study.tasks
        for variant in study.variants:
            command = self.command_of(variant, first_task)
            if command:
                lines.append(f"{variant.name}: {command}")
            beside = study.workload.beside_command(variant.configs[first_task], study.config.seeds.values[0])
            lines += [f"  with {line}" for line in beside]
        baseline = study.variants[0]
        for task in other_tasks:
            command = self.command_of(baseline, task)
            if command:
                lines.append(f"{baseline.name}{study.on(task)}: {command}")
        return lines

    @property
    def notation(self) -> str:
        """How commands take null, lists and switches, and why that is known; empty where it is not."""
        return self.study.workload.notation(self.study.baseline_config)

    def command_of(self, variant: Variant, task: str) -> str:
        """Returns the command line of the first seed of a variant on a task; empty where it runs no command."""
        seed = self.study.config.seeds.values[0]
        return shlex.join(self.study.workload.command_line(variant.configs[task], seed))


def study_of(path: Path, options: Options) -> tuple[Study, tuple[Stage, ...]]:
    """Returns the study as a run would train it, with its stages. Raises `StudyError`."""
    return prepare(read_document(path).override(options, CONFIGS), STAGES, options)


def plan_study(
    study: Study,
    stages: Sequence[Stage],
    options: Options,
    warn: Callable[[str], None],
    detect: float | None = None,
) -> StudyPlan:
    """Returns the plan of a study; trains and writes nothing.

    detect: a difference in the primary metric's units, of which the plan says how many seeds detect it. Raises
    `AblateError` for one that the metric can show on no task.
    """
    # First, so that a folder of results that cannot be is refused as such.
    facts = facts_of(study)
    known_pairs = reported_pairs(facts, options.results_folder)

    store = Store(options.results_folder / "store", warn, read_only=True)
    folder, _ = report_place(study.document, options)
    cells = requested(study.cells(), conditions=options.condition)
    cells_of_trials = first_of_each([*cells, *companions(study, stages, cells)])
    records = _records(cells_of_trials.values(), store)
    # Of variants that trainings choose, the last report alone knows whether all is there.
    is_reported = current_report(folder, study.document, options) is not None
    missing: set[str] = set()
    if not is_reported:
        missing = _missing(cells_of_trials.values(), records, store)
    seconds = _seconds(study, cells, records, store)
    selecting = [stage for stage in stages if stage.selects]
    with closing(Workers(study, options)) as workers:
        capacity = workers.capacity() if missing else Capacity(1)
    if known_pairs is None and records:
        known_pairs = stored_pairs(facts, cells, records, warn)

    judged = _facts_as_judged(study, stages, folder, store)
    cached = Counter((cell.variant, cell.task) for cell in cells if cell.id not in missing)
    return StudyPlan(
        study,
        cached=cached,
        to_train=len(missing),
        seconds=seconds,
        capacity=capacity,
        overhead=folder.usual_overhead() or guessed(RUN_PER_PLAN * (time.monotonic() - BEGAN)),
        power=power(study, judged, known_pairs, detect=detect),
        limitations=[
            *advice(study),
            *limitations(study, selects=any(stage.chooses for stage in selecting)),
            *(note.text for note in code_notes(study)),
        ],
        changes=_changes_in_words(study, judged, cells, folder, store),
        previews=[(stage.name, stage.preview(study, store)) for stage in stages],
        selecting=[] if is_reported else selecting,
        other_code=other_code(study, folder, store),
        conditions=[*dict.fromkeys(cell.task for cell in cells)],
        over_conditions=condition_plan(study, judged, cached, seconds),
    )


def _facts_as_judged(study: Study, stages: Sequence[Stage], folder: StudyFolder, store: Store) -> StudyFacts:
    """Returns the facts as the report of a run will have them: with its claims, and the variants that stages add."""
    facts = facts_of(study, as_preregistered(study, stages, folder, store))
    added: list[VariantFacts] = []
    for stage in stages:
        added += [VariantFacts(name, levels={}, changes={}) for name in stage.extra_variants(study)]
    names = {variant.name for variant in (*facts.variants, *added)}
    claims = [claim for claim in facts.claims if names.issuperset(claim.variants)]
    return replace(facts, variants=[*facts.variants, *added], claims=claims)


def _changes_in_words(
    study: Study, facts: StudyFacts, cells: Iterable[Cell], folder: StudyFolder, store: Store
) -> str:
    """Returns what a run would change of a plan that has results, in words."""
    changes = expected_changes(study, facts.claims, folder, store, cells=cells)
    if changes is None:
        return ""
    # With pandas, which most plans do not need.
    from ablate.report.sentences.replanned import changes_in_words

    return changes_in_words(changes, facts)


def _records(cells: Iterable[Cell], store: Store) -> dict[str, Record]:
    """Returns the records of those cells that have one, by trial id."""
    records: dict[str, Record] = {}
    for cell in cells:
        record = store.load(cell.trial)
        if record is not None:
            records[cell.id] = record
    return records


def _missing(cells: Iterable[Cell], records: Mapping[str, Record], store: Store) -> set[str]:
    """Returns the ids of the trials that a run would train."""
    return {cell.id for cell in cells if not store.is_finished(records.get(cell.id), cell.trial.checkpoint)}


def _seconds(
    study: Study, cells: Sequence[Cell], records: Mapping[str, Record], store: Store
) -> dict[Place, float]:
    """Returns the seconds of one training at each place where some have run; see `StudyPlan.seconds`."""
    timed: dict[Place, list[float]] = {}
    for cell in cells:
        record = records.get(cell.id)
        if record is not None and record.started_at:
            timed.setdefault((cell.variant, cell.task), []).append(record.seconds)
    if timed:
        return {place: fmean(seconds) for place, seconds in timed.items()}

    first = study.baseline_description
    usual = store.usual_seconds(first.compute)
    if not usual or not first.compute:
        return {}
    # A condition may train for longer, or another model.
    usual_of_task: dict[str, float] = {}
    for task, described in study.describe(study.variants[0]).items():
        usual_of_task[task] = usual * (described.compute or first.compute) / first.compute
    return {(cell.variant, cell.task): usual_of_task[cell.task] for cell in cells}
