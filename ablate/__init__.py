"""Paired ablation studies of sequence models: `ablate.stages.run("study.yaml")`, `ablate.load("results/x")`.

A plugin takes `register`, `PartConfig` and `Invalid` from here, and the base class of a slot from the slot's module.
"""

from typing import TYPE_CHECKING, Any

from ablate.base.errors import Invalid
from ablate.stages.run import Options, Results, load, run

if TYPE_CHECKING:
    from ablate.base.registry import PartConfig, register

__all__ = ["Invalid", "Options", "PartConfig", "Results", "load", "register", "run"]


def __getattr__(name: str) -> Any:
    """The names for plugins; their module imports pydantic, which `ablate --help` does not need."""
    if name not in ("PartConfig", "register"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from ablate.base import registry

    return getattr(registry, name)
