import re

import pytest

from ablate.report.figures.saving import inlined, saved
from ablate.report.figures.theme import PAPER, new_axes, theme


def plotted():
    figure, ax = new_axes(1.0)
    ax.plot([0, 1], [0, 1], "o-")
    figure.text(0.1, 0.1, "a < b & c")
    return figure


def test_an_svg_in_a_page_keeps_what_is_seen_and_shares_no_identifier():
    with theme():
        figure = plotted()
        first, second = (inlined(saved(figure, name)["svg"].decode()) for name in ("x", "y"))
    assert first.startswith("<svg")
    assert "a &lt; b &amp; c" in first
    identifiers = [set(re.findall(r'\sid="([^"]*)"', made)) for made in (first, second)]
    assert identifiers[0]
    assert not identifiers[0] & identifiers[1]
    assert set(re.findall(r'(?:href="#|url\(#)([^")]+)', first)) == identifiers[0]
    assert "font-family" not in first, "that of the page"


@pytest.mark.slow
def test_files_of_a_paper_have_their_letters_inside_and_no_date():
    with theme(PAPER):
        files = saved(plotted(), "x", ("pdf", "svg"))
        again = saved(plotted(), "x", ("pdf", "svg"))
    assert files == again
    assert b"/FontFile2" in files["pdf"]
    assert b"CreationDate" not in files["pdf"]
    assert b"<text" not in files["svg"]
    assert b"<dc:date>" not in files["svg"]


def test_coordinates_have_two_decimals_and_text_its_own():
    with theme():
        figure = plotted()
        figure.text(0.2, 0.2, "0.12345")
        source = saved(figure, "x")["svg"].decode()
    coordinates = " ".join(re.findall(r' (?:d|x|y)="([^"]*)"', source))
    assert re.search(r"\d\.\d\d", coordinates)
    assert not re.search(r"\d\.\d{3}", coordinates)
    assert ">0.12345<" in source


def test_a_file_has_no_indents_and_no_turn_but_of_words_that_are_turned():
    with theme():
        figure = plotted()
        figure.text(0.2, 0.2, "level")
        figure.text(0.4, 0.2, "upright", rotation=90)
        source = saved(figure, "x")["svg"].decode()
    assert "\n " not in source
    (level,) = re.findall(r"<text [^>]*>level<", source)
    (upright,) = re.findall(r"<text [^>]*>upright<", source)
    assert "rotate" not in level
    assert "rotate(-90)" in upright
