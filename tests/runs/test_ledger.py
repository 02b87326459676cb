"""Earlier analyses of the same runs: how many tests they are."""

from dataclasses import replace

from ablate.runs.content import MOST_KEPT
from ablate.runs.looks.ledger import Analysis, earlier_calls

MANY = [f"{place:016x}" for place in range(MOST_KEPT)]
FEW = MANY[:5]


def analysis(runs, num_runs, judged):
    return Analysis("", "", "runs.csv", runs, num_runs, {"metric": "acc"}, [], judged=judged, deciding={})


def test_more_rows_are_another_test_however_many_digests_are_kept():
    for runs, more in ((FEW, MANY[:6]), (MANY, MANY)):
        now = analysis(runs, len(runs), "a")
        later = analysis(more, len(runs) + 1, "b")
        assert earlier_calls(later, [now]).level == 0.1


def test_the_same_call_on_the_same_numbers_is_no_other_look():
    now = analysis(FEW, 5, "a")
    assert not earlier_calls(now, [replace(now, source="elsewhere.csv")]).looks


def test_other_ends_of_the_same_rows_are_another_test():
    now = analysis(FEW, 5, "a")
    (look,) = earlier_calls(now, [replace(now, judged="b")]).looks
    assert look.differs == ["other ends of runs"]
    assert earlier_calls(now, [replace(now, judged="b")]).level == 0.1
