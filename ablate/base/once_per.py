"""What functions make of an object, kept as long as the object lives."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
_KEPT = "_made_of_it"
"""The name under which an object holds what was made of it; a copy by `dataclasses.replace` holds nothing."""


def once_per_owner(make: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Keeps what a function makes of its last argument, its owner, with the owner: asked again, it is not made again.

    The owner is immutable, and who gets a result does not change it. Arguments before it are hashable.
    """

    @functools.wraps(make)
    def kept(*arguments: Arguments.args, **named: Arguments.kwargs) -> Result:
        assert not named
        *others, owner = arguments
        results = vars(owner).setdefault(_KEPT, {})
        key = (make, *others)
        if key not in results:
            results[key] = make(*arguments, **named)
        result: Result = results[key]
        return result

    return kept
