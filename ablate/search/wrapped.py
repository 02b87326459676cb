"""Parts that are classes of Optuna's: their own name, typed parameters and checks over one way to make them."""

from __future__ import annotations

from importlib import import_module
from typing import Any, ClassVar

from ablate.base.registry import PartConfig
from ablate.search.quiet import quiet


class Wrapped:
    """Base of parts that wrap a class of Optuna's; its arguments are the part's parameters."""

    wraps: ClassVar[str]
    "Module and class, below `optuna`."

    def __init__(self, config: PartConfig) -> None:
        self.config = config

    def arguments(self, length: int | None) -> dict[str, Any]:
        """Arguments of Optuna's class; `length` is what `build` is given."""
        return self.config.model_dump(exclude={"name"})

    def _made(self, length: int | None, **more: Any) -> Any:
        module, _, name = self.wraps.rpartition(".")
        with quiet():
            return getattr(import_module(f"optuna.{module}"), name)(**self.arguments(length), **more)
