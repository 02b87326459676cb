"""The error rate of several independent chances for a false verdict, each at a nominal 0.05."""

NOMINAL = 0.05


def error_rate_with_another(rate: float = NOMINAL) -> float:
    """Returns the error rate with a run on fresh seeds after looks of this error rate.

    After one look at a nominal 0.05 it is 0.0975.
    """
    return 1 - (1 - rate) * (1 - NOMINAL)
