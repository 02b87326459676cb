from collections.abc import Callable
from pathlib import Path

from ablate.study.document import read_document


def test_scalars_are_those_of_yaml_1_2(write: Callable[..., Path]) -> None:
    data = read_document(
        write(
            "a: 1e-4\nb: off\nc: 3\nd: '3'\ne: true\nf: ~\ng: 0o17\nh: 2020-01-01\ni: 1.5\nj: yes\nk: !x y\n"
        )
    ).data
    assert data == {
        "a": 1e-4, "b": "off", "c": 3, "d": "3", "e": True, "f": None,
        "g": 15, "h": "2020-01-01", "i": 1.5, "j": "yes", "k": "y",
    }  # fmt: skip


def test_every_node_has_its_line(write: Callable[..., Path]) -> None:
    document = read_document(write("a: 1\nb:\n  - x\n  - {c: 2,\n     d: 3}\n"))
    assert [document.line(p) for p in [("a",), ("b", 0), ("b", 1, "c"), ("b", 1, "d")]] == [1, 3, 4, 5]
    assert document.line(("b", 1, "gone", "deeper")) == 4


def test_a_duplicate_key_keeps_the_first_and_is_a_problem(write: Callable[..., Path]) -> None:
    document = read_document(write("a: 1\nb: 2\na: 3\n"))
    assert document.data == {"a": 1, "b": 2}
    assert [(p.line, p.rule) for p in document.problems] == [(3, "duplicate key, first defined on line 1")]


def test_anchors_are_followed(write: Callable[..., Path]) -> None:
    assert read_document(write("a: &x {b: 1}\nc: *x\n")).data == {"a": {"b": 1}, "c": {"b": 1}}
