"""Variants and settings of which a user's command says nothing: one command for two variants, no placeholder."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ablate.base.errors import Invalid, Problem
from ablate.base.wording import joined
from ablate.core.untold import Untold
from ablate.external.given import settings_of

SETTINGS = "config"
Configs = Mapping[str, Mapping[str, Any]]
"""Variant → its config, the baseline first."""


@dataclass(frozen=True)
class Twin:
    """A variant with the command line of an earlier one."""

    variant: str
    first: str
    settings: tuple[str, ...]
    """The settings in which they differ, as placeholders of a command name them."""


def twins_of(
    configs: Configs, paths: Sequence[str], words_of: Callable[[Mapping[str, Any]], Sequence[str]]
) -> Iterator[Twin]:
    """Yields the variants with the command line of an earlier one, one for each set of settings that differ.

    paths: those that some variant changes. words_of: a config → the words of its command.
    """
    first_with: dict[str, str] = {}
    seen: set[tuple[str, ...]] = set()
    for variant, config in configs.items():
        others = {section: options for section, options in config.items() if section != SETTINGS}
        # Equal where trials get the same command, in the same environment.
        key = json.dumps([words_of(config), others], sort_keys=True)
        first = first_with.setdefault(key, variant)
        settings = tuple(_differing(config, configs[first], paths))
        if first != variant and settings not in seen:
            seen.add(settings)
            yield Twin(variant, first, settings)


def unused_settings(config: Mapping[str, Any], placeholders: Collection[str]) -> Iterator[str]:
    """Yields the settings of a config that none of the placeholders of a command names."""
    for name, value in settings_of(config[SETTINGS]):
        if not isinstance(value, dict) and name not in placeholders:
            yield name


def without(settings: Mapping[str, Any], paths: Collection[str], prefix: str = "") -> dict[str, Any]:
    """Returns settings without those at some paths, and without the sections that then are empty."""
    others: dict[str, Any] = {}
    for key, value in settings.items():
        path = f"{prefix}{key}"
        if isinstance(value, dict) and value:
            inner = without(value, paths, f"{path}.")
            if inner:
                others[key] = inner
        elif path not in paths:
            others[key] = value
    return others


def unused_setting(setting: str) -> Invalid:
    """Returns the refusal of a setting that never reaches the code."""
    rule = f"changes nothing: workload.command has no {{{setting}}}"
    hint = f"Add {{{setting}}} to the command, have your code read $ABLATE_CONFIG, or remove the key"
    return Invalid(f"{SETTINGS}.{setting}", rule, hint=hint)


def untold_twin(twin: Twin) -> Untold:
    """Returns a twin that no code can tell apart, since placeholders write different values alike."""
    placeholders = joined([f"{{{setting}}}" for setting in twin.settings])
    rule = f"has the same command as {twin.first}: {placeholders} writes both values alike"
    hint = "Give the placeholder a format that keeps them apart"
    return Untold(Problem(rule, hint=hint), is_certain=True, variants=(twin.variant, twin.first))


def perhaps_untold_twin(twin: Twin) -> Untold:
    """Returns a twin that the code can tell apart if it reads the config of a trial from its environment."""
    rule = f"has the same command as {twin.first}; they differ only if the program reads $ABLATE_CONFIG"
    return Untold(Problem(rule), is_certain=False, variants=(twin.variant, twin.first))


def _differing(config: Mapping[str, Any], first: Mapping[str, Any], paths: Sequence[str]) -> Iterator[str]:
    """Yields the settings in which two configs differ, among those at some paths."""
    for path in paths:
        section, _, setting = path.partition(".")
        if section == SETTINGS and _value(config[SETTINGS], setting) != _value(first[SETTINGS], setting):
            yield setting


def _value(settings: Mapping[str, Any], setting: str) -> Any:
    """Returns the value of a setting by its dotted name; None where there is none."""
    value: Any = settings
    for key in setting.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    return value
