"""What is refused: paths, what was given there, and what is allowed."""

from collections.abc import Callable
from typing import Any

import pytest

from ablate.base.errors import NOT_GIVEN, Invalid


def refused(make: Callable[..., Any], *args: Any, **settings: Any) -> dict[str, tuple[Any, str]]:
    """Path → given and allowed of all that `make` refuses."""
    with pytest.raises(Invalid) as caught:
        make(*args, **settings)
    return {
        ".".join(map(str, p.path)): (None if p.given is NOT_GIVEN else p.given, p.allowed)
        for p in caught.value.problems
    }
