"""Two commits on the same seeds, interleaved, until the looks of METHODS §5 settle whether one is worse."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ablate.analysis.judge import ALPHA, judge, row
from ablate.analysis.looks import weights
from ablate.analysis.paired import Differences, smallest_difference
from ablate.commits.bench import opened
from ablate.core.spelling import spelled
from ablate.report.verdicts import difference_of
from ablate.report.words import level, significant


def compare(
    call: Mapping[str, Any], path: Path, names: Sequence[str], looks: Sequence[int], margin: float
) -> tuple[dict[str, Any], str]:
    """What is said of the second commit against the first, as data and as text. Raises `NotMeasured`.

    `path` keeps the runs; `looks` are the numbers of seeds at which it is looked at, until it is settled. Beside the
    words of a row (`analysis.judge`), a verdict is `not worse` where no more is shown than that it does not lose by the
    `margin`.
    """
    shares = [ALPHA * weight for weight in weights(len(looks))]
    with opened(call, path, names) as bench:
        for seeds, alpha in zip(looks, shares, strict=True):
            base, head = bench.values(bench.trees, range(seeds))
            d = Differences.between(head, base, smallest_difference(np.array([base, head])))
            verdict: str = row(d, margin, alpha).verdict
            if verdict == "inconclusive" and judge(d, "does_not_lose", margin, alpha).outcome == "supported":
                verdict = "not worse"
            if verdict != "inconclusive":
                break
    low, high = d.interval(alpha)
    found = {
        **{"base": bench.trees[0].name, "head": bench.trees[1].name, "metric": call["read"][0], "n": d.n},
        **{"diff": d.mean, "ci_low": low, "ci_high": high, "level": 1 - alpha},
        **{"mde": d.mde(shares[-1], looks[-1]), "margin": margin, "verdict": verdict},
        **{"exit_code": {"worse": 1, "inconclusive": 3}.get(verdict, 0)},
    }
    shown, better = difference_of(found, call["direction"]), "less" if call["direction"] == "min" else "more"
    return found, (
        f"{spelled(found['metric'])} of {found['head']} against {found['base']}: {verdict}\n"
        f"  difference {shown} at {level(alpha)}, {better} is better; {d.n} seeds each\n"
        f"  margin {margin:g}; {looks[-1]} seeds detect {significant(found['mde'])} with 80 % power"
    )
