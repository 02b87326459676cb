from collections.abc import Iterator

import pytest
from drawn import drawn_once


@pytest.fixture(autouse=True, scope="module")
def _figures_are_drawn_once(request: pytest.FixtureRequest) -> Iterator[None]:
    with drawn_once(whatever_the_data=not request.module.__name__.endswith("bad_evidence")):
        yield
