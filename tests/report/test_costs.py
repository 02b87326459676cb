from __future__ import annotations

import dataclasses

import pytest

from ablate.core.facts import Evidence, Facts, Matched, MatchFacts
from ablate.report.sections import runs as costs
from ablate.report.words import say


@pytest.fixture
def facts(evidence: Evidence) -> Facts:
    """Three variants: the baseline, one that is larger, a placebo."""
    base, larger, *_, placebo = evidence.facts.variants
    sizes = {
        "parameters_by_part": {"recall": {"embedding": 500, "mixer": 8_000}},
        "flops": {"recall": 250_000},
        "training_flops": {"recall": 750_000},
    }
    same = {"parameters": {"recall": 8_500}, **sizes}
    more = {
        "parameters": {"recall": 9_350},
        "parameters_by_part": {"recall": {"embedding": 500, "mixer": 8_700, "relative": 150}},
        "flops": {"recall": 240_000},
        "training_flops": {"recall": 780_000},
    }
    variants = [
        dataclasses.replace(base, **same),
        dataclasses.replace(larger, **more),
        dataclasses.replace(placebo, **same),
    ]
    return dataclasses.replace(evidence.facts, variants=variants)


def test_what_the_variants_differ_by_is_said(facts: Facts) -> None:
    (said,) = costs.equality(facts)
    assert said == say("cost.not_matched", [("Parameters", "0 %", "+10.0 %"), ("FLOPs", "−4.0 %", "0 %")])
    alike = dataclasses.replace(facts, variants=[facts.variants[0], facts.variants[2]])
    assert list(costs.equality(alike)) == []


def test_the_whole_training_is_shown_where_variants_see_other_numbers_of_examples(facts: Facts) -> None:
    same = [dataclasses.replace(v, examples={"recall": 6_400}) for v in facts.variants]
    alike = dataclasses.replace(facts, variants=same)
    assert "compute" not in {column.key for column in costs.cost_table(alike).columns}
    longer = dataclasses.replace(same[1], examples={"recall": 12_800})
    table = costs.cost_table(dataclasses.replace(facts, variants=[same[0], longer, same[2]]))
    heading = next(column.heading for column in table.columns if column.key == "compute")
    assert heading == "FLOPs of training"
    assert [row["compute"] for row in table.rows] == [
        "4,800,000,000",
        "9,984,000,000 (+108.0 %)",
        "4,800,000,000",
    ]


def matched(facts: Facts, quantity: str, by: str, *given: Matched) -> Facts:
    variants = [
        dataclasses.replace(variant, matched={"recall": one})
        for variant, one in zip(facts.variants, given, strict=True)
    ]
    return dataclasses.replace(facts, variants=variants, match=MatchFacts(quantity, by, "baseline", 0.01))


def test_what_is_matched_is_said_with_the_largest_residual(facts: Facts) -> None:
    base = Matched(4, 8_500, 8_500)
    fair = matched(
        facts, "parameters", "model.feedforward.expansion", base, Matched(3.71, 8_470, 8_500), base
    )
    table = costs.cost_table(fair)
    assert [c.heading for c in table.columns][:4] == [
        "Variant",
        "model.feedforward.expansion",
        "Residual",
        "Parameters",
    ]
    assert [(row["value"], row["residual"]) for row in table.rows] == [
        ("4", "0 %"),
        ("3.71", "−0.35 %"),
        ("4", "0 %"),
    ]
    said, rest = costs.equality(fair)
    by = "model.feedforward.expansion"
    assert said == say("cost.matched", "Parameters", "baseline", by, -0.3 / 85)
    assert rest == say("cost.not_matched", [("FLOPs", "−4.0 %", "0 %")])
    number = dataclasses.replace(fair, match=MatchFacts("flops", "model.d_model", "250000", 0.01))
    assert next(costs.equality(number)).startswith("FLOPs matched to 250,000 by model.d_model")


def test_a_variant_named_by_hand_says_what_it_changes(facts: Facts) -> None:
    named = dataclasses.replace(facts.variants[1], name="mine")
    table = costs.cost_table(dataclasses.replace(facts, variants=[facts.variants[0], named]))
    assert table.rows[1]["changes"] == "model.mixer.score: additive"


def test_tasks_have_rows_of_their_own_only_where_they_cost_differently(facts: Facts) -> None:
    task = facts.tasks[0]
    two = [task, dataclasses.replace(task, name="copy")]
    both = [
        dataclasses.replace(
            v,
            parameters=v.parameters | {"copy": v.parameters["recall"]},
            parameters_by_part=v.parameters_by_part | {"copy": v.parameters_by_part["recall"]},
            flops=v.flops | {"copy": v.flops["recall"]},
            training_flops=v.training_flops | {"copy": v.training_flops["recall"]},
        )
        for v in facts.variants
    ]
    alike = dataclasses.replace(facts, tasks=two, variants=both)
    assert len(costs.cost_table(alike).rows) == 3
    longer = [dataclasses.replace(v, flops=v.flops | {"copy": 500_000}) for v in both]
    table = costs.cost_table(dataclasses.replace(alike, variants=longer))
    assert [row["task"] for row in table.rows] == ["recall", "copy"] * 3


@pytest.mark.parametrize(
    ("value", "base", "shown"), [(None, 5, "–"), (5, None, "5"), (0, 160, "0 (−160)"), (7, 0, "7")]
)
def test_a_cost_against_the_baseline(value: int | None, base: int | None, shown: str) -> None:
    assert costs.against(value, base) == shown
