"""Two commits on the same seeds, interleaved, until the looks of METHODS §5 settle whether one is worse."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ablate.analysis.compare import COLUMNS, compared
from ablate.analysis.family import planned
from ablate.analysis.judge import judge
from ablate.analysis.runs import Runs
from ablate.core.facts import Evidence, Facts, TaskFacts, VariantFacts, frame_of
from ablate.core.metric import Metric
from ablate.external.bench import Bench, refuse_equal
from ablate.report.words import because, decimals, difference, fixed, level, significant

CODES = {"better": 0, "equivalent": 0, "identical": 0, "not worse": 0, "worse": 1, "inconclusive": 3}


def compare(bench: Bench, looks: Sequence[int], margin: float) -> dict[str, Any]:
    """The row of the comparison (`analysis.compare`) of the second tree with the first.

    `looks`: the numbers of seeds at which it is looked at, until it is settled. Beside the words of a row, its verdict
    is `identical` where no run differs from that of the other side, and `not worse` where no more is shown than that it
    does not lose by the `margin`. Raises `NotMeasured`.
    """
    base, head = (tree.commit for tree in bench.trees)
    metric, trials = bench.call.read[0], list[dict[str, Any]]()
    task = TaskFacts("command", {metric: Metric("max" if bench.call.direction == "max" else "min")})
    for seeds in looks:
        for seed in range(len(trials) // 2, seeds):
            for tree in bench.trees[:: 1 if seed % 2 else -1]:
                trial = {
                    "id": f"{tree.commit}-{seed}",
                    "variant": tree.commit,
                    "task": task.name,
                    "seed": seed,
                }
                trials.append(trial | {"status": "completed", metric: bench.run(tree, seed)})
        refuse_equal([trial[metric] for trial in trials if trial["variant"] == base])
        facts = Facts(
            *("", "", "", metric, metric, "last", margin, "one_factor", [*range(seeds)], [task]),
            *([VariantFacts(base, {}, {}), VariantFacts(head, {}, {})], {}, []),
            looks=[*looks],
        )
        one = compared(Runs(Evidence(facts, frame_of(trials), frame_of(()))), planned(facts)[0])
        verdict: str = one.decision.verdict
        if verdict == "inconclusive" and one.contrast.differences.all_zero:
            verdict = "identical"
        elif verdict == "inconclusive":
            held = judge(one.estimate, "does_not_lose", margin, one.alpha)
            verdict = "not worse" if held.outcome == "supported" else verdict
        if verdict != "inconclusive":
            break
    return dict(zip(COLUMNS, one.row, strict=True)) | {"verdict": verdict, "exit_code": CODES[verdict]}


def told(row: dict[str, Any], bench: Bench, margin: float) -> str:
    """What the row says, in lines."""
    base, head = bench.trees
    ends = row["ci_low"], row["ci_high"]
    means = [fixed(row[f"mean_{side}"], decimals(*ends)) for side in ("variant", "baseline")]
    return (
        f"{row['metric']} of {head} against {base}: {row['verdict']}\n"
        f"  difference {difference(row['diff'], *ends)} at {level(1 - row['level'])}, positive is better; "
        f"means {means[0]} and {means[1]}, {row['n']} seeds each\n"
        f"  margin {margin:g}; all planned seeds detect {significant(row['mde'])} with 80 % power\n"
        f"  {because(row['reason'])}"
    ).rstrip()
