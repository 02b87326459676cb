"""Optuna without its log lines and warnings."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def quiet() -> Iterator[None]:
    """Silences log lines and warnings, for instance of experimental parts; errors are still raised."""
    import optuna

    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        with warnings.catch_warnings(action="ignore"):
            yield
    finally:
        optuna.logging.set_verbosity(before)
