"""Studies over conditions that were never run, and what their reports are made from."""

from dataclasses import replace

import numpy as np
from made_evidence import study

from ablate.analysis.claims import judge_claims
from ablate.analysis.compare import compare
from ablate.analysis.conditions_tables import conditions_table, trends
from ablate.core.metric import Metric
from ablate.core.over import Over
from ablate.report.section import ReportData


def evidence(form, *, names=(), variants=3, seeds=5, direction="max", over=None, effects=None, margin=0.02):
    """A study whose variants `a`, `b` … differ from the baseline by .05, 0 and −.03, more and more by condition."""
    names = [*names] or [f"game{i}" for i in range(26)]
    rng = np.random.default_rng(3)
    tasks = {name: {"score": Metric(direction)} for name in names}
    levels = {name: rng.normal(0.6, 0.1) for name in names}
    blocks = {name: rng.normal(0, 0.02, seeds) for name in names}
    sizes = [0.05, 0.0, -0.03, *rng.normal(0, 0.03, 40)] if effects is None else effects
    values = {"baseline": {name: levels[name] + blocks[name] for name in names}}
    for place in range(variants):
        values["abcdefghijklmnopqrstuvwxyz"[place]] = {
            name: levels[name]
            + blocks[name]
            + sizes[place] * (0.4 + 1.2 * index / max(1, len(names) - 1))
            + rng.normal(0, 0.015, seeds)
            for index, name in enumerate(names)
        }
    made = study(values, metric="score", tasks=tasks, margin=margin)
    return replace(made, facts=replace(made.facts, over=over or Over(form)))


def report_data(found):
    """What the report of evidence is made from."""
    tables = {"conditions": conditions_table(found), "trends": trends(found)}
    return ReportData(found, compare(found), judge_claims(found), tables=tables)


def ladder(form="every", **options):
    """Three widths, a loss of which less is better, and a trend along the width."""
    sizes = {"w256": 256.0, "w512": 512.0, "w1024": 1024.0}
    over = Over(form, along="config.w", sizes=sizes)
    return evidence(form, names=sizes, direction="min", over=over, variants=2, **options)
