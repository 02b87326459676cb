"""The variants of a study as a report judged them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from pydantic import ConfigDict, JsonValue

from ablate.base.kept import STRICT


@dataclass(frozen=True)
class JudgedVariant:
    """A variant as it was judged."""

    __pydantic_config__: ClassVar[ConfigDict] = STRICT

    name: str
    configs: list[dict[str, JsonValue]]  # One for each task of the study file, in its order.
    patches: dict[str, JsonValue]
    at: list[str | int]
    placebo: bool
    tuned: dict[str, dict[str, str]]
    # Not known of older folders.
    by_seed: dict[str, list[dict[str, JsonValue]]] = field(default_factory=dict)


@dataclass(frozen=True)
class JudgedVariants:
    """The variants as they were judged, and who chose them."""

    __pydantic_config__: ClassVar[ConfigDict] = STRICT

    by: str  # `design`, or as in `Selection`.
    paths: list[str]
    variants: list[JudgedVariant]
