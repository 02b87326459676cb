"""Patterns are checked, and take a time that is linear in what is printed."""

import signal
import time

import pytest

from ablate.base.errors import AblateError, Invalid
from ablate.external.matching import Matching, check_pattern


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("(", "no regular expression"),
        ("(a{99999999999999999999})", "no regular expression"),
        ("(" * 5000 + ")" * 5000, "no regular expression"),
        ("loss", "0 groups"),
        ("(a)(b)", "2 groups"),
    ],
)
def test_patterns_are_checked(pattern, said):
    with pytest.raises(Invalid, match=said):
        check_pattern(pattern)


@pytest.mark.fast_cases(2)
@pytest.mark.parametrize(
    ("pattern", "line"),
    [(r"(?:x+x+)+(y)", "x" * 60), (r"(?:x|x)*(y)", "x" * 60), (r"x*(y)", "x" * 3_000_000)],
)
def test_a_pattern_that_would_take_years_ends(pattern, line):
    before = signal.getsignal(signal.SIGVTALRM)
    matching = Matching({"loss": pattern}, spare=0.2)
    assert matching.last_matches("xxy") == {"loss": "y"}
    began = time.process_time()
    with pytest.raises(AblateError, match=f"{len(line):,} characters that begins 'xxxx"):
        matching.last_matches(line)
    assert time.process_time() - began < 2
    assert signal.getsignal(signal.SIGVTALRM) == before


def test_many_lines_that_each_take_long_end_as_well():
    matching = Matching({"loss": r"(?:x|x)*(y)"}, spare=0.2)
    with pytest.raises(AblateError, match="take too long"):
        [matching.last_matches("x" * 18) for _ in range(1000)]


@pytest.mark.slow
def test_much_output_is_in_time():
    matching = Matching({"loss": r"loss: (\S+)", "step": r"^step (\d+)"})
    for step in range(50_000):
        assert matching.last_matches(f"step {step}, loss: 0.5 after some words") == {
            "loss": "0.5",
            "step": str(step),
        }
    assert matching.last_matches("x" * 5_000_000 + " loss: 2 loss: 3") == {"loss": "3"}


@pytest.mark.parametrize(
    ("pattern", "lines"),
    [
        (r"loss=(\S+)", ["loss=2.71 val_loss=3.71"]),
        (r"loss=(\S+)", ["val_loss=3.71", "loss=2.71"]),
        (r"loss (\S+)", ["train/loss 1.0", "val/loss 2.0"]),
    ],
)
def test_a_pattern_that_matches_in_two_names_is_refused(pattern, lines):
    matching = Matching({"loss": pattern})
    with pytest.raises(AblateError, match="which are two numbers"):
        [matching.last_matches(line) for line in lines]


@pytest.mark.parametrize(
    ("pattern", "lines", "last"),
    [
        (r"loss=(\S+)", ["val_loss=3.71", "val_loss=3.5"], "3.5"),
        (r"\bloss=(\S+)", ["loss=2.71 val_loss=3.71"], "2.71"),
        (r"(?:^|\s)loss (\S+)", ["loss 2.7 val/loss 3.7"], "2.7"),
        (r"(\d+\.\d+)", ["v1.5", "2.5"], "2.5"),
        (r"loss (\S+)", ["12/100/loss 1.0", "13/100/loss 0.5"], "0.5"),
        (r"loss (\S+)", ["epoch 1, loss 1.0", "[epoch 2] loss 0.5"], "0.5"),
    ],
)
def test_a_pattern_that_matches_in_one_name_has_its_last_number(pattern, lines, last):
    matching = Matching({"loss": pattern})
    assert [matching.last_matches(line) for line in lines][-1] == {"loss": last}
