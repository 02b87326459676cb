"""The place of each slot's part in the model section of a study."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError
from pydantic.fields import FieldInfo

from ablate.base.registry import CATALOGUE, PartConfig, Slot, StrictModel
from ablate.models.section import ModelSection

FieldPath = tuple[str, ...]  # Keys from the model section.
CANDIDATES = (8, 1, 0.5, True, {"PATH": "VALUE"})  # Values to try for a parameter that has no default.


@dataclass(frozen=True)
class Place:
    """The keys at which a model section names a slot's part, and the default part."""

    path: FieldPath
    default: str | None  # The part that a model has there unless the study names another.


def places() -> dict[str, Place]:
    """Returns slot → `Place`: the slot's shortest path from the model section, and its default part.

    Below one slot, the paths through its default part are tried before those of its other parts.
    """
    places_by_slot: dict[str, Place] = {}
    queue: deque[tuple[type[StrictModel], FieldPath]] = deque([(ModelSection, ())])
    while queue:
        config, path = queue.popleft()
        for name, field in config.model_fields.items():
            field_path = (*path, name)
            section = _section_of(field)
            if section is not None:
                queue.append((section, field_path))
            for slot in _slots_of(field):
                if slot.slot in places_by_slot:
                    continue
                default = field.default if isinstance(field.default, str) else slot.default
                places_by_slot[slot.slot] = Place(field_path, default)
                for part in _default_first(slot.slot, default):
                    queue.append((part.Config, field_path))
    return places_by_slot


def _section_of(field: FieldInfo) -> type[StrictModel] | None:
    """Returns the class of the section, or other strict model, that a field holds; None for a field of another type."""
    kind = field.annotation
    return kind if isinstance(kind, type) and issubclass(kind, StrictModel) else None


def _slots_of(field: FieldInfo) -> list[Slot]:
    """Returns the slots whose parts a field takes."""
    return [mark for mark in field.metadata if isinstance(mark, Slot)]


def _default_first(slot: str, default: str | None) -> list[Any]:
    """Returns the classes of a slot's parts, the default first, then by name."""
    names = sorted(CATALOGUE.names(slot), key=lambda name: name != default)
    return [CATALOGUE.get(slot, name) for name in names]


def settings_for(config: type[PartConfig], files: Sequence[str] = ()) -> dict[str, Any]:
    """Returns, by name, a value for each parameter that a part requires: the first candidate that the config accepts,
    or the parameter's name in capitals where the config accepts no candidate.

    Candidates are `CANDIDATES` and then `files`.
    """
    settings: dict[str, Any] = {}
    for key, field in config.model_fields.items():
        if not field.is_required():
            continue
        for value in (*CANDIDATES, *files, key.upper()):
            settings[key] = value
            if _accepts(config, settings, key):
                break
    return settings


def _accepts(config: type[PartConfig], settings: dict[str, Any], key: str) -> bool:
    """Returns whether a config's class accepts `settings[key]`, whatever is wrong or missing elsewhere."""
    try:
        config.model_validate(settings)
    except ValidationError as error:
        return all(problem["loc"][0] != key for problem in error.errors())
    return True
