"""What a study will train, and what that can tell, before it is trained.

What its seeds can detect is told by the pairs that are known: of its last report, or of its trials in the store. Only
the spread of their differences is used, never the differences themselves.
"""

import math
import shlex
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any

from pydantic import JsonValue

from ablate.analysis.family import family_size
from ablate.analysis.looks import weights
from ablate.analysis.power import ALPHA, LEAST_PAIRS
from ablate.analysis.prospects import Power, Terms, outlook
from ablate.base.errors import AblateError, Problem
from ablate.base.wording import exact
from ablate.core import names
from ablate.core.events import Capacity
from ablate.core.facts import BASELINE, Evidence, StudyFacts
from ablate.core.record import Record
from ablate.core.trial import Cell
from ablate.external.workload import External
from ablate.pipeline.cache import is_current, report_place
from ablate.pipeline.gather import comparable, gather
from ablate.pipeline.limitations import limitations
from ablate.pipeline.prepare import companions, prepare
from ablate.records.folder import StudyFolder
from ablate.records.store import Store
from ablate.records.trial_list import first_of_each
from ablate.session.options import Options
from ablate.session.stage import Preview, Stage
from ablate.session.workers import Workers
from ablate.stages import CONFIGS, STAGES
from ablate.study.document import read_document
from ablate.study.study import Study, facts_of

Place = tuple[
    str, str
]  # A variant and a task; what has that name elsewhere needs pandas, and a plan does not.


@dataclass(frozen=True)
class Planned:
    """Of a study: its trials, what is left of them, and what they can tell."""

    study: Study
    # Trials of each place that are in the store.
    cached: Mapping[Place, int]
    # Trials that are not, of the variants as the study gives them.
    to_train: int
    # Of one training at each place where some have run; where none has, of what took as many FLOPs here.
    seconds: Mapping[Place, float]
    # What a run has.
    capacity: Capacity
    power: Power
    cautions: Sequence[str]
    # What each stage says of it, by its name.
    previews: Mapping[str, Preview]
    # The stages that select variants by trainings.
    selecting: Sequence[Stage]

    @property
    def at_most(self) -> int:
        """The largest number of trainings of a run."""
        most = self.to_train
        for stage in self.selecting:
            most = stage.max_trials(self.study, most)
        return most

    @property
    def expected(self) -> float | None:
        """Expected seconds of these; None where no training has been timed."""
        most = self.at_most
        return (
            fmean(self.seconds.values()) * most / max(1, min(self.capacity.trials, most))
            if self.seconds
            else None
        )

    def command_lines(self) -> list[str]:
        """Returns the command line of each variant of one's own code; none of the built-in workload."""
        workload = self.study.workload
        seed = self.study.config.seeds.values[0]
        if not isinstance(workload, External):
            return []
        return [
            f"{variant.name}: {shlex.join(workload.words(variant.configs[0], seed))}"
            for variant in self.study.variants
        ]

    def _data_of(self, stage: str) -> Mapping[str, JsonValue] | None:
        return self.previews[stage].data if stage in self.previews else None

    def as_data(self) -> dict[str, Any]:
        """What it says, as plain data."""
        study = self.study
        return {
            "study": study.config.name,
            "variants": [
                {
                    "variant": variant.name,
                    "task": task,
                    "placebo": variant.placebo,
                    "parameters": described.parameters,
                    "flops": described.flops,
                    "training_flops": described.training_flops,
                    "examples": described.examples,
                    "forwarded": described.forwarded,
                    "trials": study.config.seeds.count,
                    "cached": self.cached.get((variant.name, task), 0),
                    "seconds_each": self.seconds.get((variant.name, task)),
                }
                for variant in study.variants
                for task, described in zip(study.tasks, study.describe(variant), strict=True)
            ],
            "to_train": self.to_train,
            "at_most": self.at_most,
            "expected_seconds": self.expected if self.at_most else 0.0,
            "workers": max(1, self.capacity.trials),
            **{stage.name: self._data_of(stage.name) for stage in STAGES},
            "power": asdict(self.power),
            "cautions": list(self.cautions),
            "exit_code": 0,
        }


def study_of(path: Path, options: Options) -> tuple[Study, tuple[Stage, ...]]:
    """Returns the study as a run would train it, with its stages. Raises `StudyError`."""
    return prepare(read_document(path).override(options, CONFIGS), STAGES, options)


def planned(
    study: Study,
    stages: Sequence[Stage],
    options: Options,
    warn: Callable[[str], None],
    detect: float | None = None,
) -> Planned:
    """Returns the plan of a study; trains and writes nothing.

    detect: a difference in the primary metric's units, of which it says what it takes. Raises `AblateError` for one
    that the metric can show on no task.
    """
    # First, so that a folder of results that cannot be is refused as such.
    facts = facts_of(study)
    reported = _reported(facts, options.results)
    store = Store(options.results / "store", warn, read_only=True)
    cells = study.cells()
    every = first_of_each([*cells, *companions(study, stages, cells)])
    records = {i: record for i, cell in every.items() if (record := store.load(cell.trial)) is not None}
    # Of variants that trainings choose, the last report alone knows whether all is there.
    folder, _ = report_place(study.document, options)
    whole = is_current(folder, study.document, options)
    left = {
        i for i, c in every.items() if not (whole or store.is_finished(records.get(i), c.trial.checkpoint))
    }
    took: dict[Place, list[float]] = {}
    for cell in cells:
        if (record := records.get(cell.id)) and record.started_at:
            took.setdefault((cell.variant, cell.task), []).append(record.seconds)
    described = study.describe(study.variants[0])[0]
    told = None if took else store.usual_seconds(described.compute)
    usual = {(cell.variant, cell.task): [told] for cell in cells if told}
    selecting = [stage for stage in stages if stage.selects]
    with closing(Workers(study, options)) as workers:
        capacity = workers.capacity() if left else Capacity(1)
    return Planned(
        study,
        Counter((cell.variant, cell.task) for cell in cells if cell.id not in left),
        len(left),
        {place: fmean(of) for place, of in (took or usual).items()},
        capacity,
        power(
            study,
            facts,
            sum(stage.extra_variants(study) for stage in stages),
            reported or (_stored(facts, cells, records, warn) if records else None),
            detect,
        ),
        limitations(study, selects=bool(selecting)),
        {stage.name: stage.preview(study, store) for stage in stages},
        [] if whole else selecting,
    )


def power(
    study: Study,
    facts: StudyFacts,
    extra_variants: int,
    known: tuple[Evidence, str] | None,
    detect: float | None = None,
) -> Power:
    """Returns what the seeds of the study can detect, by the evidence of known pairs and where it comes from.

    extra_variants: the variants that stages will add.
    """
    metric, seeds = facts.metric, study.config.seeds
    tasks = [task for task in facts.tasks if metric in task.metrics]
    spans = [task.metrics[metric].span or math.inf for task in tasks]
    if detect is not None and not detect <= (most := max(spans, default=math.inf)):
        rule, allowed = f"is more than {metric} can differ by", f"above 0, up to {exact(most)}"
        raise AblateError(str(Problem(rule, given=detect, allowed=allowed, source="--detect")))
    m = family_size(facts) + extra_variants
    looks = max(1, len(seeds.looks))
    terms = Terms(seeds.count, ALPHA * weights(looks)[-1] / max(m, 1), facts.margin, detect)
    variants = [variant.name for variant in study.variants[1:] if not variant.placebo]
    evidence, source = known or (None, "")
    found = [outlook(task, metric, variants, evidence, terms) for task in (tasks if m else ())]
    return Power(metric, seeds.count, m, terms.alpha, looks, source, found, detect)


def _stored(
    facts: StudyFacts, cells: Sequence[Cell], records: Mapping[str, Record], warn: Callable[[str], None]
) -> tuple[Evidence, str] | None:
    """The evidence of the study's trials as it gives them, with pairs, and where it comes from in words."""
    ran = [cell for cell in cells if cell.id in records]
    facts = replace(facts, seeds=list(dict.fromkeys(cell.seed for cell in ran)))
    evidence = gather(facts, ran, comparable(ran, records, warn))
    return (evidence, "trials in the store") if _has_pairs(evidence) else None


def _reported(facts: StudyFacts, results: Path) -> tuple[Evidence, str] | None:
    """The same of the last report of the study, or of the one that it repeats or differs from."""
    name = facts.study
    for each in filter(None, dict.fromkeys([name, names.written(name), names.confirmed(name)])):
        folder = StudyFolder(results, each)
        with suppress(AblateError):
            evidence = folder.evidence() if folder.has_report else None
            judged = evidence and (evidence.facts.metric, evidence.facts.column)
            if evidence and judged == (facts.metric, facts.column) and _has_pairs(evidence):
                return evidence, f"the last report, {folder.path}"
    return None


def _has_pairs(evidence: Evidence) -> bool:
    """Whether enough seeds to tell a spread have ended on both sides of some comparison."""
    ended = evidence.trials[evidence.trials["status"].isin(["completed", "diverged"])]
    is_baseline = ended["variant"] == BASELINE
    return len({*ended.loc[is_baseline, "seed"]} & {*ended.loc[~is_baseline, "seed"]}) >= LEAST_PAIRS
