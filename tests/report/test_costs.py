import dataclasses

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
