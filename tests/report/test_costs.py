from __future__ import annotations

import dataclasses

import pytest

from ablate.records.evidence import Evidence, Facts
from ablate.report import costs


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


def test_costs_by_part_with_their_differences(facts: Facts) -> None:
    table = costs.cost_table(facts)
    headings = [column.heading for column in table.columns]
    totals = ["Parameters", "FLOPs", "FLOPs with backward"]
    assert headings == ["Variant", *totals, "Embedding", "Mixer", "Relative", "Changes"]
    base, larger, placebo = ([row[c.key] for c in table.columns] for row in table.rows)
    assert base == ["baseline", "8,500", "250,000", "750,000", "500", "8,000", "0", ""]
    assert larger[1:4] == ["9,350 (+10.0 %)", "240,000 (−4.0 %)", "780,000 (+4.0 %)"]
    assert larger[4:7] == ["500", "8,700 (+700)", "150"]
    assert placebo[-1] == "the baseline with other random streams"


def test_evidence_from_before_the_backward_pass_was_counted(facts: Facts) -> None:
    old = [dataclasses.replace(variant, training_flops={}) for variant in facts.variants]
    table = costs.cost_table(dataclasses.replace(facts, variants=old))
    assert [column.key for column in table.columns][1:3] == ["parameters", "flops"]
    assert "training_flops" not in {column.key for column in table.columns}


def test_what_the_variants_differ_by_is_said(facts: Facts) -> None:
    assert costs.differences(facts) == (
        "Sizes are as they come, not matched: parameters differ from the baseline's by 0 % to +10.0 %; "
        "FLOPs differ from the baseline's by −4.0 % to 0 %."
    )
    alike = dataclasses.replace(facts, variants=[facts.variants[0], facts.variants[2]])
    assert "parameters do not differ; FLOPs do not differ" in costs.differences(alike)
    assert costs.differences(dataclasses.replace(facts, variants=facts.variants[:1])) == ""


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
