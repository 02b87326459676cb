from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tex import rows

from ablate.report.latex import breakable, floating, latex, mathematics, tabular
from ablate.report.tables import Column, Table

COLUMNS = [Column("name", "Name"), Column("value", "$p$", True), Column("word", "Verdict")]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("low_rank(rank=8) & 5 % of #1", r"low\_rank(rank=8) \& 5 \% of \#1"),
        (r"\input{/etc/passwd}", r"\textbackslash{}input\{/etc/passwd\}"),
        ("a~b^c$d$", r"a\textasciitilde{}b\textasciicircum{}c\$d\$"),
        ("−.5 ± .1 ≤ ∞ → x", r"$-$.5 $\pm$ .1 $\leq$ $\infty$ $\to$ x"),
        ('<b>|`x`*"', r"\textless{}b\textgreater{}\textbar{}\textasciigrave{}x\textasciigrave{}{*}''"),
        ("[x] a--b", "{[}x] a-{}-b"),
        ("tête\u202e\nx", r"tête\textbackslash{}u202e x"),
    ],
)
def test_a_name_is_literal_text(given: str, expected: str) -> None:
    assert latex(given) == expected


def test_a_path_may_be_broken_where_it_has_separators_and_a_number_nowhere() -> None:
    shown = breakable("model.d_model=0.02")
    assert shown == r"model.\allowbreak{}d\_\allowbreak{}model=0.02"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("−.073 [−.091, −.054]", r"$-.073\ [-.091, -.054]$"),
        ("+.0048 [−.0032, .0128]", r"$+.0048\ [-.0032, .0128]$"),
        ("<.001", "$<.001$"),
        ("25,728", "$25{,}728$"),
        ("–", "--"),
        ("unknown_1", r"unknown\_1"),
    ],
)
def test_numbers_are_mathematics_so_that_a_minus_is_a_minus(given: str, expected: str) -> None:
    assert mathematics(given) == expected


NAMES = st.text(st.sampled_from(string.printable + "−±é–“\u202e"), max_size=12)


@given(st.lists(st.tuples(NAMES, NAMES, NAMES), min_size=1, max_size=4))
def test_whatever_the_cells_hold_a_table_keeps_its_shape(cells: list[tuple[str, str, str]]) -> None:
    table = Table(COLUMNS, [dict(zip(("name", "value", "word"), row, strict=True)) for row in cells])
    content = floating(tabular(table, "lrl"), latex(cells[0][0]), "tab:x")
    found = rows(content)
    assert len(found) == 1 + len(cells)
    assert all(len(row) == len(COLUMNS) for row in found)


def test_rules_headings_and_points_below_one_another() -> None:
    table = Table(
        COLUMNS,
        [
            {"name": "on task_1"},
            {"name": "a", "value": ".5", "word": "better"},
            {"name": "b", "value": ".1234", "word": ""},
        ],
    )
    lines = tabular(table, "lrl", [2]).splitlines()
    assert lines[0] == r"\begin{tabular}{@{}lrl@{}}"
    assert lines[4] == r"\multicolumn{3}{@{}l}{\emph{on task\_1}} \\"
    assert lines[5] == r"a & $.5$\phantom{000} & better \\"
    assert [i for i, line in enumerate(lines) if "rule" in line] == [1, 3, 6, 8]
