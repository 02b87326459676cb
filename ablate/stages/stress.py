"""The stage `stress`: every variant is trained at each learning rate of a grid, beside what is judged.

From these trainings `ablate.analysis.sensitivity` estimates how much a wrong rate costs a variant.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, ClassVar, Self

from pydantic import AfterValidator, Field

from ablate.base.errors import NOT_GIVEN, nearest
from ablate.base.text import printable
from ablate.core.derived import LR_SENSITIVITY
from ablate.core.metric import HELD_OUT
from ablate.core.stress_facts import StressFacts
from ablate.session.stage import Preview, Stage, StageEvidence
from ablate.study.checks import attempt, refuse_own
from ablate.study.conditions import refuse_in_conditions
from ablate.study.expand import report_at
from ablate.study.patch import apply_patches
from ablate.study.sections import Number, one_path, refusal, rising
from ablate.study.stage_config import StageConfig, config_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pandas as pd

    from ablate.core.trial import Cell
    from ablate.records.store import Store
    from ablate.session.options import Options
    from ablate.session.stage import Records
    from ablate.study.designs import Config
    from ablate.study.draft import Draft
    from ablate.study.plain_yaml import PathKey
    from ablate.study.schema import StudyConfig
    from ablate.study.study import Study

ROLE = "stress"
"""The role of the trainings of the grid."""
UNEVEN = 2 - 1e-9
"""A step of a grid is less than this many times as long as another: 1, 2, 5, 10 and 1, 3, 10 count as even."""


def _even(levels: list[int | float]) -> list[float]:
    """Returns learning rates in rising order.

    Refuses a grid that is far from even on a log scale.
    """
    rates = [float(rate) for rate in rising(levels)]
    steps: list[tuple[float, str]] = []
    for below, above in itertools.pairwise(rates):
        steps.append((math.log(above / below), f"from {below:g} to {above:g}"))
    shortest, near = min(steps)
    longest, far = max(steps)
    if longest > UNEVEN * shortest:
        raise refusal(
            f"is uneven on a log scale: {far} is at least twice as far as {near}, yet each value counts the same",
            "each step less than twice any other",
        )
    return rates


Rates = Annotated[list[Number], AfterValidator(_even), Field(max_length=100)]
# Its limits stand in the annotation: after `=` they would be checked before `one_path`, and refuse in other words.
Grid = Annotated[
    dict[str, Rates],
    AfterValidator(one_path),
    Field(max_length=1, examples=[{"training.lr": [1e-3, 1e-2, 1e-1]}]),
]


class StressConfig(StageConfig):
    """The key `stress`."""

    keyed_by_path: ClassVar[tuple[str, ...]] = ("stress",)

    stress: Grid = {}
    """training.lr → learning rates, evenly apart on a log scale: every variant is trained at each of them too, whatever
    its own, for `lr_sensitivity`."""


class StressStage(Stage):
    """Trains the grid; claims may be about `lr_sensitivity`."""

    name = "stress"
    Config = StressConfig

    def __init__(self, path: str, rates: Sequence[float]) -> None:
        self._path = path
        self._rates = rates

    @classmethod
    def from_study(cls, study: StudyConfig, options: Options) -> Self | None:
        grid = config_of(study, StressConfig).stress
        if not grid:
            return None
        ((path, rates),) = grid.items()
        return cls(path, rates)

    @property
    def metrics(self) -> frozenset[str]:
        return frozenset({LR_SENSITIVITY})

    def check(self, draft: Draft) -> None:
        workload = draft.workload
        path = self._path
        if path != workload.rate_path:
            rate = workload.rate_path or ""
            lacks = "" if rate else f", of which {workload.name} names no path"
            rule = f"cannot be stressed: only the learning rate can{lacks}"
            draft.document.refuse((ROLE, path), rule, NOT_GIVEN, rate, nearest(path, [rate]))
            return
        self._check_baseline(draft)
        refuse_in_conditions(ROLE, [path], draft.config, draft.document)
        refuse_own(
            path,
            f"cannot set {path}, which `stress` varies for every variant",
            "Remove it here, or from `stress`",
            draft,
        )

    def _check_baseline(self, draft: Draft) -> None:
        """Refuses a workload without held-out loss, and rates that the baseline cannot have.

        The baseline itself is valid.
        """
        workload = draft.workload
        document = draft.document
        baseline = draft.design.variants[0].configs.values()
        at: PathKey = (ROLE, self._path)
        if any(HELD_OUT not in workload.describe(config).stability for config in baseline):
            document.refuse(
                at,
                f"needs a workload whose records have `{HELD_OUT}`, which {workload.name} does not declare",
            )
        for index, rate in enumerate(self._rates):
            for config in baseline:
                _, problems = attempt(draft.resolve, apply_patches(config, {self._path: rate}))
                report_at(problems, {self._path: rate}, (*at, index), document)

    def companions(self, study: Study, judged: Sequence[Cell]) -> Iterator[Cell]:
        """Yields the judged cells at each learning rate.

        Where that is a cell's own rate, the two share a trial.

        A placebo has none: its learning rate is the baseline's.
        """
        resolved: dict[tuple[int, float], Config] = {}
        for cell in judged:
            if cell.trial.stream:
                continue
            for rate in self._rates:
                key = id(cell.trial.config), rate
                if key not in resolved:
                    resolved[key] = study.resolve(apply_patches(cell.trial.config, {self._path: rate}))
                trial = study.trial(resolved[key], cell.seed)
                # Only the trials of the comparison are evaluated.
                trial = cell.trial if trial.id == cell.id else replace(trial, checkpoint="none")
                yield replace(
                    cell,
                    trial=trial,
                    name=f"{cell.name} at {self._path.rpartition('.')[2]} {rate:g}",
                    levels={**cell.levels, self._path: rate},
                    role=ROLE,
                )

    def collect(self, study: Study, beside: Sequence[Cell], records: Records) -> StageEvidence:
        return StageEvidence(StressFacts(self._path, [*self._rates]), self._frame(beside, records))

    def _frame(self, cells: Iterable[Cell], records: Records) -> pd.DataFrame:
        """Returns a row for each trial of the grid that has run, with the columns of `StressFacts`."""
        from ablate.core.facts import frame_of

        rows: list[dict[str, object]] = []
        for cell in cells:
            record = records.get(cell.id)
            if cell.role != ROLE or record is None:
                continue
            row = {
                "id": cell.id,
                "name": cell.name,
                "variant": cell.variant,
                "task": cell.task,
                "seed": cell.seed,
                "value": cell.levels[self._path],
                "status": record.status,
                "reason": printable(record.reason),
                "test_loss": record.metrics.get("test_loss"),
                "initial_loss": record.metrics.get("initial_loss"),
            }
            rows.append(row)
        frame = frame_of(rows, StressFacts.columns)
        return frame.astype({"test_loss": float, "initial_loss": float}) if rows else frame

    def preview(self, study: Study, store: Store) -> Preview:
        from ablate.report.words import message

        seeds = study.config.seeds
        runs = seeds.count * sum(1 for _ in self.companions(study, study.cells(seeds.values[:1])))
        return Preview([message("plan.stress", self._path, [f"{rate:g}" for rate in self._rates], runs)])
