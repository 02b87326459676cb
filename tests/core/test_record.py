"""Statuses of trials."""

import pytest

from ablate.core.record import lost_to_its_variant


@pytest.mark.parametrize(
    ("status", "reason", "is_lost"),
    [
        ("failed", "time limit of 3 s exceeded", True),
        ("failed", "OutOfMemoryError: CUDA out of memory", True),
        ("failed", "KeyError: 'lr'", False),
        ("completed", "time limit of 3 s exceeded", False),
        ("diverged", "loss nan, out of memory", False),
    ],
)
def test_only_failures_for_want_of_time_or_memory_are_outcomes(
    status: str, reason: str, is_lost: bool
) -> None:
    assert lost_to_its_variant(status, reason) is is_lost
