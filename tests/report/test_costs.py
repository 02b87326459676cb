import dataclasses

import pytest

from ablate.base import wording
from ablate.report.sections import runs as costs


def test_tasks_have_rows_of_their_own_only_where_they_cost_differently(evidence):
    def of(flops):
        sizes = {"parameters": {"recall": 8_500, "copy": 8_500}, "flops": {"recall": 250_000, "copy": flops}}
        variants = [dataclasses.replace(variant, **sizes) for variant in evidence.facts.variants[:3]]
        (task,) = evidence.facts.tasks
        tasks = [task, dataclasses.replace(task, name="copy")]
        return dataclasses.replace(evidence.facts, tasks=tasks, variants=variants)

    assert len(costs.cost_table(of(250_000)).rows) == 3
    assert [row["task"] for row in costs.cost_table(of(500_000)).rows] == ["recall", "copy"] * 3


@pytest.mark.parametrize(
    ("value", "shown"), [(950, "950"), (26_416, "26.42k"), (1_200_000, "1.2M"), (3e9, "3G"), (2e12, "2T")]
)
def test_costs_in_few_characters(value, shown):
    assert wording.compact(value) == shown
