"""The package does what is recorded."""

import pytest

from .compare import difference, same
from .recordings import RECORDINGS, SLOW, machine, path_of


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "name",
    # Studies that are refused are met with in `tests/study`, what is judged in `tests/analysis`.
    [
        pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else [])
        for name in RECORDINGS
        if not name.startswith(("refused", "judge"))
    ],
)
def test_it_does_what_is_recorded(name):
    of_machine = path_of(name).read_text().partition("\n")[0]
    if of_machine.startswith("# on ") and of_machine != machine():
        pytest.skip(f"recorded {of_machine.removeprefix('# ')}")
    found = difference(path_of(name), RECORDINGS[name]())
    assert not found, f"\n{found}"


def test_numbers_may_differ_by_rounding_and_by_nothing_else():
    assert same("a,0.1,b: 2", "a,0.10000000000001,b: 2")
    assert not same("a,0.1", "a,0.1001")
    assert not same("a 0x1.8p+1", "a 0x1.9p+1")
    assert not same("better,1", "worse,1")
