"""Made evidence for each verdict and each reason (`tests/freeze/cases.py`), judged as it is recorded."""

import pytest
from freeze.compare import difference
from freeze.recordings import RECORDINGS, path_of


@pytest.mark.filterwarnings("ignore")
def test_every_case_is_judged_as_recorded():
    found = difference(path_of("judge"), RECORDINGS["judge"]())
    assert not found, f"\n{found}"
