"""What the options of `ablate analyse` are made of: words that they take, and readers of what is given for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Number

from ablate.base.errors import Invalid, listed, nearest
from ablate.core.metric import Direction
from ablate.session.option import are_texts, as_texts, pairs_by_name, pairs_in

ROLES = ("variant", "task", "seed", "step", "example", "source", "status")
"""The roles that a column may have."""
ROLE_OF_WORD = {"condition": "task"}
"""Another word of the call for a role → the role: tasks are conditions, and tables of a report have them as tasks."""
MADE_WITH = ("evaluation", "data", "machine", "commit")
"""The names of things that the runs may have been made with."""
DIRECTIONS = ("max", "min")


def columns_by_role(
    given: Mapping[str, str | Sequence[str]] | Sequence[tuple[str, str]],
) -> dict[str, list[str]]:
    """Returns role → its columns. Raises `Invalid` for what is no mapping of roles to names of columns."""
    columns: dict[str, list[str]] = {}
    words = [*ROLES, *ROLE_OF_WORD]
    for word, names in pairs_in(given, "column"):
        role = ROLE_OF_WORD.get(word, word)
        if role not in ROLES:
            raise Invalid("column", "has no role of this name", role, listed(words), nearest(role, words))
        if not are_texts(as_texts(names)):
            raise Invalid("column", f"must name the column of {role} by its text", names)
        columns.setdefault(role, []).extend(as_texts(names))
    return columns


def directions_by_metric(
    given: Mapping[str, Direction] | Sequence[tuple[str, Direction]],
) -> dict[str, Direction]:
    """Returns metric → its direction. Raises `Invalid`."""
    directions = pairs_by_name("--also", "must name each metric once")(given)
    for direction in directions.values():
        if direction not in DIRECTIONS:
            raise Invalid("direction", "must be one of these", direction, listed(DIRECTIONS))
    return directions


def values_made_with(given: Mapping[str, str] | Sequence[tuple[str, str]]) -> dict[str, str]:
    """Returns what the runs were made with, by its name. Raises `Invalid`."""
    made_with = pairs_by_name("--made-with", "must say each once")(given)
    for name in made_with:
        if name not in MADE_WITH:
            raise Invalid(
                "made_with", "has no name of these", name, listed(MADE_WITH), nearest(name, MADE_WITH)
            )
    return made_with


def patterns_by_name(given: Mapping[str, str] | Sequence[str]) -> dict[str, str]:
    """Returns name → pattern, of a mapping or of texts `NAME=PATTERN`. Raises `Invalid` for a name that is repeated."""
    by_name = pairs_by_name("--read", "must give each name once")
    if not are_texts(given):
        return by_name(given)
    pairs: list[tuple[str, str]] = []
    for text in given:
        name, sign, pattern = text.partition("=")
        if not (name and sign and pattern):
            hint = "For example: --read 'loss=loss: ([0-9.]+)'"
            raise Invalid("--read", "must be NAME=PATTERN", text, hint=hint)
        pairs.append((name, pattern))
    return by_name(pairs)


def column_name(given: object) -> object:
    """Returns the name of a column as text, also where it is a number; what is neither is left to be refused."""
    is_number = isinstance(given, Number) and not isinstance(given, bool)
    return str(given) if is_number else given


def column_name_if_any(given: object) -> object:
    """Returns the name of a column as text, empty for None; what is no name is left to be refused."""
    return "" if given is None else column_name(given)
