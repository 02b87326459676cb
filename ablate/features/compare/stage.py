"""Two commits on the same seeds, interleaved, until the looks of METHODS §5 settle whether one is worse."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ablate.analysis.compare import COLUMNS, compared
from ablate.analysis.family import planned
from ablate.analysis.judge import judge
from ablate.analysis.runs import Runs
from ablate.base.wording import counted, exact
from ablate.core.facts import Evidence, Facts, TaskFacts, VariantFacts, frame_of
from ablate.core.metric import Metric
from ablate.external.measuring import Call, refuse_equal
from ablate.external.trees import Tree
from ablate.report.words import because, decimals, difference, fixed, level, significant

CODES = {"better": 0, "equivalent": 0, "identical": 0, "not worse": 0, "worse": 1, "inconclusive": 3}


def compare(
    call: Call, trees: Sequence[Tree], looks: Sequence[int], margin: float, run: Callable[[Tree, int], float]
) -> dict[str, Any]:
    """The row of the comparison (`analysis.compare`) of the second tree with the first.

    `looks`: the numbers of seeds at which it is looked at, until it is settled. Beside the words of a row, its verdict
    is `identical` where no run differs from that of the other side, and `not worse` where no more is shown than that it
    does not lose by the `margin`. Raises `NotMeasured`.
    """
    base, head = trees
    task = TaskFacts("command", {call.metric: Metric(call.direction)})
    variants = [VariantFacts(tree.commit, {}, {}) for tree in trees]
    trials = list[dict[str, Any]]()
    for seeds in looks:
        for seed in range(len(trials) // 2, seeds):
            for tree in trees if seed % 2 else (head, base):
                value = run(tree, seed)
                trial = {
                    "id": f"{tree.commit}-{seed}",
                    "variant": tree.commit,
                    "task": task.name,
                    "seed": seed,
                }
                trials.append(trial | {"status": "completed", call.metric: value})
        refuse_equal([trial[call.metric] for trial in trials if trial["variant"] == base.commit])
        facts = Facts(
            *(
                "",
                "",
                "",
                call.metric,
                call.metric,
                "last",
                margin,
                "one_factor",
                [*range(seeds)],
                [task],
                variants,
            ),
            *({}, []),
            looks=[*looks],
            compare=base.commit,
        )
        runs = Runs(Evidence(facts, frame_of(trials), frame_of(())))
        one = compared(runs, planned(facts)[0])
        verdict: str = one.decision.verdict
        if verdict == "inconclusive" and one.contrast.differences.all_zero:
            verdict = "identical"
        elif verdict == "inconclusive":
            held = judge(one.estimate, "does_not_lose", margin, one.alpha)
            verdict = "not worse" if held.outcome == "supported" else verdict
        if verdict != "inconclusive":
            break
    return dict(zip(COLUMNS, one.row, strict=True)) | {"verdict": verdict, "exit_code": CODES[verdict]}


def told(row: Mapping[str, Any], trees: Sequence[Tree], call: Call, margin: float) -> Iterator[str]:
    """What the row says, in lines."""
    base, head = trees
    low, high, n = row["ci_low"], row["ci_high"], counted(row["n"], "seed")
    yield f"{call.metric} of {head} against {base}: {row['verdict']}"
    yield f"  difference {difference(row['diff'], low, high)} at {level(1 - row['level'])}, positive is better; {n}"
    places = decimals(low, high)
    yield f"  means {fixed(row['mean_variant'], places)} and {fixed(row['mean_baseline'], places)}"
    yield f"  margin {exact(margin)}; all planned seeds would detect {significant(row['mde'])} with 80 % power"
    if reason := because(row["reason"]):
        yield f"  {reason}"
