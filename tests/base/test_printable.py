import unicodedata

import pytest

from ablate.base.printable import printable


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07", "\\x1b]0;title\\x07"),
        ("a\0b\x07\x7f\x85", "a\\x00b\\x07\\x7f\\x85"),
        ("\u202eevil\u2069", "\\u202eevil\\u2069"),
        ("a\u200bb\ufeff\u2060", "a\\u200bb\\ufeff\\u2060"),
        ("bas\u200deline", "bas\\u200deline"),
        ("\ud800\udfff", "\\ud800\\udfff"),
        ("one\u2028two\u2029", "one\\u2028two\\u2029"),
        ("\U000e0041\ufff9", "\\U000e0041\\ufff9"),
        ("0 %\r100 %\r\nnext", "0 %\n100 %\nnext"),
    ],
)
def test_what_acts_hides_or_deceives_is_escaped(text: str, expected: str) -> None:
    assert printable(text) == expected
    assert printable(expected) == expected


@pytest.mark.parametrize(
    "text",
    [
        "tab\tand\nlines",
        "e\u0301 n\u0303 한국어 日本語",
        "שָׁלוֹם עוֹלָם\u200f!",
        "می\u200cخواهم क्\u200dष",
        "👩\u200d👩\u200d👧 ❤\ufe0f 👍🏽",
        "🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f",
        "soft\u00adhyphen and\u00a0space",
    ],
)
def test_what_people_write_stays(text: str) -> None:
    assert printable(text) == text


def test_no_control_character_is_left_of_any() -> None:
    shown = printable("".join(map(chr, range(0x110000))))
    assert {c for c in shown if unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp")} == {"\n", "\t"}
    assert not {
        c
        for c in shown
        if unicodedata.bidirectional(c) in ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")
    }
