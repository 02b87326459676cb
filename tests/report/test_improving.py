"""A side that still improves when training ends is marked beside each verdict and claim, by condition."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from made_evidence import ACCURACY, study

from ablate.analysis.claims import judge_claims
from ablate.analysis.compare import compare
from ablate.core.facts import Claim
from ablate.core.improving_side import ImprovingSide
from ablate.core.over import Over
from ablate.core.rows import list_in
from ablate.report.section import ReportData
from ablate.report.sentences.limits import training_warnings
from ablate.report.tables.claim_tables import claim_table
from ablate.report.tables.verdicts import verdict_tables

RISING = np.linspace(0, 0.9, 30)
FLAT = np.full(30, 0.9)
VALUES = {"baseline": [0.9, 0.91, 0.92], "a": [0.8, 0.82, 0.83], "b": [0.7, 0.71, 0.73]}


def trained(shapes, *, tasks=("wide", "deep"), flat_at=(), **choices):
    """Evidence of variants with a curve each; those of `flat_at` (variant, task) have none."""
    noise = 1e-4 * np.random.default_rng(0).standard_normal((3, 30))
    curves = {(name, seed): shape + noise[seed] for name, shape in shapes.items() for seed in range(3)}
    evidence = study(VALUES, tasks={task: {"accuracy": ACCURACY} for task in tasks}, curves=curves, **choices)
    trials = evidence.trials
    flat = [pair in flat_at for pair in zip(trials["variant"], trials["task"], strict=True)]
    left = evidence.curves[~evidence.curves["id"].isin(trials.loc[flat, "id"])]
    return replace(evidence, curves=left)


def report_of(evidence):
    return ReportData(evidence, compare(evidence), judge_claims(evidence))


def test_each_row_names_the_sides_that_still_improve_and_the_limitation_their_conditions():
    evidence = trained({"baseline": RISING, "a": RISING, "b": FLAT}, flat_at=[("a", "deep")])
    report_data = report_of(evidence)
    marks = {
        (row.variant, row.task): list_in(row.improving, ImprovingSide)
        for row in report_data.comparisons.itertuples()
    }
    at_wide = [ImprovingSide("baseline", "wide"), ImprovingSide("a", "wide")]
    assert marks["a", "wide"] == at_wide
    assert marks["a", "deep"] == marks["b", "deep"] == [ImprovingSide("baseline", "deep")]
    said = "Still improving when training ended: baseline and a (wide)."
    assert said in [*training_warnings(report_data)]

    wide, deep = verdict_tables(report_data.comparisons, evidence.facts)
    assert [row["improving"] for row in wide.rows] == ["both sides", "baseline"]
    assert [row["improving"] for row in deep.rows] == ["baseline", "baseline"]


def test_a_verdict_over_conditions_names_each_in_which_a_side_still_improves():
    evidence = trained({"baseline": FLAT, "a": RISING, "b": RISING}, flat_at=[("a", "deep")])
    evidence = replace(evidence, facts=replace(evidence.facts, over=Over("mean")))
    table = compare(evidence)
    rows = table[~table["exploratory"].astype(bool)].set_index("variant")
    assert list_in(rows.loc["a", "improving"], ImprovingSide) == [ImprovingSide("a", "wide")]
    assert list_in(rows.loc["b", "improving"], ImprovingSide) == [
        ImprovingSide("b", "wide"),
        ImprovingSide("b", "deep"),
    ]


def test_a_caption_says_it_once_where_every_side_still_improves():
    report_data = report_of(trained(dict.fromkeys(VALUES, RISING), tasks=["wide"]))
    (table,) = verdict_tables(report_data.comparisons, report_data.facts)
    assert table.caption.endswith("; every side was still improving when training ended")
    assert "improving" not in [column.key for column in table.columns]
    assert "Still improving when training ended: every variant." in [*training_warnings(report_data)]


CLAIM = Claim("baseline beats a on accuracy", "beats", "accuracy", ["baseline"], ["a"], by=0.0)


@pytest.mark.parametrize("family", ["all", "claims"])
def test_a_claim_names_its_sides_also_where_claims_alone_are_judged(family):
    evidence = trained({"baseline": RISING, "a": FLAT, "b": FLAT}, tasks=["wide"], claims=[CLAIM])
    evidence = replace(evidence, facts=replace(evidence.facts, family=family))
    report_data = report_of(evidence)
    (row,) = report_data.claims.itertuples()
    assert list_in(row.improving, ImprovingSide) == [ImprovingSide("baseline", "wide")]
    table = claim_table(report_data.claims, evidence.facts, "95 %")
    assert [row["improving"] for row in table.rows] == ["baseline"]
    assert "Still improving when training ended: baseline." in [*training_warnings(report_data)]


@pytest.mark.parametrize("still_at", ["wide", "deep"])
def test_a_claim_over_every_condition_names_also_sides_in_conditions_that_do_not_decide_it(still_at):
    flat_at = [("baseline", task) for task in ("wide", "deep") if task != still_at]
    evidence = trained({"baseline": RISING, "a": FLAT, "b": FLAT}, flat_at=flat_at, claims=[CLAIM])
    evidence = replace(evidence, facts=replace(evidence.facts, over=Over("every")))
    (row,) = judge_claims(evidence).itertuples()
    assert list_in(row.improving, ImprovingSide) == [ImprovingSide("baseline", still_at)]
    table = claim_table(judge_claims(evidence), evidence.facts, "95 %")
    assert [row["improving"] for row in table.rows] == [f"baseline ({still_at})"]


def test_rows_of_reports_without_the_column_have_no_mark():
    evidence = trained({"baseline": RISING, "a": FLAT, "b": FLAT}, tasks=["wide"])
    rows = compare(evidence).drop(columns="improving")
    (table,) = verdict_tables(pd.DataFrame(rows), evidence.facts)
    assert "improving" not in [column.key for column in table.columns]
