"""Names of reports: the same for the same differences, safe in any file system, and no longer than it takes."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ablate.core import names

ITEMS = st.lists(st.text(min_size=1, max_size=60), min_size=1, max_size=4)


def test_a_name_says_what_differs_as_it_was_asked_for():
    assert names.beside("x", ["training.steps=50", "seeds=3"]) == "x@training.steps=50,seeds=3"
    assert names.beside("x@confirm", ["seeds=3"]) == "x@confirm,seeds=3"
    assert names.beside("x@seeds=3", ["only=a", "seed=1"]) == "x@seeds=3,only=a,seed=1"
    # Running it again from its own folder.
    assert names.beside("x@only=a,seed=1", ["only=a", "seed=1"]) == "x@only=a,seed=1"
    assert names.beside("x", []) == "x"


@pytest.mark.slow
@given(ITEMS)
def test_any_text_makes_a_file_name(differences):
    name = names.beside("x" * 100, differences)
    assert re.fullmatch(names.NAME, name)
    assert len(name) <= 100 + 1 + names.MAX_DIFFERENCE
    assert not name.endswith((".", ","))
    assert names.stem(name) == "x" * 100
    assert names.confirmed(name) is None
    assert names.written(name) in (names.stem(name), None)


def test_what_is_changed_or_cut_keeps_apart():
    pairs = [
        ("a b", "a-b"),
        ("a/b", "a\\b"),
        ("A=b", "a=b"),
        ("a,b", "a+b"),
        ("é", "è"),
        ("x" * 90, "x" * 91),
    ]
    for first, second in pairs:
        assert names.beside("x", [first]).lower() != names.beside("x", [second]).lower()
    many = [f"training.steps={i}" for i in range(20)]
    assert names.beside("x", many) != names.beside("x", [*many[:-1], "training.steps=99"])


def test_which_report_is_confirmed_and_from_which_one_differs():
    for name, confirmed, written in (
        ("x", None, None),
        ("x@seeds=3", None, "x"),
        ("x@confirm", "x", None),
        ("x@confirm,seeds=3", "x", "x@confirm"),
        ("x@seeds=3,confirm", "x@seeds=3", None),
        ("x@confirmed=1", None, "x"),
    ):
        assert (names.confirmed(name), names.written(name)) == (confirmed, written)
    assert [names.confirming(name) for name in ("x", "x@confirm", "x@seeds=3")] == [
        "x@confirm", "x@confirm", "x@seeds=3,confirm",
    ]  # fmt: skip
