"""The end of what a program prints is kept in bounded memory."""

import pytest

from ablate.base.errors import AblateError
from ablate.core.log_end import LogEnd, ending_in_lines


def test_the_end_of_lines_of_megabytes_is_small():
    log_end = LogEnd()
    for _ in range(5000):
        log_end.add("x" * 100_000)
    assert sum(map(len, log_end.lines)) <= 10_000_000


def test_an_error_after_the_last_number_is_refused_and_one_before_it_is_not():
    log_end = LogEnd()
    log_end.add("MemoryError")
    with pytest.raises(AblateError, match="ran out of memory"):
        log_end.refuse_failure()
    log_end.clear()
    log_end.refuse_failure()


def test_a_program_that_ended_well_has_survived_what_it_says_it_has():
    """Its exit code is 0, so that `done` is no word of a script around it."""
    log_end = LogEnd()
    for line in ("Traceback (most recent call last):", '  File "a.py", line 3', "OSError: no upload", "done"):
        log_end.add(line)
    log_end.refuse_failure()
    assert ending_in_lines(log_end.lines, "").kind == "failed"
