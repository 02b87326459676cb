"""The training that each variant takes until it holds the value of `target:` on validation data."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from ablate.analysis.arrivals import Arrivals
from ablate.analysis.by_mean import obstacle
from ablate.analysis.contrast import Contrast
from ablate.analysis.measures import Measure, measure_of
from ablate.analysis.paired import NAN, mean_interval
from ablate.analysis.power import ALPHA
from ablate.analysis.runs import Runs, Side
from ablate.analysis.verdicts import judge
from ablate.base import wording
from ablate.core.claim import Claim
from ablate.core.evidence import Evidence
from ablate.core.facts import VariantFacts

METRIC = "steps_to_target"
COLUMNS = (
    *("variant", "task", "metric", "target", "n", "reached", "steps", "steps_low", "steps_high", "seconds"),
    *("flops", "diff", "ci_low", "ci_high", "p", "verdict", "note"),
)


def targets(evidence: Evidence, speeds: pd.DataFrame) -> pd.DataFrame:
    """One row a variant and task whose runs report the metric of the target, in the order of the study, with `COLUMNS`.

    - `n` runs with an outcome, of which `reached` hold it at some report; the others, diverged ones included, count
      with the steps of their training. `steps`: the mean so restricted, with its 95 % t interval over seeds.
    - `seconds`, `flops`: of so many steps, at the time of a training step in `speeds` and the FLOPs of the matrix
      products of training; NaN where unknown.
    - `diff` with interval and p: the paired difference from the baseline in steps, oriented, so that above 0 is sooner.
      Exploratory, at .05; where runs that never get there leave it open, `inconclusive`.
    """
    facts, runs = evidence.facts, Runs(evidence)
    rows = []
    for variant in facts.variants:
        for task in facts.tasks:
            measure = measure_of(METRIC, task, facts)
            if measure is not None and runs.of(variant.name, task).arrived.longest > 0:
                rows.append(_row(runs, variant, measure, speeds))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _row(runs: Runs, variant: VariantFacts, measure: Measure, speeds: pd.DataFrame) -> dict[str, object]:
    side, task = measure.side(runs, variant.name), measure.task
    ((metric, target),) = runs.facts.target.items()
    known = side.scored(METRIC)[side.ended]
    steps, bounds = mean_interval(known)
    first = runs.facts.variants[0]
    compared: dict[str, object] = {"diff": NAN, "ci_low": NAN, "ci_high": NAN, "p": NAN, "verdict": ""}
    arrived = runs.of(variant.name, task).arrived
    notes = [*_notes(arrived)]
    if variant != first:
        both = runs.first(int((side.asked & runs.of(first.name, task).asked).sum()))
        compared, why = _compared(*(measure.side(both, name) for name in (variant.name, first.name)))
        notes += [why] if why else []
    timed = speeds[(speeds["variant"] == variant.name) & (speeds["task"] == task.name)]
    timed = timed[timed["own"].astype(bool) & (timed["metric"] == "step_seconds")]
    flops, examples = variant.training_flops.get(task.name), variant.examples.get(task.name)
    return {
        "variant": variant.name,
        "task": task.name,
        "metric": metric,
        "target": target,
        "n": len(known),
        "reached": int(np.isfinite(side.values(METRIC)).sum()),
        "steps": steps,
        "steps_low": bounds[0],
        "steps_high": bounds[1],
        "seconds": steps * float(timed["value_variant"].iloc[0]) if len(timed) else NAN,
        "flops": steps * flops * examples / arrived.trained if flops and examples else NAN,
        **compared,
        "note": "; ".join(notes),
    }


def _compared(a: Side, b: Side) -> tuple[dict[str, object], str]:
    """The variant against the baseline, and why nothing is concluded."""
    c = Contrast.of([a], [b], METRIC)
    found, d = judge(c), c.differences
    beats = Claim("", "beats", METRIC, [a.variant], [b.variant], 0.0)
    why = obstacle(c, beats, 0.0, [a, b], ALPHA)
    verdict = found.verdict
    if d.all_zero and c.n and not c.any_diverged:
        verdict = "degenerate"  # where all get there with the last step, no run is at a floor
    elif verdict == "unstable" or a.obstacle or b.obstacle:
        verdict = "inconclusive"
    why = why.removeprefix(f"{found.verdict}: ").removeprefix(f"{verdict}: ")
    low, high = d.interval()
    return {"diff": d.mean, "ci_low": low, "ci_high": high, "p": found.p, "verdict": verdict}, why


def _notes(arrived: Arrivals) -> Iterator[str]:
    never, n = (int(of(arrived.first).sum()) for of in (np.isinf, lambda first: ~np.isnan(first)))
    if never:
        yield f"{wording.share(never, n)} runs never get there and count with all {arrived.trained:g} steps"
    yield f"evaluated every {arrived.every:g} steps"
