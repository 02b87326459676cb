"""Studies that are refused: each problem with its place, the rule, what was given, what is allowed, and the hint.

The studies are those of `tests/freeze/refused.jsonl`, and what is said of each is recorded beside it.
"""

import pytest
from freeze.compare import difference
from freeze.recordings import RECORDINGS, path_of


@pytest.mark.parametrize("name", ["refused", "refused-models"])
def test_every_problem_is_the_recorded_one(name: str) -> None:
    found = difference(path_of(name), RECORDINGS[name]())
    assert not found, f"\n{found}"
