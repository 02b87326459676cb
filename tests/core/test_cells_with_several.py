"""Cells that hold several of something are read as they were written."""

from ablate.core.improving_side import ImprovingSide
from ablate.core.over import scales_as_text, scales_in
from ablate.core.rows import list_as_text, list_in


def test_a_list_of_rows_is_read_as_it_was_written():
    sides = [ImprovingSide("GELU, wide", "größer"), ImprovingSide('say "x"', "b")]
    assert list_in(list_as_text(sides), ImprovingSide) == sides
    assert list_as_text([]) == ""
    assert list_in("", ImprovingSide) == []


def test_scales_are_read_as_they_were_written():
    scales = {"with blanks": 0.25, "b": 1000.0}
    assert scales_as_text(scales) == "with blanks 0.25; b 1000"
    assert scales_in(scales_as_text(scales)) == scales
    assert scales_in("") == {}
