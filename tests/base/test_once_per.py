"""What is made once of an object is held by it, and by no copy."""

import copy
import pickle
from dataclasses import dataclass, replace

import numpy as np
from made_evidence import study

from ablate.analysis.compare import compare
from ablate.base.once_per import once_per_owner


@dataclass(frozen=True)
class Owner:
    """An object of which something is made."""

    number: int


made = []


@once_per_owner
def doubled(owner):
    made.append(owner.number)
    return 2 * owner.number


def test_it_is_made_once_and_again_of_a_copy():
    made.clear()
    owner = Owner(3)
    assert [doubled(owner), doubled(owner)] == [6, 6]
    assert made == [3]
    for copied in (pickle.loads(pickle.dumps(owner)), copy.deepcopy(owner), replace(owner)):
        assert copied == owner
        assert doubled(copied) == 6
    assert made == [3, 3, 3, 3]


def test_evidence_that_was_judged_can_be_sent_to_another_process():
    evidence = study({"baseline": np.arange(5.0), "a": np.arange(5.0) ** 2})
    table = compare(evidence)
    again = pickle.loads(pickle.dumps(evidence))
    assert compare(again).equals(table)
