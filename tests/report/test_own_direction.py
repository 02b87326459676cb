"""Differences as they are shown: variant minus baseline, in the direction of their metric."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_evidence import claim, study

from ablate.analysis.claims import judge_claims
from ablate.analysis.compare import compare
from ablate.analysis.stability import stability
from ablate.core.metric import Metric
from ablate.report.section import ReportData, unfolded
from ablate.report.sections import HEADLINE
from ablate.report.sections.headline import noise_lines
from ablate.report.sections.verdicts import Comparisons, Verdicts, stability_table
from ablate.report.tables.claim_tables import claim_table
from ablate.report.tables.directions import direction_of, less_is_better, own_direction
from ablate.report.tables.verdicts import verdict_tables
from ablate.report.words import Table, number, rows_of

LOSS = Metric("min", 0.001)
ENDS = ("diff", "ci_low", "ci_high")
VALUES = st.none() | st.floats(allow_nan=True)


@pytest.fixture(scope="module")
def report_data():
    """A variant whose `val_loss` is higher by 0.17, and a placebo."""
    base = [1.0, 1.02, 0.99, 1.01, 1.0, 0.98]
    values = {"baseline": base, "a": [v + 0.17 for v in base], "b": [v - 0.2 for v in base[::-1]]}
    values["a"][0] += 0.01
    values["placebo"] = base[1:] + base[:1]
    tasks = {"t": {"val_loss": LOSS, "accuracy": Metric("max", 0.001, 0.0, 1.0)}}
    claims = [
        claim("beats", "baseline", "a", metric="val_loss"),
        claim("matches", "a", metric="seed_spread", by=1.0),
    ]
    made = study(values, metric="val_loss", tasks=tasks, claims=claims, placebos=["placebo"], margin=0.02)
    return ReportData(made, compare(made), judge_claims(made))


@given(VALUES, VALUES, VALUES)
def test_twice_is_as_it_was(diff, low, high):
    row = dict(zip(ENDS, (diff, low, high), strict=True)) | {"variant": "a", "ci": 1}
    twice = own_direction(own_direction(row, "min"), "min")
    assert {name: number(twice[name]) for name in ENDS} == {name: number(row[name]) for name in ENDS}
    assert (twice["variant"], own_direction(row, "max")) == ("a", row)


@given(st.floats(-1e6, 1e6), st.floats(0, 1e6), st.floats(0, 1e6))
def test_the_interval_turns_with_its_difference(diff, below, above):
    row = {"diff": diff, "ci_low": diff - below, "ci_high": diff + above}
    turned = own_direction(row, "min")
    assert turned["ci_low"] <= turned["diff"] <= turned["ci_high"]
    assert turned["ci_high"] - turned["ci_low"] == row["ci_high"] - row["ci_low"]


def test_rows_of_files_are_text():
    row = {"diff": "-0.25", "ci_low": "-0.5", "ci_high": ""}
    assert own_direction(row, "min") == {"diff": 0.25, "ci_low": None, "ci_high": 0.5}


def test_where_a_direction_is_known(report_data):
    facts = report_data.facts
    found = {name: direction_of(facts, "t", name) for name in ("val_loss", "accuracy", "seed_spread", "mine")}
    assert found == {"val_loss": "min", "accuracy": "max", "seed_spread": "min", "mine": "max"}
    more = ("divergence_rate", "lr_sensitivity", "steps_to_target", "solved_rate", "step_seconds")
    assert [direction_of(facts, "", name) for name in more] == ["min", "min", "min", "max", "max"]
    rows = [{"task": "t", "metric": name} for name in ("accuracy", "val_loss", "val_loss")]
    assert less_is_better(rows, facts) == ["validation loss"]


def test_a_loss_that_rises_is_worse_by_a_positive_difference(report_data):
    [table] = verdict_tables(report_data.comparisons, report_data.facts)
    shown = {row["variant"]: (row["verdict"], row["difference"]) for row in table.rows}
    verdict, difference = shown["a"]
    assert (verdict, difference[:5]) == ("worse", "+0.17")
    assert shown["b"][1].startswith("−0.2")
    row = next(row for row in rows_of(report_data.comparisons) if row["variant"] == "a")
    assert row["diff"] == pytest.approx(-0.1717, abs=1e-3), "files stay oriented"
    assert "less is better" in table.caption


def test_every_table_and_sentence_turns_alike(report_data):
    facts = report_data.facts
    [_, every] = [
        next(block for block in unfolded(section().blocks(report_data)) if isinstance(block, Table))
        for section in (Verdicts, Comparisons)
    ]
    row = next(row for row in every.rows if (row["variant"], row["metric"]) == ("a", "validation loss"))
    assert row["difference"].startswith("+0.17")
    lost, spread = claim_table(report_data.claims, facts, "95 %").rows
    assert lost["difference"].startswith("−0.17"), "baseline minus a"
    oriented = report_data.claims.iloc[1]["diff"]
    assert spread["difference"].startswith("−" if oriented > 0 else "+")
    [answer, *_] = HEADLINE.answers(report_data)
    assert "validation loss rose (worse) by 0.17" in answer
    placebo = next(row for row in rows_of(report_data.comparisons) if row["variant"] == "placebo")
    [noise] = noise_lines(report_data)
    mean = -placebo["diff"]
    assert f"Placebo: {'+' if mean > 0 else '−' if mean < 0 else ''}0.0" in noise


def test_stability_turns_too(report_data):
    rows = rows_of(stability(report_data.evidence))
    table = stability_table(rows, rows, report_data.facts)
    for row, shown in zip(rows, table.rows, strict=True):
        if row["kind"] == "spread" and not math.isclose(row["diff"], 0.0, abs_tol=1e-4):
            assert shown["difference"].startswith("−" if row["diff"] > 0 else "+")
        assert shown["metric"] == row["metric"].replace("_", " ")
