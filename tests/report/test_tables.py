import csv
import html
import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_evidence import study

from ablate.analysis.compare import compare
from ablate.base import wording
from ablate.core.metric import Metric
from ablate.report import page as markdown
from ablate.report import words as tables
from ablate.report.sections.runs import against
from ablate.report.sentences.levels import family
from ablate.report.sentences.reason_words import because
from ablate.report.tables.verdicts import num_pairs, verdict_tables
from ablate.report.words import Column, rows_of


@pytest.mark.parametrize(
    ("diff", "low", "high", "shown"),
    [
        (-0.0313, -0.0436, -0.0191, "−0.031 [−0.044, −0.019]"),
        (0.00123, -0.0011, 0.0036, "+0.0012 [−0.0011, 0.0036]"), (12.3456, 1.0, 23.0, "+12 [1, 23]"),
        (0.0, 0.0, 0.0, "0.000 [0.000, 0.000]"), (-0.00001, -0.0060, 0.0061, "0.0000 [−0.0060, 0.0061]"),
        ("0.25", "0.2", "0.3", "+0.250 [0.200, 0.300]"), (0.25, math.nan, math.nan, "+0.250"),
        (math.nan, math.nan, math.nan, "–"), ("", "", "", "–"),
    ],
)  # fmt: skip
def test_a_difference_has_the_digits_that_its_interval_supports(diff, low, high, shown):
    assert tables.difference(diff, low, high) == shown


def test_p_values():
    assert [tables.shown(p, wording.p_value) for p in (0.0004, 0.32, 0.04998, math.nan)] == [
        "<0.001",
        "0.320",
        "0.04998",
        "–",
    ]


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.01934, "0.019"), (-1.52, "−1.5"), (123.0, "123"), (1.2e-9, "1.2e−9"), (0.0, "0"), (None, "–")],
)
def test_two_significant_digits(value, shown):
    assert tables.significant(value) == shown


def test_counts():
    assert [tables.count(x) for x in (5, "5.0", 25_728, math.inf, math.nan)] == ["5", "5", "25,728", "∞", "–"]


@pytest.mark.slow
@given(st.text(), st.integers(6, 40))
def test_names_fit_their_lines(name, width):
    lines = tables.in_lines(name, width, 2).split("\n")
    assert len(lines) <= 2
    assert max(map(len, lines)) <= width


def test_names_break_between_words_and_end_in_an_ellipsis():
    assert tables.in_lines("residual dropout 0.25", 19, 2) == "residual dropout\n0.25"
    assert tables.in_lines("low_rank(rank=4)", 9, 1) == "low_rank…"


@pytest.mark.slow
@given(st.text())
def test_markdown_leaves_no_character_that_means_something(value):
    line = tables.text(value)
    escaped = markdown.markdown(line)
    assert not set("\\`*[]~#<>|&") & set(re.sub(r"\\[\\`*\[\]~#_]|&(lt|gt|amp|#124);", "", escaped))
    assert re.sub(r"\\([\\`*\[\]~#_])", r"\1", html.unescape(escaped)) == line


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("- item", "\\- item"),
        ("1. item", "1\\. item"),
        ("# title", "\\# title"),
        ("a|b <c> `d` low_rank _e_", "a&#124;b &lt;c&gt; \\`d\\` low_rank \\_e\\_"),
        ("===", "\\==="),
    ],
)
def test_a_line_of_markdown_is_literal(value, shown):
    assert markdown.markdown_line(value) == shown


@pytest.mark.slow
def test_frame_and_csv_give_the_same_tables(evidence, folder):
    with (folder / "comparisons.csv").open(newline="") as file:
        read = list(csv.DictReader(file))
    made = [
        [(t.rows, t.caption) for t in verdict_tables(rows, evidence.facts)]
        for rows in (read, compare(evidence))
    ]
    assert made[0] == made[1]


def test_the_verdict_table_has_the_planned_comparisons_and_their_sizes(evidence):
    (table,) = verdict_tables(compare(evidence), evidence.facts)
    assert [row["title"] for row in table.rows] == [tables.text(v.name) for v in evidence.facts.variants[1:]]
    keys = [
        "variant",
        "verdict",
        "difference",
        "size",
        "mean_variant",
        "mean_baseline",
        "mde",
        "improving",
        "reason",
    ]
    assert [column.key for column in table.columns] == keys
    trials = evidence.trials[evidence.trials["variant"] == "model.norm=batch"]
    row = next(row for row in table.rows if row["title"] == "model.norm=batch")
    assert float(row["mean_variant"]) == pytest.approx(np.mean(trials["accuracy"]), abs=1e-3)
    reasons = {row["title"]: row["reason"] for row in table.rows}
    assert reasons["training.lr=0.3"] == because("unstable diverged=1")
    assert reasons["model.norm=batch"] == ""


def test_columns_say_what_is_shown_of_a_row():
    columns = [
        Column("a", "A"),
        Column("b", "B", True, show=lambda row: tables.count(row["b"])),
        Column("same", "Same", varying=True),
        Column("none", "None"),
    ]
    made = tables.tabulated(columns, [{"a": "x", "b": 1000, "same": 1}, {"a": "y\n", "b": None, "same": 1}])
    assert [column.key for column in made.columns] == ["a", "b"]
    assert [(row["a"], row["b"]) for row in made.rows] == [("x", "1,000"), ("y", "–")]


def test_the_family_of_a_study_with_looks_is_that_which_was_planned():
    rows = [{"level": 1 - 0.05 * k / 3 / 4, "look": k} for k in (1, 2)]
    assert family(rows, 2) == 4
    assert family([{"level": 0.975}], 1) == 2
    assert family([], 1) == 1


def test_a_count_beside_that_of_the_baseline():
    pairs = [(9280, 8192), (8000, 8192), (8192, 8192), (5, None), (None, 5), (0, 160), (7, 0)]
    shown = ["9,280 (+1,088)", "8,000 (−192)", "8,192", "5", "–", "0 (−160)", "7"]
    assert [against(*pair) for pair in pairs] == shown
    assert against(9280, 8192, relative=True) == "9,280 (+13.3 %)"


def test_a_table_counts_the_pairs_that_its_rows_have_and_none_that_were_planned():
    """The heading says so where no row has a pair."""
    evidence = study(
        {"baseline": [0.5, 0.6, np.nan, np.nan], "a": [np.nan, np.nan, 0.5, 0.6]},
        metrics={"accuracy": Metric("max")},
    )
    rows = rows_of(compare(evidence))
    assert num_pairs(rows) == "0"
    assert num_pairs([*rows, {**rows[0], "n": 3}]) == "3"
    (table,) = verdict_tables(rows, evidence.facts)
    assert "over 0 paired seeds" in table.caption
