"""The section of a study whose variants were tuned."""

from dataclasses import replace

import pandas as pd
import pytest
from made_searches import after_search, by_learning_rate, searched
from synthetic import BATCH, BEST, norms

from ablate.analysis.compare import compare
from ablate.analysis.search_table import Parameter
from ablate.report.section import Picture, ReportData
from ablate.report.sections.tuning import Tuning
from ablate.report.sections.verdicts import Comparisons


def drawings(search, tuned):
    made = ReportData(after_search(search, tuned), compare(tuned), pd.DataFrame())
    return [block for block in Tuning().blocks(made) if isinstance(block, Picture)]


def test_a_rival_is_in_the_figure_and_is_named_where_it_diverged():
    search = by_learning_rate(BEST, sampler="grid")
    second = search.trials[search.trials["variant"] == BATCH].nlargest(2, "accuracy").iloc[1]["training.lr"]
    name = f"{BATCH} at training.lr={search.facts.parameters[0].label(second)}"
    made = after_search(search, norms())
    rival = pd.DataFrame(
        [("x", name, "recall", 0, "diverged")], columns=["id", "variant", "task", "seed", "status"]
    )
    found = ReportData(replace(made, frames={**made.frames, "rivals": rival}), compare(made), pd.DataFrame())
    (picture,) = [block for block in Tuning().blocks(found) if isinstance(block, Picture)]
    assert picture.data.query("judged == 'rival'")[["variant", "value"]].to_numpy().tolist() == [
        [BATCH, second]
    ]
    assert "diverged: 1 run of batch norm at" in Tuning().findings(found)[-1]


def test_a_label_is_the_name_of_a_variant_at_its_runner_up_too():
    made = after_search(by_learning_rate(BEST, sampler="grid"), norms())
    made = replace(made, facts=replace(made.facts, labels={BATCH: "batches"}))
    name = f"{BATCH} at training.lr=0.1"
    rival = pd.DataFrame(
        [("x", name, "recall", 0, "completed")], columns=["id", "variant", "task", "seed", "status"]
    )
    comparisons = compare(made).assign(settings=f"training.lr=0.3; also {name}")
    found = ReportData(replace(made, frames={**made.frames, "rivals": rival}), comparisons, pd.DataFrame())
    assert "batches at training.lr=0.1" in Tuning().findings(found)[-1]
    (table,) = Comparisons().blocks(found)
    assert {row["settings"] for row in table.rows} == {"training.lr=0.3; also batches at training.lr=0.1"}


def test_each_edge_at_which_a_seed_chose_its_value_is_named_with_that_value():
    lrs = Parameter("training.lr", "choice", choices=["0.001", "0.01", "0.1"])
    settings = [{"training.lr": label} for label in lrs.choices]
    search = searched({"baseline": [0.8, 0.5, 0.8]}, parameters=[lrs], settings=settings, sampler="grid")
    search.trials["chosen"] = ["baseline", "", "baseline"]
    evidence = norms(num_seeds=2)
    said = Tuning().warnings(ReportData(after_search(search, evidence), compare(evidence), pd.DataFrame()))
    assert [line.partition(" `tune")[0] for line in said] == [
        f"The best learning rate lies at the {side} edge of its grid, so a better one may lie outside: "
        f"baseline ({label})."
        for side, label in (("lower", "0.001"), ("upper", "0.1"))
    ]


@pytest.mark.parametrize(
    ("heads", "is_advised"), [(["2", "4"], False), (["1", "2", "9"], False), (["1", "2", "4"], True)]
)
def test_widening_is_advised_only_where_the_study_could_be_widened(heads, is_advised):
    lrs = Parameter("training.lr", "choice", choices=["0.001", "0.01", "0.1"])
    others = Parameter("model.heads", "choice", choices=heads)
    settings = [{"training.lr": label, "model.heads": "2"} for label in lrs.choices]
    search = searched(
        {"baseline": [0.8, 0.5, 0.5]}, parameters=[lrs, others], settings=settings, sampler="grid"
    )
    evidence = norms(num_seeds=2)
    said = Tuning().warnings(ReportData(after_search(search, evidence), compare(evidence), pd.DataFrame()))
    assert "lower edge" in said[0]
    assert ("tune: {widen: on}" in said[0]) == is_advised


def test_each_task_has_a_figure():
    evidence = norms(tasks=("recall", "a/<b>"), num_seeds=2)
    found = drawings(by_learning_rate(BEST, tasks=("recall", "a/<b>")), evidence)
    assert [picture.name for picture in found] == ["settings-1-recall", "settings-2-a-b"]
