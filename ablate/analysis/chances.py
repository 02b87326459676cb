"""The error rate of several independent chances for a false verdict, each at a nominal 0.05."""

NOMINAL = 0.05


def error_rate_of_best(runs: int) -> float:
    """Returns the probability that the best of several runs, each on its own seeds, shows a false `better`.

    Each has half the nominal α, since only `better` counts: three runs have 0.073, ten 0.224.
    """
    return 1 - (1 - NOMINAL / 2) ** runs


def error_rate_with_another(rate: float = NOMINAL) -> float:
    """Returns the error rate with a run on fresh seeds after looks of this error rate.

    After one look at a nominal 0.05 it is 0.0975.
    """
    return 1 - (1 - rate) * (1 - NOMINAL)
