"""What a report over conditions is made from: made runs, and the rows over conditions that are judged of them."""

from dataclasses import replace

import numpy as np
import pandas as pd
from made_evidence import study

from ablate.analysis.claims import judge_claims
from ablate.analysis.compare import compare
from ablate.analysis.condition_descriptions import conditions_of
from ablate.analysis.conditions import mean_over, scales_of, trend_along
from ablate.analysis.judge import ALPHA
from ablate.analysis.over_conditions import InCondition, judge_every, judge_mean
from ablate.analysis.runs import runs_of
from ablate.core.metric import Metric
from ablate.core.over import Over
from ablate.report.section import ReportData

CONDITION_COLUMNS = [
    *("variant", "baseline", "over", "metric", "conditions", "better", "worse", "varies"),
    *("deciding", "heaviest", "scales", "p_shared", "p_independent"),
]
TREND_COLUMNS = [
    *("variant", "baseline", "metric", "along", "diff", "ci_low", "ci_high", "level", "n", "p", "reason")
]


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


def report_data(found, *, planned=None):
    """What the report of evidence is made from, as the judge leaves it."""
    facts = found.facts
    runs = runs_of(found)
    alone = compare(found, planned=False)
    variants = [variant.name for variant in facts.variants[1:]]
    alpha = ALPHA / len(variants)
    rows, about, trends = [], [], []
    for name in variants:
        conditions = conditions_of(runs, ((name,), ("baseline",)))
        row, beside = _judged(facts, name, conditions, alpha)
        rows.append(row)
        about.append(beside)
        if facts.over.along:
            trends.append(_trend(facts, name, conditions))
    first = alone[alone["variant"].isin(variants)].iloc[0].to_dict()
    planned_rows = pd.DataFrame(
        [{**first, "mean_variant": np.nan, "mean_baseline": np.nan, **row} for row in rows]
    )
    tables = {"conditions": pd.DataFrame(about, columns=CONDITION_COLUMNS)}
    if trends:
        tables["trends"] = pd.DataFrame(trends, columns=TREND_COLUMNS)
    comparisons = pd.concat([planned_rows, alone], ignore_index=True)
    return ReportData(found, comparisons, judge_claims(found), tables=tables)


def _judged(facts, name, conditions, alpha):
    about = {"variant": name, "baseline": "baseline", "over": facts.over.form, "metric": facts.metric}
    about |= {"conditions": len(conditions), "varies": False, "heaviest": "", "scales": ""}
    about |= {"p_shared": np.nan, "p_independent": np.nan}
    row = {"variant": name, "baseline": "baseline", "task": facts.over.form, "metric": facts.metric}
    row |= {"level": 1 - alpha, "exploratory": False, "look": 1}
    if facts.over.form == "every":
        return _every(facts, conditions, alpha, row, about)
    estimate = mean_over(conditions)
    found = judge_mean(estimate, conditions, facts.margin, alpha)
    low, high = estimate.interval(alpha)
    row |= {"diff": estimate.mean, "ci_low": low, "ci_high": high, "p": found.row.p, "n": estimate.n}
    row |= {"mde": estimate.mde(alpha), "verdict": found.row.verdict, "reason": str(found.row.reason or "")}
    scales = scales_of(conditions)
    if {*scales} != {1.0}:
        pairs = zip(conditions, scales, strict=True)
        about["scales"] = "; ".join(f"{one.name} {scale:g}" for one, scale in pairs)
    about |= {"better": found.better, "worse": found.worse, "varies": found.varies}
    return row, about | {"deciding": found.blocking, "heaviest": found.heaviest}


def _every(facts, conditions, alpha, row, about):
    each = [InCondition(one.name, one.difference, facts.margin) for one in conditions]
    found = judge_every(each, alpha)
    (deciding,) = [one.difference for one in conditions if one.name == found.deciding]
    low, high = deciding.interval(alpha)
    row |= {"diff": deciding.mean, "ci_low": low, "ci_high": high, "p": found.row.p, "n": deciding.n}
    row |= {"mde": deciding.mde(alpha), "verdict": found.row.verdict, "reason": str(found.row.reason or "")}
    return row, about | {"better": found.better, "worse": found.worse, "deciding": found.deciding}


def _trend(facts, name, conditions):
    estimate = trend_along(conditions, [facts.over.sizes[one.name] for one in conditions])
    low, high = estimate.interval(ALPHA)
    ends = {"diff": estimate.mean, "ci_low": low, "ci_high": high, "level": 0.95, "n": estimate.n}
    row = {"variant": name, "baseline": "baseline", "metric": facts.metric, "along": facts.over.along}
    return row | ends | {"p": 2 * min(estimate.above(0), estimate.below(0)), "reason": ""}


def ladder(form="every", **options):
    """Three widths, a loss of which less is better, and a trend along the width."""
    sizes = {"w256": 256.0, "w512": 512.0, "w1024": 1024.0}
    over = Over(form, along="config.w", sizes=sizes)
    return evidence(form, names=sizes, direction="min", over=over, variants=2, **options)
