"""Commas and points in numbers: what the other cells of a column and the sizes of its values say that they are."""

import pytest

from ablate.runs.number_marks import comma_readings, without_marks


def read(cells, separates=False, **others):
    columns = {"x": cells.split()} | {name: cells.split() for name, cells in others.items()}
    return comma_readings(columns, separates=separates, is_usual=True)


@pytest.mark.parametrize(
    ("cells", "others", "numbers"),
    [
        ("950 985 1.050 1.085", {}, [950, 985, 1050, 1085]),
        ("950 985 1.051 1.085", {}, [950, 985, 1051, 1085]),
        ("-950 −1.051", {}, [-950, -1051]),
        ("1.210 998 nan 1.003", {}, [1210, 998, 1003]),
        ("0 500 1.000 1.500", {"acc": "0.751 0.801"}, [0, 500, 1000, 1500]),
        ("1 100 250 1.000", {}, [1, 100, 250, 1000]),
        ("1,050 950", {}, [1050, 950]),
    ],
)
def test_sizes_that_jump_by_a_thousand_tell_marks_of_thousands(cells, others, numbers):
    found = read(cells, **others)
    assert found.by_size == ["x"]
    plain = without_marks([cell for cell in cells.split() if cell != "nan"], found.of_columns["x"])
    assert [float(cell.replace("−", "-")) for cell in plain] == numbers


@pytest.mark.parametrize("cells", ["12.345 11", "1.234 1.190", "1.051 0", "0.5 1.050 950", "1.234 950.0 1.1"])
def test_points_in_numbers_of_one_size_are_decimal_points(cells):
    found = read(cells)
    assert found.of_columns.get("x", "thousands") == "thousands"
    assert (found.by_size, found.doubtful_points) == ([], [])


def test_a_comma_that_is_a_decimal_comma_by_size():
    assert read("1,051 2").of_columns == {"x": "decimal"}
    assert read("1,051 2", separates=True).of_columns == {}
    assert read("1,000 2,000 1", separates=True).of_columns == {"x": "thousands"}


@pytest.mark.parametrize("cells", ["1.051 1.234 999", "1.234 1.191 25", "1 1.000 2.000"])
def test_sizes_that_leave_points_open_are_named(cells):
    found = read(cells)
    assert (found.of_columns, found.doubtful_points) == ({}, ["x"])


def test_points_in_a_table_with_decimal_points_and_commas():
    assert read("1.234 1.191 25", acc="0.9").doubtful_points == []
    assert read("1.125 5.250 10 20", acc="0.3000").doubtful_points == []
    assert read("1.050 950", acc="0,8").by_size == []
    assert read("1.051 1.234 950", separates=True).of_columns == {}
