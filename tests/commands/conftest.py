import pickle
from collections.abc import Iterator
from functools import wraps

import pytest

from ablate.report import page
from ablate.report.section import Picture


@pytest.fixture(autouse=True, scope="session")
def _figures_are_drawn_once() -> Iterator[None]:
    """Half of the time of a run is its figures; those of equal data are equal, as tests/report sees to."""
    drawn, found = page.drawn, dict[bytes, tuple[bytes, str]]()

    @wraps(drawn)
    def once(picture: Picture) -> tuple[bytes, str]:
        key = pickle.dumps((picture.name, picture.drawing, picture.data, picture.options))
        if key not in found:
            found[key] = drawn(picture)
        return found[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(page, "drawn", once)
        yield
