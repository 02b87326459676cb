import gc

import pytest


@pytest.fixture(autouse=True, scope="module")
def _few_objects_to_collect():
    """`multipletests` collects garbage at every call: keep what is already loaded out of that."""
    gc.freeze()
    yield
    gc.unfreeze()
