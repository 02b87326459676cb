import dataclasses
import math

import numpy as np
from made_evidence import study

from ablate.analysis.claims import judge_claims
from ablate.analysis.compare import compare
from ablate.analysis.stability import stability
from ablate.core.metric import Metric
from ablate.core.provenance import Planned
from ablate.report.section import Picture, ReportData
from ablate.report.sections.rates import Rates
from ablate.report.sections.verdicts import Stability
from ablate.report.words import message

N = 5
rng = np.random.default_rng(9)
VALUES = {name: 0.8 + 0.01 * rng.normal(size=N) for name in ("baseline", "a", "b")}
RATES = (1e-4, 3e-4, 1e-3, 3e-3, 1e-2)
STEEP = np.where(np.arange(5) >= 3, math.inf, 0.5 + 0.02 * rng.normal(size=(N, 5)))
GRIDS = {name: 0.5 + 0.02 * rng.normal(size=(N, 5)) for name in VALUES} | {"a": STEEP}


def report_data(evidence):
    return ReportData(
        evidence, compare(evidence), judge_claims(evidence), tables={"stability": stability(evidence)}
    )


def test_runs_that_diverged_are_counted_on_each_task():
    """Once for the baseline of several pairs, though looks gave some of them fewer seeds."""
    tasks = {task: {"accuracy": Metric("max", floor=0.1)} for task in ("t1", "t2")}
    evidence = study(VALUES, tasks=tasks, statuses={("baseline", 0): "diverged"})
    facts = dataclasses.replace(evidence.facts, provenance=Planned({"a": {"t1": 2}}, [2, 4]))
    lost = [message("stability.lost", 1, 5, "baseline", task) for task in ("t1", "t2")]
    found = Stability().findings(report_data(dataclasses.replace(evidence, facts=facts)))
    assert found == [message("stability.diverged", lost)]


def test_the_figure_says_where_runs_diverged():
    made = report_data(study(VALUES, stress=GRIDS, rates=RATES))
    (curves,) = (block for block in Rates().blocks(made) if isinstance(block, Picture))
    broken = curves.data[curves.data["diverged"] > 0]
    assert broken[["variant", "value", "diverged", "n"]].to_numpy().tolist() == [
        ["a", 3e-3, 5, 5],
        ["a", 1e-2, 5, 5],
    ]
    assert "cross" in curves.caption
