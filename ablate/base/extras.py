"""Packages that only some commands need: a core without them judges runs that exist."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager

from ablate.base.errors import AblateError

EXTRAS = {
    **dict.fromkeys(("torch", "optuna", "cmaes", "safetensors", "sklearn"), "train"),
    "mlflow": "mlflow",
    "tensorboard": "tensorboard",
}
"""The package, as it is imported → the extra of ablate's that installs it; see pyproject.toml."""


def missing(error: BaseException) -> str:
    """Returns what a failed import lacks and how to install it, as the object of `needs`; empty for another error."""
    package = (error.name or "").partition(".")[0] if isinstance(error, ModuleNotFoundError) else ""
    if package not in EXTRAS:
        return ""
    return f"{package}: pip install 'ablate[{EXTRAS[package]}]'"


def is_installed(package: str) -> bool:
    """Returns whether a package can be imported, without importing it."""
    return importlib.util.find_spec(package) is not None


def refuse_missing(package: str, what: str) -> None:
    """Raises `AblateError` where a package that something needs is not installed."""
    if not is_installed(package):
        raise AblateError(f"{what} needs {package}: pip install 'ablate[{EXTRAS[package]}]'")


@contextmanager
def needed_by(caller: str) -> Iterator[None]:
    """Turns the import of a package that is not installed into an `AblateError` of what needs it."""
    try:
        yield
    except ModuleNotFoundError as error:
        package = missing(error)
        if not package:
            raise
        raise AblateError(f"{caller} needs {package}") from None
