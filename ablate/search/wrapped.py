"""Parts that wrap a class of Optuna's: each has a name, typed parameters and checks of its own."""

from __future__ import annotations

from importlib import import_module
from typing import Any, ClassVar

from ablate.search.quiet import quiet


class Wrapped:
    """Base of parts that wrap a class of Optuna's, whose arguments are the parameters of the part."""

    wraps: ClassVar[str]
    "The class, below `optuna`."

    def __init__(self, config: Any) -> None:
        self.config = config

    def arguments(self, length: int | None) -> dict[str, Any]:
        """Returns the arguments of Optuna's class; `length` is the number of trials, or the last step."""
        return self.config.model_dump(exclude={"name"})

    def _made(self, length: int | None, **more: Any) -> Any:
        module, _, name = self.wraps.rpartition(".")
        with quiet():
            return getattr(import_module(f"optuna.{module}"), name)(**self.arguments(length), **more)
