"""Each part's place in a model."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from ablate.base.registry import CATALOGUE, PartConfig, Slot, StrictModel
from ablate.models.section import ModelSection

CANDIDATES = (8, 1, 0.5, True, {"PATH": "VALUE"})  # Values to try for a parameter that has no default.


@dataclass(frozen=True)
class Place:
    """The place of a slot's parts in a model."""

    path: tuple[str, ...]  # From the model section.
    default: str | None  # The part that a model has there unless the study names another.


def places() -> dict[str, Place]:
    """Each slot of a model with its place nearest to the section, below default parts where possible."""
    found: dict[str, Place] = {}
    queue: deque[tuple[type[StrictModel], tuple[str, ...]]] = deque([(ModelSection, ())])
    while queue:
        config, path = queue.popleft()
        for name, field in config.model_fields.items():
            if isinstance(field.annotation, type) and issubclass(field.annotation, StrictModel):
                queue.append((field.annotation, (*path, name)))
            for mark in (m for m in field.metadata if isinstance(m, Slot) and m.slot not in found):
                default = field.default if isinstance(field.default, str) else mark.default
                found[mark.slot] = Place((*path, name), default)
                for part in sorted(CATALOGUE.names(mark.slot), key=lambda part: part != default):
                    below: Any = CATALOGUE.get(mark.slot, part)
                    queue.append((below.Config, (*path, name)))
    return found


def settings_for(config: type[PartConfig], files: Sequence[str] = ()) -> dict[str, Any]:
    """A value for each parameter without a default: the first candidate, or of `files`, that its type accepts.

    Where there is none, its name stands for it.
    """
    settings: dict[str, Any] = {}
    for key in (key for key, field in config.model_fields.items() if field.is_required()):
        candidates = *CANDIDATES, *files, key.upper()
        for settings[key] in candidates:
            try:
                config.model_validate(settings)
                break
            except ValidationError as error:
                if all(problem["loc"][0] != key for problem in error.errors()):
                    break
    return settings
