"""Variants and settings of which a user's command says nothing: one command line for two variants, no placeholder."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ablate.base.errors import Problem
from ablate.base.wording import joined
from ablate.core.untold import Untold

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


def unheard_settings(
    config: Mapping[str, Any], varied: Mapping[str, Sequence[str]]
) -> Iterator[tuple[str, str]]:
    """Yields the key of a study and each setting that its stage varies, and that no placeholder of a command names."""
    command = config["workload"].get("command")
    if command is None:
        return
    for key, paths in varied.items():
        for path in paths:
            section, _, setting = path.partition(".")
            if section == SETTINGS and not _has_placeholder(str(command), setting):
                yield key, setting


def untold_twin(twin: Twin, config: Mapping[str, Any]) -> Untold:
    """Returns a twin that no code can tell apart, by the config of its command."""
    placeholders = joined([f"{{{setting}}}" for setting in twin.settings])
    command = str(config["workload"].get("command", ""))
    if all(_has_placeholder(command, setting) for setting in twin.settings):
        rule = f"has the same command as {twin.first}: {placeholders} writes both values alike"
        hint = "Give the placeholder a format that keeps them apart"
    else:
        rule = f"has the same command as {twin.first}: workload.command has no {placeholders}"
        hint = _to_add(placeholders)
    return Untold(Problem(rule, hint=hint), is_certain=True, variants=(twin.variant, twin.first))


def perhaps_untold_twin(twin: Twin) -> Untold:
    """Returns a twin that the code can tell apart if it reads the config of a trial from its environment."""
    rule = f"has the same command as {twin.first}; they differ only if the program reads $ABLATE_CONFIG"
    return Untold(Problem(rule), is_certain=False, variants=(twin.variant, twin.first))


def untold_setting(key: str, setting: str) -> Untold:
    """Returns a setting that the stage of a key varies, and that never reaches the code."""
    rule = f"varies {SETTINGS}.{setting}, which changes nothing: workload.command has no {{{setting}}}"
    return Untold(Problem(rule, (key,), hint=_to_add(f"{{{setting}}}")), is_certain=True)


def _has_placeholder(command: str, setting: str) -> bool:
    """Returns whether a command has a placeholder of a setting, or of a part of it: `{lr}`, `{lr:.2f}`, `{lr.max}`."""
    return re.search(rf"\{{{re.escape(setting)}[}}:.!\[]", command) is not None


def _to_add(placeholders: str) -> str:
    return f"Add {placeholders} to the command, or have your code read $ABLATE_CONFIG"


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
