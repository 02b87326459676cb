import gc
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True, scope="module")
def _few_objects_to_collect() -> Iterator[None]:
    """`multipletests` collects garbage at every call: keep what is already loaded out of that."""
    gc.freeze()
    yield
    gc.unfreeze()
