"""What every use of Optuna needs: parts that wrap its classes, its silence, and the versions that matter."""

from __future__ import annotations

import importlib.metadata
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar

from ablate.core.search_table import Objective

if TYPE_CHECKING:
    from optuna.study import StudyDirection


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


def versions() -> dict[str, str]:
    """The versions on which it depends what a sampler suggests."""
    return {name: importlib.metadata.version(name) for name in ("optuna", "numpy", "scipy")}


def directions(objectives: Sequence[Objective]) -> list[StudyDirection]:
    """Of each objective, as Optuna has them."""
    from optuna.study import StudyDirection

    return [StudyDirection[f"{objective.direction}imize".upper()] for objective in objectives]


class Wrapped:
    """Base of parts that wrap a class of Optuna's, whose arguments are the parameters of the part."""

    wraps: ClassVar[str]
    "The class, below `optuna`."

    def __init__(self, config: Any) -> None:
        self.config = config

    def arguments(self) -> dict[str, Any]:
        """Returns the arguments of Optuna's class."""
        return self.config.model_dump(exclude={"name"})

    def make(self, **more: Any) -> Any:
        """Returns an instance of Optuna's class."""
        module, _, name = self.wraps.rpartition(".")
        with quiet():
            return getattr(import_module(f"optuna.{module}"), name)(**self.arguments() | more)
