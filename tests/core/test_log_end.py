"""The end of what a program prints is kept in bounded memory."""

import pytest

from ablate.base.errors import AblateError
from ablate.core.log_end import LogEnd


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
