"""The nominal error rate of 0.05: how looks share it, and what several independent chances add up to.

Loads no numpy: reports that are shown again need it.
"""

NOMINAL = 0.05


def error_rate_with_another(rate: float = NOMINAL) -> float:
    """Returns the error rate with a run on fresh seeds after looks of this error rate.

    After one look at a nominal 0.05 it is 0.0975.
    """
    return 1 - (1 - rate) * (1 - NOMINAL)


def weights(count: int) -> list[float]:
    """Returns w_1 … w_K, the share of the level that each of K looks spends; see `analysis.looks`."""
    return [2 * k / (count * (count + 1)) for k in range(1, count + 1)]
