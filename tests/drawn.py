"""Pages of equal figures, drawn once: half of the time of a run is its figures."""

import pickle
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from ablate.report import page
from ablate.report.section import Picture

_FOUND: dict[bytes, tuple[bytes, str]] = {}


@contextmanager
def drawn_once() -> Iterator[None]:
    """Inside, a figure of data that were drawn before is not drawn again; tests/report sees to its being equal."""
    drawn = page.drawn

    def once(picture: Picture) -> tuple[bytes, str]:
        key = pickle.dumps((picture.name, picture.drawing, picture.data, picture.options))
        if key not in _FOUND:
            _FOUND[key] = drawn(picture)
        return _FOUND[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(page, "drawn", once)
        yield
