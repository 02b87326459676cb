"""Silences the logs and warnings of Optuna and its libraries, which are not for the user of a study."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def quiet() -> Iterator[None]:
    """Silences log lines and warnings, for instance of experimental parts; errors are still raised.

    The filters of warnings stay: removing them would disturb those of the thread that writes to MLflow.
    """
    import optuna

    warnings.filterwarnings("ignore", category=optuna.exceptions.ExperimentalWarning)
    for category in (UserWarning, RuntimeWarning):
        # From Python 3.12 on, Optuna warns in the name of its caller.
        warnings.filterwarnings("ignore", category=category, module=r"(optuna|ablate\.search)\.")
    loggers = [logging.getLogger(name) for name in ("alembic", "sqlalchemy")]
    levels = [logger.level for logger in loggers]
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        optuna.logging.set_verbosity(before)
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
