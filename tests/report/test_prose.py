from __future__ import annotations

from ablate.report.section import Items, Text
from ablate.report.sections.runs import prose


def test_lines_of_a_paragraph_are_joined_and_blank_lines_part_paragraphs() -> None:
    assert prose("one line\nand its end\n  \n\nanother\n") == [Text("one line and its end"), Text("another")]
    assert prose(" \n") == []


def test_a_sentence_that_ends_well_before_the_others_ends_its_paragraph() -> None:
    long = "a line that goes on to the edge of the file,"
    found = prose(f"{long}\nand ends.\n{long}\nno end\nhere.")
    assert found == [Text(f"{long} and ends."), Text(f"{long} no end here.")]


def test_lists_stay_lists_with_items_of_several_lines() -> None:
    found = prose("First:\n- a\n  goes on\n* b\n\nThen\nall")
    assert found == [
        Text("First:"),
        Items(["a goes on", "b"]),
        Text("Then all"),
    ]


def test_a_line_that_happens_to_begin_with_a_number_is_no_list() -> None:
    assert prose("seeds 8 to\n15. Both times −\n−.5 less") == [Text("seeds 8 to 15. Both times − −.5 less")]
