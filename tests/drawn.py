"""Pages whose figures of one kind are drawn once: half of the time of a run is its figures."""

import pickle
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pandas as pd
import pytest

from ablate.report import page
from ablate.report.section import Picture

_FOUND: dict[bytes, dict[str, bytes]] = {}


@contextmanager
def drawn_once(*, whatever_the_data: bool = True) -> Iterator[None]:
    """Inside, a figure that was drawn before is not drawn again, whatever its data or where they are equal.

    tests/report sees to how figures look.
    """
    drawn = page.drawn

    def once(picture: Picture, kinds: Sequence[str]) -> dict[str, bytes]:
        given = [picture.data, *picture.options]
        if whatever_the_data:
            given = [list(one.columns) if isinstance(one, pd.DataFrame) else one for one in given]
        key = pickle.dumps((picture.name, picture.drawing, tuple(kinds), given))
        if key not in _FOUND:
            _FOUND[key] = drawn(picture, kinds)
        return _FOUND[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(page, "drawn", once)
        yield
