"""How many seeds it takes to exclude that a run fails to solve an all-or-nothing task."""

from __future__ import annotations

import math


def seeds_without_failure(margin: float, span: float, alpha: float) -> int:
    """The smallest n at which n runs that all solve are `equivalent` at level `alpha`.

    A run that fails costs about `span`, the distance from chance to the best value, so that a share of failures of
    π = margin / (2·span) is worth half the margin. No failure in n runs excludes it at (1 − π)^n ≤ α. At least 2.
    """
    share = margin / (2 * span)
    return 2 if share >= 1 else max(2, math.ceil(math.log(alpha) / math.log1p(-share)))
