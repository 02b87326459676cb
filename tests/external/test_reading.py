"""Numbers that a run prints or writes: the last counts, all are the curve."""

import math

import pytest

from ablate.base.errors import AblateError, Invalid
from ablate.external.reading import Reading, check_pattern


def reading(*metrics: str, **patterns: str) -> Reading:
    return Reading([*metrics, *(name for name in patterns if name != "step")], patterns)


def test_the_last_value_counts_and_all_are_the_curve():
    found = reading(step=r"^step (\d+)", loss=r"loss (\S+)", acc=r"acc=(\S+)")
    for line in ("hello", "step 0: loss 4.5", "step 250: loss 2.5", "", "acc=0.5", "loss 2.25"):
        found.hear(line)
    assert found.last == {"loss": 2.25, "acc": 0.5}
    assert found.curves["loss"].steps.tolist() == [0, 250]
    assert found.curves["loss"].values.tolist() == [4.5, 2.25]


def test_values_without_steps_are_counted():
    found = reading(loss=r"loss: (\S+)")
    assert [found.hear(f"loss: {n}") for n in (3, 2, 1)] == [{"loss": 3.0}, {"loss": 2.0}, {"loss": 1.0}]
    assert found.curves["loss"].steps.tolist() == [1, 2, 3]


def test_what_a_function_tells_is_read_beside_what_it_prints():
    found = reading("acc", loss=r"loss (\S+)")
    told = ['ablate metrics: {"step": 10, "acc": 0.25, "other": 1}', "loss 2", 'ablate metrics: {"acc": NaN}']
    assert [found.hear(line) for line in told[:2]] == [{"acc": 0.25}, {"loss": 2.0}]
    # What it returns is no report.
    assert found.hear(told[2]) == {}
    assert math.isnan(found.last["acc"])
    assert "other" not in found.last
    with pytest.raises(AblateError, match="acc: 'high' is not a number"):
        found.hear('ablate metrics: {"acc": "high"}')


def test_files_are_read_beside_what_is_printed(tmp_path):
    (tmp_path / "all_results.json").write_text('{"eval_loss": 0.5, "name": "x", "inner": {"a": 1}}')
    (tmp_path / "eval_results.json").write_text('{"eval_loss": 0.5}')
    (tmp_path / "log.jsonl").write_text('{"step": 10, "acc": 0.25}\n\n{"step": 20, "acc": 0.75}\n')
    (tmp_path / "weights.bin").write_bytes(b"\xff\xfe")
    found = reading("eval_loss", "acc", loss=r"loss: (\S+)")
    found.hear("loss: 1")
    found.finish(tmp_path)
    assert found.last == {"loss": 1.0, "eval_loss": 0.5, "acc": 0.75}
    assert found.curves["acc"].steps.tolist() == [10, 20]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('{"loss": 2}', r"loss was reported twice: 1, and 2 in a\.jsonl"),
        ('{"loss": [2]}', r"loss: \[2\] is not a number"),
        ("{", r"a\.jsonl cannot be read as JSON"),
        ('{"a": 1}\nx', r"a\.jsonl cannot be read as JSON"),
        ('{"loss": 1}', "acc was not read: it was neither returned nor written"),
    ],
)
def test_files_that_do_not_count(tmp_path, content, said):
    (tmp_path / "a.jsonl").write_text(content)
    found = reading("acc", loss=r"loss: (\S+)")
    found.hear("loss: 1")
    with pytest.raises(AblateError, match=said):
        found.finish(tmp_path)


def test_nothing_read_and_what_is_no_number(tmp_path):
    found = reading(loss=r"^loss: (\S+)")
    with pytest.raises(AblateError, match="loss was not read: no line matches '\\^loss"):
        found.finish(tmp_path)
    assert found.last == {}
    found.hear("loss: nan")
    found.finish(tmp_path)
    assert math.isnan(found.last["loss"])
    with pytest.raises(AblateError, match="'1,5' is not a number"):
        found.hear("loss: 1,5")


@pytest.mark.parametrize(
    ("pattern", "said"), [("(", "no regular expression"), ("loss", "0 groups"), ("(a)(b)", "2 groups")]
)
def test_patterns_are_checked(pattern, said):
    with pytest.raises(Invalid, match=said):
        check_pattern(pattern)
