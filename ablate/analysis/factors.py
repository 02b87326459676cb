"""Main effects and interactions of a design that crosses its factors, as description: none of it is a verdict.

A contrast of each seed is a paired difference, as between two variants: of a level and the baseline's over the cells
that differ in nothing else, and of two such differences at two levels of another factor.
"""

from __future__ import annotations

from typing import Any

import pandas as pd

from ablate.analysis.contrast import Contrast
from ablate.analysis.crossings import Crossed, Levels, crossings
from ablate.analysis.interactions import at_a_bound
from ablate.analysis.paired import NAN
from ablate.analysis.verdicts import judge
from ablate.core.evidence import Evidence

EFFECTS = (
    "task",
    "kind",
    "effect",
    "levels",
    "n",
    "cells",
    "diff",
    "ci_low",
    "ci_high",
    "p",
    "verdict",
    "note",
)


def effects(evidence: Evidence) -> pd.DataFrame:
    """One row a task and contrast, main effects first, with `EFFECTS`.

    - `kind`: main, or interaction. `effect`: the paths, with `aliases` where the design cannot tell it from others.
      `levels`: path → label, those that are compared with the baseline's.
    - `diff`: oriented; of an interaction, what the two levels gain together beyond what each gains alone.
    - `cells`: the variants on the side of these levels. `p` and `verdict` are at .05, outside every family. The verdict
      is empty on an all-or-nothing task, where a mean over seeds is a rate in disguise.
    """
    rows = []
    for crossed in crossings(evidence):
        grouped = crossed.runs.suspect(crossed.task, crossed.facts.metric)
        for kind, effect, levels in crossed.contrasts():
            rows.append({"task": crossed.task.name, **_row(crossed, kind, effect, levels, grouped)})
    return pd.DataFrame(rows, columns=list(EFFECTS))


def _row(crossed: Crossed, kind: str, effect: str, levels: Levels, grouped: bool) -> dict[str, Any]:
    facts, margin = crossed.facts, crossed.facts.margin
    if kind == "main":
        a, b = crossed.sides([levels, crossed.baseline(levels)])
        c, sides = Contrast.of(a, b, facts.metric), [*a, *b]
    else:
        first, second = ({path: level} for path, level in levels.items())
        one, two = (
            {**alone, **crossed.baseline(other)} for alone, other in ((first, second), (second, first))
        )
        a, *others, b = crossed.sides([levels, one, two, crossed.baseline(levels)])
        c = Contrast.between([a, b], others, facts.metric)
        sides = [*a, *b, *others[0], *others[1]]
    found, d = judge(c, 1, margin if kind == "main" else None, grouped), c.differences
    verdict: str = found.verdict
    note = ""
    if kind == "interaction" and not c.missing and (bound := next(at_a_bound(c, margin or 0.0, sides), "")):
        verdict, note = "inconclusive", f"{bound}, so that it depends on the scale"
    if crossed.task.outcome == "all_or_nothing":
        verdict, note = "", "all or nothing: a mean over seeds is a rate in disguise"
    low, high = d.interval()
    numbers = {"n": c.n, "cells": len(a), "diff": d.mean, "ci_low": low, "ci_high": high}
    p = NAN if c.missing else found.p
    return {
        "kind": kind,
        "effect": effect,
        "levels": levels,
        **numbers,
        "p": p,
        "verdict": verdict,
        "note": note,
    }
