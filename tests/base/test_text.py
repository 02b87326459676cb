"""Text of others is made safe to show, without passwords; commands can be typed as they stand."""

import unicodedata
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ablate.base.text import at_results, masked, printable, to_add, typed, word
from ablate.study.plain_yaml import parse_value


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("\x1b[31mred\x1b[0m", "red"), ("\x1b]0;title\x07", "\\x1b]0;title\\x07"),
        ("a\0b\x07\x7f\x85", "a\\x00b\\x07\\x7f\\x85"), ("\u202eevil\u2069", "\\u202eevil\\u2069"),
        ("a\u200bb\ufeff\u2060", "a\\u200bb\\ufeff\\u2060"), ("bas\u200deline", "bas\\u200deline"),
        ("\ud800\udfff", "\\ud800\\udfff"), ("one\u2028two\u2029", "one\\u2028two\\u2029"),
        ("\U000e0041\ufff9", "\\U000e0041\\ufff9"), ("0 %\r100 %\r\nnext", "0 %\n100 %\nnext"),
    ],
)  # fmt: skip
def test_what_acts_hides_or_deceives_is_escaped(text, expected):
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
def test_what_people_write_stays(text):
    assert printable(text) == text


@pytest.mark.slow
def test_no_control_character_is_left_of_any():
    shown = printable("".join(map(chr, range(0x110000))))
    assert {c for c in shown if unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp")} == {"\n", "\t"}
    assert not {
        c
        for c in shown
        if unicodedata.bidirectional(c) in ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")
    }


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("postgresql://me:secret@host:5432/x", "postgresql://me:…@host:5432/x"),
        ("https://me:p@ss@host/x", "https://me:…@host/x"),
        ("mysql://me:p/a?s#s@host/x", "mysql://me:…@host/x"),
        ("https://ghp_0123456789abcdefghij@host/x", "https://…@host/x"),
        ("pg://h/x?user=me&password=a%20b&sslmode=on", "pg://h/x?user=me&password=…&sslmode=on"),
        ("postgresql:///x?sslpassword=a;b=c", "postgresql:///x?sslpassword=…;b=c"),
        (
            "h://h?ACCESS_TOKEN=a&api-key=b&apikey=c#token=d",
            "h://h?ACCESS_TOKEN=…&api-key=…&apikey=…#token=…",
        ),
        ("h://h?client_secret=a&X-Amz-Signature=b&sig=c", "h://h?client_secret=…&X-Amz-Signature=…&sig=…"),
        ("mssql+pyodbc:///?odbc_connect=PWD%3Dsecret", "mssql+pyodbc:///?odbc_connect=…"),
        ("two: a://u:p@h and b://u:q@h", "two: a://u:…@h and b://u:…@h"),
    ],
)
def test_secrets_of_urls_are_masked(text, expected):
    assert masked(text) == expected
    assert masked(expected) == expected


@pytest.mark.parametrize(
    "text",
    [
        *("sqlite:///a/b.db", "sqlite:///file:a.db?mode=rw&uri=true", "journal:x.log", "http://["),
        *("http://127.0.0.1:5000/#/experiments?workflowType=machine_learning", "postgresql://me@host/x"),
        *("--set model.token_mixing=0.1 --set task.pass=3", "12:30 me@example.org"),
    ],
)
def test_other_text_stays(text):
    assert masked(text) == text


def test_commands_can_be_typed_and_name_the_results_where_they_are_not_the_usual_ones():
    assert typed("run", Path("my study.yaml"), *at_results(Path("results"))) == "ablate run 'my study.yaml'"
    assert typed("ui", *at_results(Path("my results"))) == "ablate ui --results 'my results'"


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(
    st.text(st.characters(exclude_categories=("Cc", "Cs")))
    | st.sampled_from(["null", "True", "1e5", "x # y"])
)
def test_a_word_of_a_study_is_read_as_it_was(text):
    assert parse_value(word(text)) == text


def test_a_list_to_add_can_be_pasted_whatever_its_names():
    names = ["a.json", "b, c", "d: e", "[f]", "#g", "null", "h"]
    before, pasted, after = to_add("data", names, 6).split("`")
    assert (before, after) == ("", " (and 1 more)")
    assert parse_value(pasted) == {"data": names[:6]}
    assert to_add("data", ["a", "b"]) == "`data: [a, b]`"
