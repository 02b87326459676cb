"""Variants that a user's command cannot tell apart: one command line, and nothing else that says which is which."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ablate.base.errors import Problem
from ablate.base.wording import joined
from ablate.external.workload import External
from ablate.study.checks import Draft
from ablate.study.designs import Config, Design, Variant
from ablate.study.expand import report_at
from ablate.study.patch import has_path, key_of, value_at

SETTINGS = "config"


@dataclass(frozen=True)
class Twin:
    """A variant with the command line of an earlier one."""

    variant: Variant
    first: Variant
    # The settings in which they differ, as placeholders of a command name them.
    settings: tuple[str, ...]


def twins_of(design: Design, workload: External) -> Iterator[Twin]:
    """Yields the variants with the command line of an earlier one, one for each set of settings that differ."""
    first_with: dict[str, Variant] = {}
    seen: set[tuple[str, ...]] = set()
    for variant in design.variants:
        if variant.placebo:
            continue
        first = first_with.setdefault(_key(variant.configs[0], workload), variant)
        settings = tuple(_differing(variant, first, design))
        if first is not variant and settings not in seen:
            seen.add(settings)
            yield Twin(variant, first, settings)


def check_told_apart(draft: Draft) -> None:
    """Refuses variants that the user's code cannot tell apart, and settings of searches that never reach it.

    Code that may read the config from its environment passes: a file of it says so, or it is not in the study's folder.
    """
    workload = draft.workload
    baseline = draft.design.variants[0].configs[0]
    if not isinstance(workload, External):
        return
    twins = [*twins_of(draft.design, workload)]
    unheard = [*_unheard(draft, baseline)]
    if not (twins or unheard) or workload.may_read_config(baseline):
        return
    for twin in twins:
        problem = _problem(twin, twin.variant.configs[0])
        report_at([problem], twin.variant.patches, twin.variant.at, draft.document)
    for key, setting in unheard:
        rule = f"varies {SETTINGS}.{setting}, which changes nothing: workload.command has no {{{setting}}}"
        draft.document.refuse((key,), rule, hint=_to_add(f"{{{setting}}}"))


def _unheard(draft: Draft, baseline: Config) -> Iterator[tuple[str, str]]:
    """Yields the key of a study and each setting that its stage varies, and that no placeholder of a command names."""
    command = baseline["workload"].get("command")
    if command is None:
        return
    for key, paths in draft.outline.varied_paths.items():
        for path in paths:
            section, _, setting = path.partition(".")
            if section == SETTINGS and not _has_placeholder(str(command), setting):
                yield key, setting


def _has_placeholder(command: str, setting: str) -> bool:
    """Returns whether a command has a placeholder of a setting, or of a part of it: `{lr}`, `{lr:.2f}`, `{lr.max}`."""
    return re.search(rf"\{{{re.escape(setting)}[}}:.!\[]", command) is not None


def _to_add(placeholders: str) -> str:
    return f"Add {placeholders} to the command, or have your code read $ABLATE_CONFIG"


def _key(config: Config, workload: External) -> str:
    """Returns a text that two configs share where trials get the same command, in the same environment."""
    others = {section: options for section, options in config.items() if section != SETTINGS}
    return key_of([workload.words(config, 0), others])


def _differing(variant: Variant, first: Variant, design: Design) -> Iterator[str]:
    for path in design.paths:
        section, _, setting = path.partition(".")
        if section == SETTINGS and _value(variant, path) != _value(first, path):
            yield setting


def _value(variant: Variant, path: str) -> Any:
    config = variant.configs[0]
    return value_at(config, path) if has_path(config, path) else None


def _problem(twin: Twin, config: Config) -> Problem:
    placeholders = [f"{{{setting}}}" for setting in twin.settings]
    named = joined(placeholders)
    command = str(config["workload"].get("command", ""))
    missing = [setting for setting in twin.settings if not _has_placeholder(command, setting)]
    if not missing:
        rule = f"has the same command as {twin.first.name}: {named} writes both values alike"
        return Problem(rule, hint="Give the placeholder a format that keeps them apart")
    rule = f"has the same command as {twin.first.name}: workload.command has no {named}"
    return Problem(rule, hint=_to_add(named))
