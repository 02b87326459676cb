"""Pages whose figures are blank: drawing is half of the time of a report, and tests/report sees to how figures look."""

import base64
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest

from ablate.report import page
from ablate.report.section import Picture

BLANK = {
    "svg": b'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"></svg>',
    "png": base64.b64decode(
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGP4DwABAQEAsTj2FAAAAABJRU5ErkJggg=="
    ),
}
"""A picture of one point, by the kind of its file."""


@contextmanager
def undrawn() -> Iterator[None]:
    """Inside, each figure of a page is blank."""

    def blank(_: Picture, kinds: Sequence[str]) -> dict[str, bytes]:
        return {kind: BLANK[kind] for kind in kinds}

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(page, "drawn", blank)
        yield
