"""A small model around each part: its place in the model."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from pydantic import ValidationError

from ablate.base.registry import CATALOGUE, PartConfig, Slot, StrictModel
from ablate.core.signature import Signature
from ablate.core.trial import merged
from ablate.models.section import ModelSection

SECTION: Mapping[str, Any] = {"d_model": 64, "num_layers": 1}
"The reference size; the other settings are the defaults of `model:`."
SIGNATURE = Signature(seq_len=128, num_outputs=16, vocab_size=16)
CANDIDATES = (8, 1, 0.5, True)
"Values to try for a parameter that has no default."


@dataclass(frozen=True)
class Place:
    """The place of a slot's parts in a model."""

    path: tuple[str, ...]
    "From the model section."
    hosts: tuple[str | None, ...]
    "The parts that the path leads through, one before each further step; None for a plain section."
    default: str | None
    "The part that a model has there unless the study names another."


def places() -> dict[str, Place]:
    """Each slot of a model with its place nearest to the section, below default parts where possible."""
    found: dict[str, Place] = {}
    queue: deque[tuple[type[StrictModel], tuple[str, ...], tuple[str | None, ...]]] = deque(
        [(ModelSection, (), ())]
    )
    while queue:
        config, path, hosts = queue.popleft()
        for name, field in config.model_fields.items():
            if isinstance(field.annotation, type) and issubclass(field.annotation, StrictModel):
                queue.append((field.annotation, (*path, name), (*hosts, None)))
            for mark in (m for m in field.metadata if isinstance(m, Slot)):
                if mark.slot in found:
                    continue
                default = field.default if isinstance(field.default, str) else mark.default
                found[mark.slot] = Place((*path, name), hosts, default)
                for part in sorted(CATALOGUE.names(mark.slot), key=lambda part: part != default):
                    below: Any = CATALOGUE.get(mark.slot, part)
                    queue.append((below.Config, (*path, name), (*hosts, part)))
    return found


def settings_for(config: type[PartConfig]) -> dict[str, Any]:
    """A value for each parameter that has no default, the first candidate that its type accepts."""
    settings: dict[str, Any] = {}
    for name in (name for name, field in config.model_fields.items() if field.is_required()):
        for settings[name] in CANDIDATES:
            try:
                config.model_validate(settings)
                break
            except ValidationError as error:
                if all(problem["loc"][0] != name for problem in error.errors()):
                    break
    return settings


def section_with(slot: str, name: str, **model: Any) -> ModelSection:
    """A model section with this part in its place; `model` is what else the section says.

    `model` may say more about the parts around it, as a mapping that does not name them.
    """
    place = places()[slot]
    part: Any = CATALOGUE.get(slot, name)
    value: Any = {"name": name} | settings_for(part.Config)
    for step, host in zip(reversed(place.path), (*reversed(place.hosts), None), strict=True):
        value = {step: value}
        if host is not None:
            value["name"] = host
    return ModelSection.model_validate({**SECTION, **merged(model, value)})


def signature_for(section: ModelSection, signature: Signature = SIGNATURE) -> Signature:
    """`signature`, with a source of the same kind where the model reads one."""
    return replace(signature, source=signature) if section.topology.part.reads_source else signature
