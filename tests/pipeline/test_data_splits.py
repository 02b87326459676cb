"""How training and validation data were divided, by the digests of the runs of the baseline."""

import pytest

from ablate.core.facts import TaskFacts
from ablate.core.record import Record
from ablate.core.trial import Cell, Trial
from ablate.pipeline.evidence.data_splits import with_splits

TASK = TaskFacts("digits", {})


def split(digests, variant="baseline"):
    """The split of runs of one variant; digests: one mapping from part to digest for each seed."""
    cells = [Cell(variant, "digits", seed, Trial(f"t{seed}", {}, seed)) for seed in range(len(digests))]
    records = {}
    for cell, data in zip(cells, digests, strict=True):
        records[cell.id] = Record(cell.id, {}, cell.seed, "completed", data=data)
    [task] = with_splits([TASK], cells, records)
    return task.split


@pytest.mark.parametrize(
    ("digests", "expected"),
    [
        ([{"train": "a", "validation": "b"}] * 3, "fixed"),
        ([{"train": f"a{seed}", "validation": "b"} for seed in range(3)], "each_seed"),
        ([{"train": "a", "validation": "b"}], "not_stated"),
        ([{"train": "a"}] * 3, "not_stated"),
        ([{"train": part, "validation": "b"} for part in "aac"], "not_stated"),
    ],
)
def test_the_split_is_told_by_the_digests_of_both_parts(digests, expected):
    assert split(digests) == expected


def test_a_split_is_that_of_the_baseline():
    shared = {"train": "a", "validation": "b"}
    assert split([shared] * 3, variant="other") == "not_stated"
