"""Lines of a report on runs with the same numbers."""

import pytest
from searching import PEAK_STUDY

# The peak lies in the middle of the last two values, so that they give the same numbers.
TUNED = (
    PEAK_STUDY
    + """\
variants: {wide: {model.kind: wide}}
tune: {over: {model.x: {choice: [0.1, 0.25, 0.35]}}, sampler: grid}
"""
)


@pytest.mark.slow
def test_a_runner_up_with_the_numbers_of_its_variant_is_named_at_its_setting(run):
    outcome, printed = run(TUNED)
    assert "same numbers" in printed
    assert "at model.x=0.35" in printed or "at x 0.35" in printed
    assert outcome.folder.joinpath("report.html").exists()
