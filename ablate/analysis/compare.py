"""Every variant against the baseline, paired by seed, on every metric of every task.

Runs of one seed share their data and their common initial values, so that most of the noise between seeds cancels
in their difference (common random numbers; Bouthillier et al. 2021, "Accounting for Variance in Machine Learning
Benchmarks", MLSys). `contrast` has the numbers of one pair, `verdicts` the rules, `notes` their words.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

import numpy as np
import pandas as pd

from ablate.analysis.comparison import Comparison
from ablate.analysis.learning import convergence
from ablate.analysis.looks import looks
from ablate.analysis.notes import comparison_note
from ablate.analysis.paired import NAN, Floats, correlation
from ablate.analysis.runs import Runs, solving_metric
from ablate.core.evidence import Evidence
from ablate.core.facts import Facts, TaskFacts, VariantFacts

COLUMNS = (
    *("variant", "baseline", "task", "metric", "n", "mean_variant", "mean_baseline", "diff"),
    *("ci_low", "ci_high", "p", "p_adjusted", "mde", "verdict", "exploratory"),
    *("decided_by", "p_equivalent", "seeds_low", "seeds_high", "family_low", "family_high", "tost_low"),
    *("tost_high", "mde_low", "mde_high", "correlation", "seeds_needed", "sd_seed", "sd_example", "sd_rest"),
    *("solved_rate", "baseline_solved_rate", "only_variant", "only_baseline", "p_solved", "diverged"),
    *("baseline_diverged", "missing", "look", "looks", "placebo", "within_noise", "at", "note"),
)


def compare(evidence: Evidence) -> pd.DataFrame:
    """One row a variant, task and metric, in the order of the study, with `COLUMNS`.

    - `n` pairs, seeds on which both runs have an outcome: a diverged run counts with the metric's floor. `missing`
      planned seeds are the rest.
    - `mean_variant`, `mean_baseline`: over the pairs, in the metric's units and direction. `diff` and all intervals
      are oriented, so that more is better. `ci_*` is the marginal 95 % interval, over seeds and examples where these
      are shared by all seeds; `seeds_*` the same over seeds alone, which decides nothing. `family_*` at level
      1 − .05/m excludes 0 exactly where t decides a difference; `tost_*` at level 1 − .1/m lies inside the margin
      exactly where the paired equivalence test decides.
    - The family is all m planned pairs of a variant (no placebo) and a task on the primary metric, and on others that
      the study declares for it, whatever became of them. `p` is that of no difference, `p_adjusted` = min(1, m·p), NaN
      outside the family: rows there are `exploratory` and judged at .05. `p_equivalent` is judged at .05/m too.
    - `look` of `looks`: where seeds were added until it was settled (`analysis.looks`), the look at which that was, and
      whose seeds all numbers of the row are of. Every p is then p_seq, and α the share of .05 that the look spends.
    - `decided_by`: `t`, or `rate`, where the seeds that only one side solved decide. `p_solved` is p of the rates.
    - `mde`: the difference that is detected with 80 % power, two-sided at .05/m, and at both ends of the 95 %
      interval of s_d; infinite where the metric can show no such difference. `seeds_needed`: of an inconclusive
      row, see `paired.seeds_needed`; infinite above 1000.
    - `sd_seed`, `sd_example`, `sd_rest`: components of the differences, where examples are shared.
    - `solved_rate`: over the runs with an outcome; diverged runs have not solved the task. `only_*`: the number of
      seeds that only this side solved.
    - `within_noise`, of the family: neither side was shown to be better, and the difference is below `mde`.
    - `at`: what the verdict is conditional on, such as `at lr 0.003, not tuned`; empty where it was tuned.
    """
    runs, trend = Runs(evidence), convergence(evidence)
    slow = {(row.variant, row.task): row.why for row in trend.itertuples() if row.why}
    return pd.DataFrame([_row(one) for one in compared(runs, slow)], columns=list(COLUMNS))


def family_size(facts: Facts) -> int:
    """m, the number of planned comparisons."""
    judged = sum(name in task.metrics for name in facts.judged for task in facts.tasks)
    return judged * sum(not variant.placebo for variant in facts.variants[1:])


def compared(
    runs: Runs,
    unfinished: Mapping[tuple[str, str], str] = MappingProxyType({}),
    *,
    all_metrics: bool = True,
) -> Iterator[Comparison]:
    """Every comparison at the look that settled it, else at the last of its runs, in the order of the study.

    Metrics outside the family are shown at the look of the primary one, or before it. Without `all_metrics`, only the
    family.
    `unfinished`: variant and task → what `Comparison` says of them.
    """
    facts = runs.facts
    m = family_size(facts)
    at = [(look, runs.first(look.seeds)) for look in looks(facts)]

    def follow(variant: VariantFacts, task: TaskFacts, name: str, most: int) -> Comparison:
        """The last of the first `most` looks that was needed."""
        confirmatory = name in facts.judged and not variant.placebo
        one: Comparison | None = None
        for look, fewer in at[:most]:
            a, b = fewer.of(variant.name, task), fewer.of(facts.variants[0].name, task)
            if one is not None and not (a.asked.all() and b.asked.all()):
                break
            one = Comparison(
                variant,
                task,
                name,
                a,
                b,
                confirmatory,
                m if confirmatory else 1,
                facts.judged.get(name),
                name in facts.judged and fewer.suspect(task, name),
                look,
                one,
                unfinished.get((variant.name, task.name), ""),
            )
            if one.settled:
                break
        assert one is not None
        return one

    for variant in facts.variants[1:]:
        for task in facts.tasks:
            family = [] if variant.placebo else [name for name in facts.judged if name in task.metrics]
            found = {name: follow(variant, task, name, len(at)) for name in family}
            last = found[facts.metric].look.number if facts.metric in found else len(at)
            for name in task.metrics if all_metrics else family:
                yield found.get(name) or follow(variant, task, name, last)


def planned(comparisons: pd.DataFrame) -> pd.DataFrame:
    """The rows of `compare` that form its family."""
    return comparisons[~comparisons["exploratory"].astype(bool)]


def _row(one: Comparison) -> dict[str, object]:
    """With `COLUMNS`."""
    c, d, found = one.contrast, one.contrast.differences, one.judgement
    solvable = solving_metric(one.task, one.a.runs.facts.metric) is not None
    squares = d.squares
    return {
        "variant": one.a.variant,
        "baseline": one.b.variant,
        "task": one.task.name,
        "metric": one.metric,
        "n": c.n,
        "mean_variant": _mean(c.a[0]),
        "mean_baseline": _mean(c.b[0]),
        "diff": d.mean,
        **_bounds("ci", d.interval(one.alpha)),
        **_bounds("seeds", d.seed_interval(one.alpha)),
        **_bounds("family", d.interval(one.level) if one.confirmatory else (NAN, NAN)),
        **_bounds("tost", d.interval(2 * one.level) if one.margin is not None else (NAN, NAN)),
        "p": found.p,
        "p_adjusted": min(1.0, one.m * found.p) if one.confirmatory else NAN,
        "p_equivalent": found.p_equivalent,
        "verdict": found.verdict,
        "decided_by": "rate" if c.by_rate else "t",
        "exploratory": not one.confirmatory,
        "mde": one.detectable[0],
        **_bounds("mde", one.detectable[1:]),
        "correlation": correlation(c.a[0], c.b[0]),
        "seeds_needed": one.seeds_needed,
        "sd_seed": squares.by_seed**0.5 if squares else NAN,
        "sd_example": squares.by_example**0.5 if squares else NAN,
        "sd_rest": squares.rest**0.5 if squares else NAN,
        "solved_rate": one.a.solved_rate if solvable else NAN,
        "baseline_solved_rate": one.b.solved_rate if solvable else NAN,
        "only_variant": c.only[0] if solvable else NAN,
        "only_baseline": c.only[1] if solvable else NAN,
        "p_solved": c.p_rate,
        "diverged": c.diverged[0],
        "baseline_diverged": c.diverged[1],
        "missing": c.missing,
        "look": one.look.number,
        "looks": one.look.count,
        "placebo": one.variant.placebo,
        "within_noise": one.within_noise,
        "at": f"at {rate}, not tuned" if (rate := one.a.runs.facts.rate) else "",
        "note": comparison_note(one),
    }


def _bounds(name: str, bounds: Sequence[float]) -> dict[str, float]:
    return {f"{name}_low": bounds[0], f"{name}_high": bounds[1]}


def _mean(values: Floats) -> float:
    """Independent of the order of the seeds."""
    return float(np.sort(values).mean()) if len(values) else NAN
