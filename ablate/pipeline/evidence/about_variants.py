"""Statements about configs of a study, each with the variants and the task that it is about."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from ablate.base.errors import listed
from ablate.study.study import Study

_MAX_NAMES = 4
"""The most variants that a statement names."""

Subject = TypeVar("Subject", bound=Hashable)


@dataclass(frozen=True)
class Statement(Generic[Subject]):
    """A statement that holds for a task and some variants."""

    subject: Subject
    task: str
    variants: Sequence[str]
    """The names of the variants, without placebos."""
    prefix: str
    """The words before its text that name variants and task; empty where it holds for all of them."""


def statements_on(
    study: Study, subjects_of: Callable[[Mapping[str, Any]], Iterable[Subject]]
) -> list[Statement[Subject]]:
    """Returns what is stated of the configs of a study, each subject once a task."""
    judged = [variant for variant in study.variants if not variant.placebo]
    variants_of: dict[tuple[str, Subject], list[str]] = {}
    for variant in judged:
        for task in study.tasks:
            for subject in subjects_of(variant.configs[task]):
                variants_of.setdefault((task, subject), []).append(variant.name)

    statements: list[Statement[Subject]] = []
    for (task, subject), names in variants_of.items():
        where = study.on(task)
        prefix = ""
        if len(names) < len(judged):
            prefix = f"{listed(names, _MAX_NAMES)}{where}: "
        elif where:
            prefix = f"{where.strip()}, "
        statements.append(Statement(subject, task, names, prefix))
    return statements
