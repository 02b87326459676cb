"""No value hides another of its name: JSON, and nested objects as rows of a table."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as some

from ablate.base.errors import Invalid
from ablate.base.once import TwiceError, loads, put_once
from ablate.runs.formats.flat_objects import flat_cells

KEYS = some.sampled_from(["a", "b", "a.b", "b.a", "a.b.a"])
VALUES = some.integers(0, 9)


def test_the_first_value_of_a_name_stays():
    values = {"a": 1}
    with pytest.raises(TwiceError, match="two values have the name 'a'"):
        put_once(values, "a", 1)
    put_once(values, "b", 2)
    assert values == {"a": 1, "b": 2}


@given(pairs=some.lists(some.tuples(KEYS, VALUES)))
def test_json_is_read_as_json_does_where_no_key_stands_twice(pairs):
    text = "{" + ", ".join(f"{json.dumps(key)}: {value}" for key, value in pairs) + "}"
    if len({key for key, _ in pairs}) < len(pairs):
        with pytest.raises(TwiceError):
            loads(text)
        with pytest.raises(TwiceError):
            loads(f'[1, {{"nested": {text}}}]')
    else:
        assert loads(text) == json.loads(text)


def leaves(nested):
    return sum(map(leaves, nested.values())) if isinstance(nested, dict) else 1


@pytest.mark.slow
@given(nested=some.dictionaries(KEYS, some.recursive(VALUES, lambda below: some.dictionaries(KEYS, below))))
def test_a_row_has_as_many_cells_as_its_object_has_values(nested):
    try:
        table = flat_cells([nested], ["here"])
    except Invalid as error:
        assert "here: two values have the name" in str(error)
        return
    assert table.shape[1] == leaves(nested)
