from collections.abc import Iterator

import pytest
from drawn import drawn_once


@pytest.fixture(autouse=True, scope="module")
def _figures_are_drawn_once() -> Iterator[None]:
    with drawn_once():
        yield
