"""Numbers that a run prints or writes: the last counts, all are the curve."""

import math

import pytest

from ablate.base.errors import AblateError, Invalid
from ablate.external.reading import Reading, compiled


def reading(**patterns: str) -> Reading:
    return Reading({name: compiled(pattern) for name, pattern in patterns.items()})


def test_the_last_value_counts_and_all_are_the_curve():
    found = reading(step=r"^step (\d+)", loss=r"loss (\S+)", acc=r"acc=(\S+)")
    for line in ("hello", "step 0: loss 4.5", "step 250: loss 2.5", "", "acc=0.5", "loss 2.25"):
        found.hear(line)
    assert found.last == {"loss": 2.25, "acc": 0.5}
    assert found.curves["loss"].steps.tolist() == [0, 250]
    assert found.curves["loss"].values.tolist() == [4.5, 2.25]
    assert found.lacks(["loss", "acc"]) == found.unbounded == ""


def test_values_without_steps_are_counted():
    found = reading(loss=r"loss: (\S+)")
    assert [found.hear(f"loss: {n}") for n in (3, 2, 1)] == [{"loss": 3.0}, {"loss": 2.0}, {"loss": 1.0}]
    assert found.curves["loss"].steps.tolist() == [1, 2, 3]


def test_files_are_read_beside_what_is_printed(tmp_path):
    (tmp_path / "all_results.json").write_text(
        '{"eval_loss": 0.5, "name": "x", "ok": true, "inner": {"a": 1}}'
    )
    (tmp_path / "eval_results.json").write_text('{"eval_loss": 0.5}')
    (tmp_path / "log.jsonl").write_text('{"step": 10, "acc": 0.25}\n\n{"step": 20, "acc": 0.75}\n')
    (tmp_path / "weights.bin").write_bytes(b"\xff\xfe")
    found = reading(loss=r"loss: (\S+)")
    found.hear("loss: 1")
    found.collect(tmp_path)
    assert found.last == {"loss": 1.0, "eval_loss": 0.5, "acc": 0.75}
    assert found.curves["acc"].steps.tolist() == [10, 20]


def test_a_metric_in_two_places_is_refused_unless_it_agrees(tmp_path):
    (tmp_path / "a.json").write_text('{"loss": 2}')
    found = reading(loss=r"loss: (\S+)")
    found.hear("loss: 1")
    with pytest.raises(AblateError, match=r"loss was reported twice: 1, and 2 in a\.json"):
        found.collect(tmp_path)


@pytest.mark.parametrize("content", ["{", '{"a": 1}\nx'])
def test_files_that_are_no_json_are_refused(tmp_path, content):
    (tmp_path / "a.jsonl").write_text(content)
    with pytest.raises(AblateError, match=r"a\.jsonl cannot be read as JSON"):
        Reading().collect(tmp_path)


def test_nothing_read_and_what_is_not_finite():
    found = reading(loss=r"^loss: (\S+)")
    assert "no line matches '^loss: " in found.lacks(["loss"])
    found.hear("loss: nan")
    assert math.isnan(found.last["loss"])
    assert (found.lacks(["loss"]), found.unbounded) == ("", "loss nan")
    assert "accuracy was not read: not reported; read: loss nan" in found.lacks(["accuracy"])
    with pytest.raises(AblateError, match="'1,5' is not a number"):
        found.hear("loss: 1,5")


@pytest.mark.parametrize(
    ("pattern", "said"), [("(", "no regular expression"), ("loss", "0 groups"), ("(a)(b)", "2 groups")]
)
def test_patterns_are_checked(pattern, said):
    with pytest.raises(Invalid, match=said.replace("(", "\\(")):
        compiled(pattern)
