"""The steps of a path from the baseline to a variant, each of which adds one change."""

from __future__ import annotations

from typing import Any

import pandas as pd

from ablate.analysis.contrast import Contrast
from ablate.analysis.runs import Runs
from ablate.core.evidence import Evidence
from ablate.core.facts import Facts, VariantFacts

COLUMNS = (
    *("task", "step", "variant", "path", "n", "mean", "diff", "ci_low", "ci_high"),
    *("total", "total_low", "total_high"),
)


def path_of(facts: Facts) -> list[VariantFacts]:
    """The baseline and the configurations of the path, in their order; none where the study has no path."""
    if facts.design != "path":
        return []
    found = facts.variants[:1]
    for variant in facts.variants[1:]:
        if not variant.placebo and len(added(variant, found[-1])) == 1 and _holds(variant, found[-1]):
            found.append(variant)
        else:
            break
    return found


def steps(evidence: Evidence) -> pd.DataFrame:
    """One row a task and step, with `COLUMNS`.

    `path` is what the step changes. `mean` is in the metric's units. `diff` with its 95 % interval is against the
    configuration before; `total` is against the baseline. Both oriented, and exploratory.
    """
    facts, runs = evidence.facts, Runs(evidence)
    rows: list[dict[str, Any]] = []
    for task in facts.tasks if path_of(facts) else ():
        if facts.metric not in task.metrics:
            continue
        sides = [(variant, runs.of(variant.name, task)) for variant in path_of(facts)]
        for number, (one, before) in enumerate(zip(sides[1:], sides[:-1], strict=True), start=1):
            c = Contrast.between([[one[1]]], [[before[1]]], facts.metric)
            d = c.differences
            total = Contrast.between([[one[1]]], [[sides[0][1]]], facts.metric).differences
            numbers = (float(c.a[0].mean()) if c.n else float("nan"), d.mean, *d.interval())
            (path,) = added(one[0], before[0])
            row = (task.name, number, one[0].name, path, c.n, *numbers, total.mean, *total.interval())
            rows.append(dict(zip(COLUMNS, row, strict=True)))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def added(variant: VariantFacts, before: VariantFacts) -> list[str]:
    """The paths that it changes and the one before does not."""
    return [path for path in variant.changes if path not in before.changes]


def _holds(variant: VariantFacts, before: VariantFacts) -> bool:
    """Whether it has all changes of the one before."""
    return before.changes.items() <= variant.changes.items()
