"""`stress:` every variant trained at each learning rate of a grid, and how much a wrong one costs it.

Its sensitivity is the mean over learning rates η of min(ℓ(η), ℓ₀) − ℓ*, with ℓ* = min_η ℓ(η) (Wortsman et al. 2023,
arXiv:2309.14322). ℓ is the held-out loss, ℓ₀ that at initialisation, which a diverged run counts with. ℓ* is at most ℓ₀
as well. The grid is a sample too: a verdict must hold on every grid that lacks one of its rates.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from pydantic import AfterValidator, Field

from ablate.analysis.agreeing import Agreeing
from ablate.analysis.measures import Measure, few
from ablate.analysis.paired import Differences, Flags, Floats, mean_interval
from ablate.analysis.runs import Runs, Side
from ablate.base.errors import NOT_GIVEN, nearest
from ablate.base.text import printable
from ablate.base.wording import brief
from ablate.core.derived import Derived, Offer
from ablate.core.facts import Evidence, Facts, frame_of
from ablate.core.metric import HELD_OUT, Metric
from ablate.core.reason import Reason
from ablate.core.record import Record, lost_to_its_variant
from ablate.core.trial import Cell
from ablate.report.words import say
from ablate.study.checks import Draft, attempt, refuse_own
from ablate.study.designs import Config
from ablate.study.document import PathKey
from ablate.study.expand import report_at
from ablate.study.experiment import Experiment
from ablate.study.patch import apply_patches
from ablate.study.sections import Number, one_path, refusal, rising

if TYPE_CHECKING:
    import pandas as pd

# One row a trial of the grid: value is the float at the path; the losses are NaN where the run has none.
COLUMNS = ("id", "name", "variant", "task", "seed", "value", "status", "reason", "test_loss", "initial_loss")


def check_stress(draft: Draft) -> None:
    """Refuses a grid that the workload cannot be trained over, or over what is compared; the baseline is valid."""
    workload, document = draft.workload, draft.document
    baseline = draft.design.variants[0].configs
    for path, levels in draft.study.section("stress").items():
        at: PathKey = ("stress", path)
        if path != workload.rate_path:
            rate = workload.rate_path or ""
            lacks = "" if rate else f", of which {draft.workload.name} names no path"
            document.refuse(
                at,
                f"cannot be stressed: only the learning rate can{lacks}",
                NOT_GIVEN,
                rate,
                nearest(path, [rate]),
            )
            continue
        if any(HELD_OUT not in workload.describe(config).stability for config in baseline):
            document.refuse(
                at,
                f"needs a workload whose records have `{HELD_OUT}`, which {draft.workload.name} does not declare",
            )
        for (index, level), config in itertools.product(enumerate(levels), baseline):
            _, problems = attempt(draft.resolve, apply_patches(config, {path: level}))
            report_at(problems, {path: level}, (*at, index), document)
        refuse_own(
            path,
            f"is what `stress` trains every variant over, so that no variant can have a {path} of its own",
            f"Take it out, or compare {path} without `stress`",
            draft,
        )


def stressed(experiment: Experiment, cells: Sequence[Cell]) -> Iterator[Cell]:
    """The runs of cells at each learning rate; where that is its own, they share a trial.

    A placebo has none: its learning rate is the baseline's.
    """
    resolved: dict[tuple[int, float], Config] = {}
    for path, levels in experiment.study.section("stress").items():
        for cell, level in itertools.product((cell for cell in cells if not cell.trial.stream), levels):
            key = id(cell.trial.config), level
            if key not in resolved:
                resolved[key] = experiment.resolve(apply_patches(cell.trial.config, {path: level}))
            trial = experiment.trial(resolved[key], cell.seed)
            # Only the trials of the comparison are evaluated.
            trial = cell.trial if trial.id == cell.id else replace(trial, checkpoint="none")
            yield replace(
                cell,
                trial=trial,
                name=f"{cell.name} at {path.rpartition('.')[2]} {level:g}",
                levels={**cell.levels, path: level},
                role="stress",
            )


def stress_frames(
    experiment: Experiment, cells: Sequence[Cell], records: Mapping[str, Record]
) -> Mapping[str, pd.DataFrame]:
    """The records of the grid as a frame with `COLUMNS`; cells that have not run are absent."""
    rows = [
        (
            *(cell.id, cell.name, cell.variant, cell.task, cell.seed, cell.levels[path]),
            *(record.status, printable(record.reason)),
            *(record.metrics.get(name) for name in ("test_loss", "initial_loss")),
        )
        for path in experiment.study.section("stress")
        for cell in cells
        if cell.role == "stress" and (record := records.get(cell.id)) is not None
    ]
    frame = frame_of(rows, COLUMNS)
    return {"stress": frame.astype({"test_loss": float, "initial_loss": float}) if rows else frame}


def plan(experiment: Experiment, store: object) -> tuple[list[str], None]:
    """The size of the grid."""
    seeds, grid = experiment.study.seeds, experiment.study.section("stress").items()
    runs = seeds.count * sum(1 for _ in stressed(experiment, experiment.cells(seeds.values[:1])))
    return [say("plan.stress", path, [f"{rate:g}" for rate in rates], runs) for path, rates in grid], None


def account(evidence: Evidence) -> str:
    """The grid."""
    return " ".join(
        say("methods.stress", path, [*map(brief, rates)])
        for path, rates in evidence.facts.features.get("stress", {}).items()
    )


# A step of a grid is shorter than so many of another: 1, 2, 5, 10 and 1, 3, 10 count as even.
UNEVEN = 2 - 1e-9


def _even(levels: list[int | float]) -> list[float]:
    rates = [*map(float, rising(levels))]
    steps = [
        (math.log(above / below), f"from {below:g} to {above:g}")
        for below, above in itertools.pairwise(rates)
    ]
    (least, near), (most, far) = min(steps), max(steps)
    if most > UNEVEN * least:
        raise refusal(
            f"is uneven on a log scale, {far} at least twice as far as {near}, though each value counts alike",
            "each step less than twice any other",
        )
    return rates


# Path → its values in rising order.
Stress = Annotated[
    dict[str, Annotated[list[Number], AfterValidator(_even), Field(max_length=100)]],
    AfterValidator(one_path),
    Field(
        max_length=1,
        description="training.lr → learning rates, evenly apart on a log scale: every variant is trained at each of "
        "them too, whatever its own, for `lr_sensitivity`.",
        examples=[{"training.lr": [1e-3, 1e-2, 1e-1]}],
    ),
]
GRAMMAR: dict[str, tuple[Any, Any]] = {"stress": (Stress, {})}


LEAST_RATES = 5  # Learning rates below which their grid is no sample.


@dataclass(frozen=True)
class Grid:
    """Of one variant on one task."""

    # The held-out loss of each run, shape (num_seeds, num_rates): infinite where it diverged or was lost to its
    # variant, NaN where it has no outcome.
    reached: Floats
    # The loss before the first step, which is the same at every learning rate; shape (num_seeds, 1), NaN where
    # unknown.
    initial: Floats

    @property
    def losses(self) -> Floats:
        """`reached`, at most the initial loss, with which a run that diverged counts."""
        return np.minimum(self.reached, self.initial)


def grids(evidence: Evidence) -> dict[tuple[str, str], Grid]:
    """Variant and task → its runs, seeds in the order of the plan and learning rates in that of the study."""
    facts, rates = evidence.facts, rates_of(evidence.facts)
    frame = evidence.frame("stress", COLUMNS)
    diverged = (frame["status"] == "diverged") | np.array(
        [lost_to_its_variant(str(a), str(b)) for a, b in zip(frame["status"], frame["reason"], strict=True)],
        bool,
    )
    loss = frame["test_loss"].astype(float).fillna(np.inf).where(frame["status"] == "completed")
    frame = frame.assign(
        reached=loss.mask(diverged, np.inf),
        initial=frame["initial_loss"].astype(float).replace(np.inf, np.nan),
    )
    found = {}
    for variant, task in itertools.product(facts.variants, facts.tasks):
        mine = frame[(frame["variant"] == variant.name) & (frame["task"] == task.name)]
        reached, initial = (
            mine.pivot(index="seed", columns="value", values=name)
            .reindex(index=facts.seeds, columns=rates)
            .to_numpy(float)
            for name in ("reached", "initial")
        )
        found[variant.name, task.name] = Grid(
            reached, np.fmax.reduce(initial, axis=1, initial=np.nan)[:, None]
        )
    return found


def rate_curves(evidence: Evidence) -> pd.DataFrame:
    """One row a variant, task and learning rate at which a run has an outcome, in the order of the study.

    Columns: variant, task, value (the learning rate), loss (the mean over seeds, as `Grid.losses`), low, high (its 95 %
    interval; NaN below two seeds), n, diverged (the number of runs that did).
    """
    rows = []
    for (variant, task), grid in grids(evidence).items():
        for rate, losses, reached in zip(
            rates_of(evidence.facts), grid.losses.T, grid.reached.T, strict=True
        ):
            known = losses[~np.isnan(losses)]
            if len(known):
                mean, ends = mean_interval(known)
                rows.append((variant, task, rate, mean, *ends, len(known), int(np.isinf(reached).sum())))
    columns = ["variant", "task", "value", "loss", "low", "high", "n", "diverged"]
    return frame_of(rows, columns).sort_values(["task", "value"], kind="stable", ignore_index=True)


def rates_of(facts: Facts) -> Sequence[float]:
    """The learning rates of the grid, rising; none where there is no grid."""
    return next(iter(facts.features.get("stress", {}).values()), [])


def _grid(side: Side) -> Grid:
    return side.runs.memo("stress", grids)[side.variant, side.task.name]


def _by_seed(side: Side, without: int | None = None) -> Floats:
    losses = _grid(side).losses[: len(side.runs.seeds)]
    losses = losses if without is None else np.delete(losses, without, axis=1)
    return np.asarray((losses - losses.min(axis=1, keepdims=True)).mean(axis=1))


def _untrained(side: Side) -> Reason | None:
    # Seeds of which every run has an outcome, and none a loss below the initial one: by the formula such a variant
    # would be the least sensitive of all.
    grid = _grid(side)
    above: Flags = grid.reached >= np.nan_to_num(grid.initial, nan=np.inf)
    found = np.atleast_1d(above[: len(side.runs.seeds)].all(axis=1))
    return Reason("untrained", {"seeds": int(found.sum()), "of": len(found)}) if found.any() else None


def _lacks(offer: Offer) -> str:
    if offer.asked.get("stress"):
        return ""
    if offer.rate_path is None:
        return "It takes a workload that has a learning rate"
    return (
        f"Train every variant on a grid of learning rates: stress: {{{offer.rate_path}: [1e-3, 3e-3, 1e-2]}}"
    )


def _estimate(measure: Measure, runs: Runs, groups: Sequence[Sequence[str]]) -> Agreeing:
    """The paired mean, with those on the grids that lack one rate, which must agree."""

    def on(without: int | None) -> Differences:
        derived = replace(SENSITIVITY[measure.name], by_seed=partial(_by_seed, without=without))
        found: Any = replace(measure, derived=derived).contrast(runs, groups).estimate()
        return found

    rates, whole = rates_of(runs.facts), on(None)
    also = [(Reason("rate", {"rate": rate}), on(i)) for i, rate in enumerate(rates) if len(rates) > 1]
    return Agreeing(replace(whole, blocks=few(whole.blocks, "rates", len(rates), LEAST_RATES)), also, also)


SENSITIVITY = {
    "lr_sensitivity": Derived(
        Metric("min"), "mean", _by_seed, _lacks, _untrained, estimate=_estimate, described=True
    )
}
