"""Many made studies, each judged by the package's own rules; no frames, which take two hundred times as long.

Arrays have shape (num_studies, n): one value a seed.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ablate.analysis.contrast import Contrast
from ablate.analysis.judge import row
from ablate.analysis.paired import Differences
from ablate.analysis.power import ALPHA
from ablate.core.metric import Metric, Outcome

from .simulations import FLOOR, RESOLUTION, Flags, Floats

PLAIN = Metric("max", RESOLUTION)
"""Of normal values, which know no bounds."""
BOUNDED = Metric("max", RESOLUTION, floor=FLOOR, ceiling=1.0, solved=0.9)


def contrasts(
    a: Floats,
    b: Floats,
    *,
    metric: Metric = PLAIN,
    outcome: Outcome = "graded",
    lost: tuple[Flags, Flags] | None = None,
    overlap: float = 0.0,
) -> Iterator[Contrast]:
    """Of each study; `lost`: the runs of either side that diverged; `overlap`: as of `Differences`."""
    gone = np.zeros((2, *a.shape), bool) if lost is None else np.array(lost)
    floor = np.nan if metric.floor is None else metric.floor
    scored = np.where(gone, floor, np.array([a, b]))
    solved = None if metric.solved is None else (scored >= metric.solved) & ~gone
    for i in range(len(a)):
        one, other = scored[:, i]
        yield Contrast(
            metric,
            one[None],
            other[None],
            Differences.between(one, other, metric.resolution, overlap=overlap),
            int(gone[:, i].sum()),
            solved=None if solved is None else (solved[0, i], solved[1, i]),
            by_rate=outcome == "all_or_nothing",
        )


def verdicts(
    a: Floats, b: Floats, *, m: int = 1, margin: float | None = None, **options: Any
) -> NDArray[np.str_]:
    """The verdict of each study in a family of m; `options` as of `contrasts`."""
    made = contrasts(a, b, **options)
    return np.array([row(one.estimate(margin), margin, ALPHA / m).verdict for one in made])


def differs(a: Floats, b: Floats, *, m: int = 1, **options: Any) -> Flags:
    """Whether each study is told `better` or `worse`."""
    return np.isin(verdicts(a, b, m=m, **options), ["better", "worse"])
