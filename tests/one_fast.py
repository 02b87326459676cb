"""Cases of which `make test` runs the first few, and `make test-all` all."""

from collections.abc import Iterable
from typing import Any

import pytest


def one_fast(cases: Iterable[Any], fast: int = 1) -> list[Any]:
    """Returns the cases of a parametrised test; all but the first `fast` ones are slow."""
    marked: list[Any] = []
    for place, case in enumerate(cases):
        values = case if isinstance(case, tuple) else (case,)
        marked.append(case if place < fast else pytest.param(*values, marks=pytest.mark.slow))
    return marked
