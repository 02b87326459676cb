"""The versions of the packages that decide what a sampler suggests: others try other settings."""

from __future__ import annotations

import importlib.metadata
from typing import TYPE_CHECKING

from ablate.analysis.search_table import SearchFacts

if TYPE_CHECKING:
    from ablate.session.session import Session
    from ablate.stages.search.spec import SearchSpec

PACKAGES = ("optuna", "numpy", "scipy")


def installed_versions() -> dict[str, str]:
    """Returns package → its version."""
    return {package: importlib.metadata.version(package) for package in PACKAGES}


def say_versions_changed(session: Session, spec: SearchSpec, most: int) -> None:
    """Says what it costs that other versions suggested the settings of the report.

    Says nothing where the space was another. most: the trainings that the search may need.
    """
    from ablate.report.words import message

    reported = session.folder.reported(SearchFacts)
    if reported is None:
        return
    installed = installed_versions()
    changed: list[str] = []
    for package, version in reported.versions.items():
        if version != installed.get(package):
            changed.append(f"{package} {version}")
    if changed and reported.parameters == list(spec.space.parameters):
        current = [f"{package} {version}" for package, version in installed.items()]
        session.say(message("search.versions", changed, current, most))
