"""Results of functions of one object, kept as long as the object lives."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
_KEPT = "_made_of_it"
"""The name under which an object holds what was made of it; a copy by `dataclasses.replace` holds nothing."""


class _Results(dict[Any, Any]):
    """The results that an object holds: left out of what is pickled or copied of it, since each can be made again."""

    def __reduce__(self) -> tuple[type[_Results], tuple[()]]:
        return (_Results, ())


def once_per_owner(make: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Makes a function keep each result with its last argument, its owner, so that it computes it once.

    The owner is immutable and has a `__dict__`. Arguments are positional, and those before the owner hashable. All who
    ask share the result, and do not change it.
    """

    @functools.wraps(make)
    def kept(*arguments: Arguments.args, **named: Arguments.kwargs) -> Result:
        assert not named
        *others, owner = arguments
        results = vars(owner).setdefault(_KEPT, _Results())
        key = (make, *others)
        if key not in results:
            results[key] = make(*arguments, **named)
        result: Result = results[key]
        return result

    return kept
