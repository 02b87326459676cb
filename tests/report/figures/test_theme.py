import numpy as np
import pytest
from matplotlib import rcParams

from ablate.report.figures import theme


@pytest.mark.parametrize("paper", [0, 1], ids=["light", "dark"])
def test_text_stands_out_from_its_paper(paper):
    def luminance(name):
        code = theme.PALETTE[name][paper]
        parts = [int(code[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [x / 12.92 if x <= 0.03928 else ((x + 0.055) / 1.055) ** 2.4 for x in parts]
        return float(np.dot([0.2126, 0.7152, 0.0722], linear))

    background = luminance("paper")
    marks = {mark.colour for mark in theme.MARKS.values()}
    for name in ("ink", "soft", *theme.LEVELS, *marks):
        dim, bright = sorted([luminance(name), background])
        assert (bright + 0.05) / (dim + 0.05) >= 4.5, name


def test_verdicts_differ_by_more_than_their_colour():
    for verdicts in (
        ("better", "worse", "equivalent", "inconclusive"),
        ("supported", "refuted", "inconclusive"),
    ):
        marks = [theme.MARKS[verdict] for verdict in (*verdicts, theme.EXPLORATORY)]
        assert len({mark.marker for mark in marks}) == len({mark.sign for mark in marks}) == len(marks)


def test_settings_hold_inside_alone():
    before = dict(rcParams)

    def fail():
        with theme.theme({**theme.PAGE, "font.size": 21.0}):
            assert rcParams["font.size"] == 21.0
            raise ValueError

    with pytest.raises(ValueError, match=r"^$"):
        fail()
    assert dict(rcParams) == before


def test_names_in_letters_that_no_font_here_has_are_drawn_on_the_page():
    """A reader has the fonts; a file for a paper has no others than those here, and says so."""
    with theme.theme():
        figure, ax = theme.new_axes(1.0)
        ax.set_title("日本")
        figure.draw_without_rendering()
    with pytest.warns(UserWarning, match="Glyph"), theme.theme(theme.PAPER):
        figure.draw_without_rendering()
