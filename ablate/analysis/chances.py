"""The level of several independent chances for a false verdict, each at a nominal 0.05."""

NOMINAL = 0.05


def level_of_best(runs: int) -> float:
    """Returns the probability that the best of so many runs, on seeds of their own, shows a false `better`.

    Each is one-sided at half the nominal level: three have 0.073, ten 0.224.
    """
    return 1 - (1 - NOMINAL / 2) ** runs


def level_with_another(level: float = NOMINAL) -> float:
    """Returns the level once a fixed number of fresh seeds is a further chance after looks of this level.

    After one look at a nominal 0.05 it is 0.0975.
    """
    return 1 - (1 - level) * (1 - NOMINAL)
