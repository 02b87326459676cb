"""The stage `probe`: short runs before the study's trainings, to see that the seed and every factor change something.

The baseline runs twice under one seed and once under another, and each level under the first. What does not change a
short run by more than its repetition does may not change a long one either: a seed that is fixed in a script, a flag
that nothing reads. Where runs are processes of their own, the baseline runs once more, last: what has changed by then
was touched by other runs, outside of their copies. Where short runs do not repeat exactly, the baseline is trained
twice under its first seeds, and the report compares them (`analysis.repeats`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

from ablate.base.errors import AblateError, listed, nearest
from ablate.base.wording import exact
from ablate.core.events import FixedPlan
from ablate.core.facts import BASELINE
from ablate.core.repeats import NUM_REPEATED, REPEATS
from ablate.core.same_numbers import distance
from ablate.core.trial import AGAIN, LAST, Cell
from ablate.session.stage import Stage, StageEvidence
from ablate.stages.repeats import frame_of_repeats, repeats_of
from ablate.study.checks import attempt, refuse_own
from ablate.study.designs import Variant
from ablate.study.expand import report_at
from ablate.study.patch import apply_patches, short_label
from ablate.study.stage_config import StageConfig, config_of

if TYPE_CHECKING:
    from ablate.session.options import Options
    from ablate.session.session import Session
    from ablate.session.stage import Records
    from ablate.study.draft import Draft
    from ablate.study.schema import StudyConfig
    from ablate.study.study import Study

REPEAT = "baseline again"
OTHER_SEED = "another seed"
REPEAT_LAST = "baseline again, last"


class ProbeConfig(StageConfig):
    """The keys `probe` and `acts_late`."""

    keyed_by_path: ClassVar[tuple[str, ...]] = ("probe",)
    decides: ClassVar[bool] = False

    probe: dict[str, Any] = {}
    """What makes a run short, path → value: {config.max_iters: 20}. A study is not trained where short runs show that a
    seed or a level changes nothing."""
    acts_late: list[str] = []
    "Paths of factors that act too late for a short run to show it."


class ProbeStage(Stage):
    """Trains short runs first, refuses a study by them, and leaves its variants as they are."""

    name = "probe"
    Config = ProbeConfig

    def __init__(self, config: ProbeConfig) -> None:
        self._config = config
        # The tasks on which short runs of the baseline did not repeat exactly, once `select` has trained them.
        self._unsteady: list[str] = []

    @classmethod
    def from_study(cls, study: StudyConfig, options: Options) -> Self | None:
        config = config_of(study, ProbeConfig)
        return cls(config) if config.probe or config.acts_late else None

    @property
    def selects(self) -> bool:
        return bool(self._config.probe)

    @property
    def chooses(self) -> bool:
        return False

    def check(self, draft: Draft) -> None:
        """Refuses a probe that does not fit the baseline or changes what is compared.

        Refuses, too, a path that acts late where no variant changes it.
        """
        document = draft.document
        probe = self._config.probe
        for config in draft.design.variants[0].configs.values():
            _, problems = attempt(lambda config: draft.resolve(apply_patches(config, probe)), config)
            report_at(problems, probe, ("probe",), document)
        for path in probe:
            hint = "Remove it from `probe`, or do not compare it"
            refuse_own(path, f"cannot set {path}, which `probe` sets to make its runs short", hint, draft)

        compared = draft.design.paths
        rule = "is not changed by any variant" if probe else "needs a `probe`, of which it is an exception"
        for index, path in enumerate(self._config.acts_late):
            if path not in compared or not probe:
                document.refuse(("acts_late", index), rule, path, listed(compared), nearest(path, compared))

    def max_trials(self, study: Study, judged: int) -> int:
        short_runs = {cell.id for cell in [*self._runs(study), *self._last_runs(study)]}
        return judged + len(short_runs) + _max_repeats(study)

    def select(self, study: Study, session: Session, later: int) -> Study:
        """Trains the short runs, and returns the study with notes on them.

        Raises `AblateError` for a level that they have not shown to change anything.
        """
        cells = list(self._runs(study))
        last = list(self._last_runs(study))
        session.enlist(cells)
        records = session.train(
            FixedPlan(cells), later=len(last) + _max_repeats(study) + later, fresh=session.options.fresh
        )
        if any(cell.id not in records or records[cell.id].status == "failed" for cell in cells):
            raise session.incomplete("probe", cells, records)

        noise = _noise(study, cells, records)
        self._unsteady = [task for task, difference in noise.items() if difference]
        unchanged = _unchanged(cells, records, noise)
        late = [cell for cell in unchanged if cell.levels.keys() & {*self._config.acts_late}]
        dead = [cell for cell in unchanged if cell not in late]
        if dead:
            raise _refusal(study, dead)

        session.enlist(last)
        repeats = _max_repeats(study) if self._unsteady else 0
        records_of_last = session.train(FixedPlan(last), later=repeats + later, fresh=session.options.fresh)
        if any(
            cell.id not in records_of_last or records_of_last[cell.id].status == "failed" for cell in last
        ):
            raise session.incomplete("probe", last, records_of_last)
        cells += last

        touched = list(_touched(study, noise, {**records, **records_of_last}, cells))
        for note in touched:
            session.warn(note)
        notes = [*study.notes, *touched]
        for task, difference in noise.items():
            if difference:
                amount = f"{exact(difference)}{study.on(task)}"
                notes.append(f"two runs of the baseline with the same seed differ by up to {amount}")
        for cell in late:
            notes.append(
                f"{_place(study, cell)} changes nothing in a short run; the study lists it under `acts_late`"
            )
        selection = replace(study.selection, cells=[*study.selection.cells, *cells])
        return replace(study, selection=selection, notes=notes)

    def companions(self, study: Study, judged: Sequence[Cell]) -> Iterable[Cell]:
        """Yields the second runs of the baseline on the tasks on which a short one has not repeated exactly."""
        return repeats_of(study, judged, self._unsteady)

    def collect(self, study: Study, beside: Sequence[Cell], records: Records) -> StageEvidence:
        return StageEvidence(other_trials={REPEATS: frame_of_repeats(beside, records)})

    def _runs(self, study: Study) -> Iterator[Cell]:
        """Yields the short runs, each with the paths that it changes as its levels."""
        baseline, *others = study.variants
        first = study.config.seeds.values[0]
        runs = [
            (baseline, first, ""),
            (replace(baseline, name=REPEAT), first, AGAIN),
            (replace(baseline, name=OTHER_SEED), first + 1, ""),
        ]
        runs += [(variant, first, "") for variant in others if variant.at[:1] == ("variants",)]
        for path, levels in study.design.factors.items():
            for level in levels:
                name = f"{path}={short_label(level.value)}"
                runs.append((Variant(name, level.configs, {path: level.value}), first, ""))
        yield from self._cells(study, runs)

    def _last_runs(self, study: Study) -> Iterator[Cell]:
        """Yields what follows the other short runs: of trials that run apart, the first of them again."""
        if study.workload.runs_apart:
            baseline = replace(study.variants[0], name=REPEAT_LAST)
            yield from self._cells(study, [(baseline, study.config.seeds.values[0], LAST)])

    def _cells(self, study: Study, runs: Sequence[tuple[Variant, int, str]]) -> Iterator[Cell]:
        """Yields the cells of short runs, given as variant, seed and stream."""
        for task in study.tasks:
            for variant, seed, stream in runs:
                config = study.patched(variant.configs[task], self._config.probe, task)
                trial = replace(study.trial(config, seed, stream), checkpoint="none")
                name = f"probe, {variant.name}{study.on(task)}"
                changed = dict.fromkeys(variant.patches)
                yield Cell(variant.name, task, seed, trial, name, changed, role="probe")


def _max_repeats(study: Study) -> int:
    """Returns the most trainings that repeat the baseline."""
    return len(study.config.seeds.values[:NUM_REPEATED]) * len(study.tasks)


def _noise(study: Study, cells: Sequence[Cell], records: Records) -> dict[str, float]:
    """Returns the distance of the baseline's two runs under one seed, by task."""
    runs = {(cell.variant, cell.task): records[cell.id] for cell in cells}
    return {task: distance(runs[BASELINE, task], runs[REPEAT, task]) for task in study.tasks}


def _touched(
    study: Study, noise: Mapping[str, float], records: Records, cells: Sequence[Cell]
) -> Iterator[str]:
    """Yields a note for each task on which a run that repeats exactly has changed after other runs."""
    runs = {(cell.variant, cell.task): records[cell.id] for cell in cells}
    for task in study.tasks:
        last = runs.get((REPEAT_LAST, task))
        if last is None or noise[task]:
            continue
        difference = distance(runs[BASELINE, task], last)
        if difference:
            yield (
                f"the baseline repeats exactly, but differs by {exact(difference)}{study.on(task)} after other runs: "
                "the runs share something outside their copies, such as a cache in ~, a file at an absolute path, "
                "or a database"
            )


def _unchanged(cells: Sequence[Cell], records: Records, noise: Mapping[str, float]) -> list[Cell]:
    """Returns the runs that differ from the baseline's by no more than its repetition does."""
    baseline = {cell.task: records[cell.id] for cell in cells if cell.variant == BASELINE}
    unchanged: list[Cell] = []
    for cell in cells:
        if cell.variant in (BASELINE, REPEAT):
            continue
        if distance(baseline[cell.task], records[cell.id]) <= noise[cell.task]:
            unchanged.append(cell)
    return unchanged


def _refusal(study: Study, dead: Sequence[Cell]) -> AblateError:
    """Returns the error that names each run that changed nothing, with the workload's cautions and notes."""
    reasons = [f"{_place(study, cell)} changes nothing" for cell in dead]
    baseline = study.baseline_config
    reasons += study.workload.cautions(baseline)
    reasons += [note.text for note in study.workload.code_notes(baseline)]
    lines = "\n".join(f"  {reason}" for reason in reasons)
    return AblateError(
        f"{study.path}: in short runs, some changes had no effect, so nothing else was trained:\n{lines}\n"
        "Correct them, or list what acts later under `acts_late:`"
    )


def _place(study: Study, cell: Cell) -> str:
    """Returns what a short run changes, and on which task."""
    return f"{cell.variant}{study.on(cell.task)}"
