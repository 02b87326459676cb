"""What the figures show, as frames; `figures` draws them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ablate.analysis.learning import solved_rates
from ablate.analysis.power import ALPHA
from ablate.analysis.runs import Runs
from ablate.analysis.student import t_interval
from ablate.core.evidence import Evidence
from ablate.core.facts import BASELINE, Facts, VariantFacts
from ablate.core.metric import Metric

MAX_CURVES = 8
"Curves in one panel, the baseline's included."
MAX_POINTS = 120
"Steps that a curve is drawn with; a longer one is averaged over equal windows."
PLACEBO_GROUP = "placebo"


@dataclass(frozen=True)
class Entry:
    """One variant and its place in a figure."""

    variant: str
    group: str
    "The factor path that the variant changes, or several; its panel or heading."
    label: str
    "Its level, within the group."
    placebo: bool = False


@dataclass(frozen=True)
class Learned:
    """Whether the baseline learned one task."""

    task: str
    solved: int | None
    "Runs that reached the threshold; None where the task declares none."
    runs: int
    "Runs with an outcome."
    metric: str = ""
    "That the threshold is for."
    threshold: float | None = None

    @property
    def everywhere(self) -> bool:
        """Whether every run reached the threshold, or there is none."""
        return self.solved is None or 0 < self.runs == self.solved


def entries(facts: Facts) -> list[Entry]:
    """Every variant but the baseline, those that change the same paths together, placebos last."""
    found = [_entry(v) for v in facts.variants if v.name != BASELINE]
    order = {group: i for i, group in enumerate(dict.fromkeys(e.group for e in found))}
    return sorted(found, key=lambda e: (e.placebo, order[e.group]))


def _entry(variant: VariantFacts) -> Entry:
    if variant.placebo:
        return Entry(variant.name, PLACEBO_GROUP, variant.name, placebo=True)
    group = " + ".join(variant.changes)
    by_design = variant.name == ",".join(f"{path}={level}" for path, level in variant.changes.items())
    return Entry(variant.name, group, ", ".join(variant.changes.values()) if by_design else variant.name)


def panels(facts: Facts) -> dict[str, list[Entry]]:
    """Title → the variants that a panel shows beside the baseline, at most MAX_CURVES − 1."""
    groups: dict[str, list[Entry]] = {}
    for entry in entries(facts):
        groups.setdefault(entry.group, []).append(entry)
    result = {}
    for group, members in groups.items():
        count = -(-len(members) // (MAX_CURVES - 1))
        size = -(-len(members) // count)
        parts = [members[i : i + size] for i in range(0, len(members), size)]
        for i, part in enumerate(parts):
            result[f"{group} ({i + 1} of {len(parts)})" if len(parts) > 1 else group] = part
    return result or {BASELINE: []}


def metric_facts(facts: Facts, task: str) -> Metric:
    """What is known of the primary metric on `task`."""
    for candidate in facts.tasks:
        if candidate.name == task and facts.metric in candidate.metrics:
            return candidate.metrics[facts.metric]
    return Metric("max")


def forest(facts: Facts, comparisons: pd.DataFrame, task: str) -> pd.DataFrame:
    """One row a variant, in the order of `entries`: its place and its comparison on the primary metric.

    Columns: variant, group, label, placebo, verdict, diff, ci_low, ci_high, bonferroni_low, bonferroni_high.
    Variants without a comparison on `task` are left out.
    """
    places = pd.DataFrame([vars(e) for e in entries(facts)], columns=["variant", "group", "label", "placebo"])
    numbers = ["diff", "ci_low", "ci_high", "bonferroni_low", "bonferroni_high"]
    mine = comparisons[(comparisons["task"] == task) & (comparisons["metric"] == facts.metric)]
    mine = mine.drop_duplicates("variant")[["variant", "verdict", *numbers]]
    return places.merge(mine, on="variant", how="inner").astype(dict.fromkeys(numbers, float))


def seeds(evidence: Evidence, task: str) -> pd.DataFrame:
    """One row a variant and planned seed: variant, group, label, placebo, seed, baseline, value, status.

    `baseline` and `value` are the primary metric of the pair, NaN where a trial has none; `status` is the
    variant's, `missing` where the trial has not run.
    """
    facts = evidence.facts
    trials = evidence.trials[evidence.trials["task"] == task]
    values = pd.to_numeric(trials[facts.column], errors="coerce").where(np.isfinite)
    by_trial = {(v, s): x for v, s, x in zip(trials["variant"], trials["seed"], values, strict=True)}
    status = {(v, s): x for v, s, x in zip(trials["variant"], trials["seed"], trials["status"], strict=True)}
    rows = [
        vars(entry)
        | {
            "seed": seed,
            "baseline": by_trial.get((BASELINE, seed), np.nan),
            "value": by_trial.get((entry.variant, seed), np.nan),
            "status": status.get((entry.variant, seed), "missing"),
        }
        for entry in entries(facts) or [Entry(BASELINE, BASELINE, BASELINE)]
        for seed in facts.seeds
    ]
    columns = ["variant", "group", "label", "placebo", "seed", "baseline", "value", "status"]
    return pd.DataFrame(rows, columns=columns).astype({"baseline": float, "value": float})


def tradeoff(evidence: Evidence, comparisons: pd.DataFrame, task: str) -> pd.DataFrame:
    """One row a variant with completed runs, the baseline first, placebos left out.

    Columns: variant, label, verdict (empty for the baseline), parameters, flops (NaN where unknown), n, mean, low
    and high: mean of the primary metric over the completed runs, in its own units, with its marginal 95 % t
    interval (NaN for one run).
    """
    facts, runs = evidence.facts, Runs(evidence)
    mine = comparisons[(comparisons["task"] == task) & (comparisons["metric"] == facts.metric)]
    verdicts = dict(zip(mine["variant"], mine["verdict"], strict=True))
    rows = []
    for variant in facts.variants:
        values = runs.values(variant.name, task, facts.metric)
        values = np.sort(values[~np.isnan(values)])
        if variant.placebo or not len(values):
            continue
        n, low, high = len(values), math.nan, math.nan
        if n > 1:
            low, high = t_interval(float(values.mean()), float(values.std(ddof=1)), n, ALPHA)
        rows.append(
            {
                "variant": variant.name,
                "label": _label(variant),
                "verdict": verdicts.get(variant.name, ""),
                "parameters": variant.parameters.get(task),
                "flops": variant.flops.get(task),
                "n": n,
                "mean": values.mean(),
                "low": low,
                "high": high,
            }
        )
    columns = ["variant", "label", "verdict", "parameters", "flops", "n", "mean", "low", "high"]
    found = pd.DataFrame(rows, columns=columns)
    repeated = found["label"].duplicated(keep=False)
    found["label"] = found["label"].where(~repeated, found["variant"])
    return found.astype(dict.fromkeys(("parameters", "flops", "mean", "low", "high"), float))


def _label(variant: VariantFacts) -> str:
    """The last step of each path that is changed, with its level: a panel has no headings to say the rest."""
    by_design = variant.name == ",".join(f"{path}={level}" for path, level in variant.changes.items())
    if not by_design or not variant.changes:
        return variant.name
    return ",".join(f"{path.rpartition('.')[2]}={level}" for path, level in variant.changes.items())


def curve_metrics(evidence: Evidence) -> list[str]:
    """The curves to draw: the primary metric (on validation data, if it was measured) and the training loss."""
    present = set(evidence.curves["metric"])
    names = [f"validation_{evidence.facts.metric}", evidence.facts.metric]
    return [
        *[name for name in names if name in present][:1],
        *(["train_loss"] if "train_loss" in present else []),
    ]


def curves(evidence: Evidence, task: str, metric: str) -> pd.DataFrame:
    """One row a variant and step: variant, step, mean, low, high (the extremes over seeds), n.

    Over completed trials only, so that a mean never changes because a run has stopped.
    """
    long = _values(evidence, task, metric)
    long = long[long["status"] == "completed"]
    grouped = (
        long.groupby(["variant", "step"], sort=True)["value"]
        .agg(["mean", "min", "max", "count"])
        .reset_index()
    )
    grouped.columns = ["variant", "step", "mean", "low", "high", "n"]
    return grouped


def broken_curves(evidence: Evidence, task: str, metric: str) -> pd.DataFrame:
    """One row a step of each trial that did not complete, up to its last finite value.

    Columns: variant, seed, step, value.
    """
    long = _values(evidence, task, metric)
    return long[long["status"] != "completed"][["variant", "seed", "step", "value"]].reset_index(drop=True)


def _values(evidence: Evidence, task: str, metric: str) -> pd.DataFrame:
    trials = evidence.trials.loc[evidence.trials["task"] == task, ["id", "variant", "seed", "status"]]
    long = evidence.curves[evidence.curves["metric"] == metric].merge(trials, on="id")
    long = long[np.isfinite(long["value"].astype(float))]
    distinct = np.unique(long["step"])
    if len(distinct) > MAX_POINTS:
        width = -(-len(distinct) // MAX_POINTS)
        window = np.searchsorted(distinct, long["step"]) // width
        # A window stands at its last step, so that no curve begins before it was measured.
        last = distinct[np.minimum((window + 1) * width, len(distinct)) - 1]
        keys = ["id", "variant", "seed", "status", "step"]
        long = long.assign(step=last).groupby(keys, sort=True, as_index=False)["value"].mean()
    return long


def learned(evidence: Evidence) -> list[Learned]:
    """For every task, on how many of its runs the baseline reached what the task calls solved."""
    facts = evidence.facts
    rates = solved_rates(evidence)
    mine = {row["task"]: row for row in rates[rates["variant"] == BASELINE].to_dict("records")}
    trials = evidence.trials[evidence.trials["variant"] == BASELINE]
    result = []
    for task in facts.tasks:
        if row := mine.get(task.name):
            found = Learned(task.name, row["solved"], row["runs"], row["metric"], row["threshold"])
        else:
            ended = trials["status"].isin(["completed", "diverged"]) & (trials["task"] == task.name)
            found = Learned(task.name, None, int(ended.sum()))
        result.append(found)
    return result


def incidents(evidence: Evidence) -> pd.DataFrame:
    """Trials that did not complete, and planned ones that have not run.

    Columns: variant, task, seed, status, reason, id.
    """
    facts, trials = evidence.facts, evidence.trials
    columns = ["variant", "task", "seed", "status", "reason", "id"]
    bad = trials[trials["status"] != "completed"]
    rows = bad.assign(reason=bad["reason"].fillna("") if "reason" in bad else "")[columns].to_dict("records")
    known = set(zip(trials["variant"], trials["task"], trials["seed"], strict=True))
    # Under a plan that adds seeds only where they are needed, a seed that no variant has had is not missing.
    started = set(trials["seed"])
    rows += [
        {"variant": v.name, "task": t.name, "seed": s, "status": "missing", "reason": "has not run", "id": ""}
        for v in facts.variants
        for t in facts.tasks
        for s in facts.seeds
        if (v.name, t.name, s) not in known and s in started
    ]
    order = {v.name: i for i, v in enumerate(facts.variants)}
    rows.sort(key=lambda r: (order.get(str(r["variant"]), len(order)), str(r["task"]), r["seed"]))
    return pd.DataFrame(rows, columns=columns)
