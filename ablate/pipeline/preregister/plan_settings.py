"""The settings of two plans of a study, as far as they train its baseline in the same way."""

from collections.abc import Mapping, Sequence
from typing import Any

from ablate.core.dated_plan import DatedPlan, trains_nothing
from ablate.study.patch import has_path

_METRICS = "metrics."
"""The beginning of the paths of the metrics of a user's own code, which train nothing."""


def trains_baseline_alike(earlier: DatedPlan, plan: DatedPlan, given: Mapping[str, Any]) -> bool:
    """Returns whether two plans train their baseline in the same way; see `changed_paths`."""
    changed = changed_paths(earlier, plan, given)
    return all(trains_nothing(path) or path.startswith(_METRICS) for path in changed)


def changed_paths(first: DatedPlan, plan: DatedPlan, given: Mapping[str, Any]) -> list[str]:
    """Returns the paths of settings that have changed; of a part that was replaced, its name alone.

    A path that the first plan lacks is not a change where the study file does not give it either: a later version of
    this package has added it with its default. given: the study file; empty where it is not at hand.
    """
    changed: list[str] = []
    for path in {**first.settings, **plan.settings}:
        if first.settings.get(path) == plan.settings.get(path):
            continue
        if path in first.settings or has_path(given, path):
            changed.append(path)
    parts = [path.removesuffix("name") for path in changed if path.endswith(".name")]
    return [path for path in changed if not _is_below(path, parts)]


def _is_below(path: str, parts: Sequence[str]) -> bool:
    """Returns whether a path leads to a parameter of one of these parts, other than its name."""
    return any(path.startswith(part) and path != f"{part}name" for part in parts)
