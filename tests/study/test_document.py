import os
from pathlib import Path

import pytest
from harness import problems

from ablate.base.errors import StudyError
from ablate.study.document import MAX_BYTES, Document, read_document
from ablate.study.plain_yaml import MAX_DEPTH, MAX_NODES, MAX_PROBLEMS, parse_value


def test_scalars_are_those_of_yaml_1_2(write):
    data = read_document(
        write("a: 1e-4\nb: off\nc: 3\nd: '3'\ne: true\nf: ~\ng: 0o17\nh: 2020-01-01\ni: 1.5\nj: yes\n")
    ).data
    assert data == {
        "a": 1e-4, "b": "off", "c": 3, "d": "3", "e": True, "f": None,
        "g": 15, "h": "2020-01-01", "i": 1.5, "j": "yes",
    }  # fmt: skip


def test_text_of_any_language_is_read(write):
    text = "שלום, نص, e\u0301, 👩\u200d👩\u200d👧, \u202eabc, tab\there"
    assert read_document(write(f'a: "{text}"\n')).data == {"a": text}
    assert parse_value(f'"{text}"') == text


LAUGHS = "a: &a [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n" + "".join(
    f"{new}: &{new} [{', '.join([f'*{old}'] * 10)}]\n"
    for old, new in zip("abcdefgh", "bcdefghi", strict=True)
)
CHAIN = "a0: &a0 1\n" + "".join(f"a{i}: &a{i} [*a{i - 1}]\n" for i in range(1, 900))


@pytest.mark.fast_cases(2)
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            LAUGHS,
            "5: must have at most 20,000 keys and values; those of an alias count each time that it is used",
        ),
        ("a: [" + "1, " * MAX_NODES + "1]\n", "1: must have at most 20,000 keys and values"),
        (CHAIN, "41: must be YAML: is nested too deeply; allowed: 40 levels"),
        ("a: " + "[" * (MAX_DEPTH + 1), "1: must be YAML: is nested too deeply; allowed: 40 levels"),
        ("a: 1\nb: &b {x: *b}\n", "2: must be YAML: is nested too deeply; allowed: 40 levels"),
        ("!foo\na: 1\n", "1: has a YAML tag, which a study cannot use; given '!foo'"),
    ],
)
def test_what_a_file_holds_is_counted_before_it_is_built(write, text, expected):
    path = write(text)
    with pytest.raises(StudyError) as caught:
        read_document(path)
    assert f"study.yaml:{expected}" in str(caught.value)
    value = "{" + text.replace("\n", ", ") + "}" if text in (LAUGHS, CHAIN) else text
    with pytest.raises(ValueError, match=r"keys and values|nested too deeply|YAML tag"):
        parse_value(value)


@pytest.mark.slow
def test_what_is_within_the_limits_is_read(write):
    deep = "[" * (MAX_DEPTH - 2) + "1" + "]" * (MAX_DEPTH - 2)
    assert str(read_document(write(f"a: {deep}\n")).data["a"]) == deep
    many = read_document(write("a: &a [1, 2]\nb: [" + "*a, " * 5000 + "]\n"))
    assert many.data["b"] == [[1, 2]] * 5000


@pytest.mark.parametrize("kind", ["pipe", "device", "large"])
def test_what_is_no_plain_file_of_bounded_size(tmp_path, kind):
    path = tmp_path / "study.yaml"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        path = Path("/dev/zero")
    else:
        with path.open("wb") as file:
            file.truncate(MAX_BYTES + 1)
    expected = (
        "too large" if kind == "large" else "is a pipe, a socket or a device, not a file; name a study file"
    )
    with pytest.raises(StudyError, match=expected):
        read_document(path)


def test_a_name_that_no_file_can_have(tmp_path):
    for name in ("a\0b", "n" * 5000, "\ud800"):
        with pytest.raises(StudyError, match=r"cannot be|does not exist"):
            read_document(tmp_path / name)


def test_problems_end_when_there_are_too_many():
    document = Document("study.yaml")
    for index in range(MAX_PROBLEMS):
        document.refuse((f"key{index}",), "unknown key")
    with pytest.raises(StudyError) as caught:
        document.refuse(("another",), "unknown key")
    assert len(caught.value.problems) == MAX_PROBLEMS + 1
    assert "study.yaml: has more problems than these first 100" in str(caught.value)


def test_an_unknown_key_hides_no_other_mistake(write):
    text = """
name: several
seed: 3
task: {name: recall, vocab: 3}
model: {mixer: {heads: 3}}
factors: {model.norm: [layer]}
"""
    found = "\n".join(problems(write(text)))
    for part in (
        "line 3: seed: unknown key",
        "Did you mean 'seeds'?",
        "line 4: task.vocab_size: must have",
        "line 5: model.mixer.num_heads: must divide",
        "line 6: factors.model.norm: contains only",
    ):
        assert part in found
