"""What of a run counts, by how it ended."""

from typing import get_args

import pytest

from ablate.core.ending import Ending, EndingKind, ending_of_error

COUNTS = {"completed": "its number", "unknown": "its number", "diverged": "the floor"}


@pytest.mark.parametrize("kind", get_args(EndingKind))
def test_nothing_counts_of_a_run_that_did_not_end_well(kind):
    ending = Ending(kind)
    assert ending.what_counts == COUNTS.get(kind, "nothing")
    assert ending.leaves_out_its_pair == (kind in ("failed", "stopped", "running"))


def test_a_run_that_diverged_is_a_result_and_one_that_lacked_memory_may_be_repeated():
    assert not Ending("diverged").is_replaceable
    assert Ending("diverged", "ran out of memory").is_replaceable
    assert Ending("pruned").is_replaceable
    assert not Ending("completed").is_replaceable


def test_a_run_that_ended_well_without_a_number_keeps_its_comparison_open():
    ending = Ending("completed", lacks_number=True)
    assert ending.what_counts == "nothing"
    assert not ending.leaves_out_its_pair


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("loss is NaN", "diverged"),
        ("ValueError: The loss returned in `training_step` is nan", "diverged"),
        ("FloatingPointError: Loss became infinite or NaN at iteration=3", "diverged"),
        ("NaN in gradients of layer 3", "diverged"),
        ("loss = -inf", "diverged"),
        ("ValueError: Input X contains NaN", "failed"),
        ("ValueError: no loss named info", "failed"),
        ("KeyError: 'loss'", "failed"),
    ],
)
def test_a_training_whose_loss_is_no_number_has_diverged(text, kind):
    assert ending_of_error(text, "train.log").kind == kind
