import dataclasses

import numpy as np
import pandas as pd
from synthetic import UGLY, study

from ablate.analysis.compare import compare
from ablate.core.facts import BASELINE, Evidence
from ablate.report.figures.facets import entries
from ablate.report.section import ReportData
from ablate.report.sections import HEADLINE, curves, differences, headline, runs


def test_the_forest_holds_the_numbers_of_the_comparisons(evidence):
    comparisons = compare(evidence)
    data = differences.forest_rows(evidence.facts, comparisons, evidence.facts.tasks[0])
    assert list(data["variant"]) == [entry.variant for entry in entries(evidence.facts)]
    mine = comparisons[comparisons["metric"] == "accuracy"].set_index("variant")
    for column, of in {"value": "diff", "low": "ci_low", "high": "ci_high"}.items():
        np.testing.assert_array_equal(data[column], mine.loc[data["variant"], of])
    assert list(data["placebo"]) == [False] * (len(data) - 1) + [True]
    assert list(data["verdict"]) == list(mine.loc[data["variant"], "verdict"])
    elsewhere = dataclasses.replace(evidence.facts.tasks[0], name="no task")
    assert differences.forest_rows(evidence.facts, comparisons, elsewhere).empty


def test_seeds_pair_each_run_with_the_baseline_of_its_seed(evidence):
    data = differences.seed_pairs(evidence, evidence.facts.tasks[0])
    assert len(data) == 11 * 5
    value = evidence.trials.set_index(["variant", "seed"])["accuracy"]
    row = data[(data["variant"] == "model.norm=batch") & (data["seed"] == 3)].iloc[0]
    assert row["difference"] == value["model.norm=batch", 3] - value[BASELINE, 3]
    lost = data[data["difference"].isna()]
    assert list(zip(lost["variant"], lost["seed"], lost["lost"], strict=True)) == [
        ("training.lr=0.3", 1, "diverged"),
        (UGLY, 2, "failed"),
    ]


def test_a_seed_on_which_the_baseline_failed_has_no_difference_and_no_variant_is_blamed(evidence):
    lost = (evidence.trials["variant"] == BASELINE) & (evidence.trials["seed"] == 0)
    trials = evidence.trials.assign(accuracy=evidence.trials["accuracy"].where(~lost))
    data = differences.seed_pairs(Evidence(evidence.facts, trials, evidence.curves), evidence.facts.tasks[0])
    mine = data[data["seed"] == 0]
    assert mine["difference"].isna().all()
    assert set(mine["lost"]) == {""}


def test_a_planned_seed_that_has_not_run_is_missing(evidence):
    trials = evidence.trials[
        ~((evidence.trials["variant"] == "model.norm=batch") & (evidence.trials["seed"] == 4))
    ]
    partial = Evidence(evidence.facts, trials, evidence.curves)
    data = differences.seed_pairs(partial, evidence.facts.tasks[0])
    row = data[(data["variant"] == "model.norm=batch") & (data["seed"] == 4)].iloc[0]
    assert (np.isnan(row["difference"]), row["lost"]) == (True, "")
    found = [(row["variant"], row["seed"], row["status"]) for row in runs.incidents(partial)]
    assert found == [
        ("model.norm=batch", 4, "missing"),
        ("training.lr=0.3", 1, "diverged"),
        (UGLY, 2, "failed"),
    ]


def test_a_broken_curve_ends_at_its_last_number(evidence):
    found = curves.curves(evidence, "recall", "train_loss")
    broken = found[(found["variant"] == "training.lr=0.3") & (found["status"] != "completed")]
    assert set(broken["seed"]) == {1}
    assert (broken["step"].max(), broken["value"].max()) == (170, 4e6)


def test_a_long_curve_is_averaged_over_windows():
    steps = np.arange(1, 1001)
    points = pd.DataFrame({"id": "recall-00-0", "step": steps, "metric": "train_loss", "value": steps * 1.0})
    short = study(factors={"a": {"x": 0.0, "y": 0.0}}, named={}, claims=False, num_seeds=1, placebo=False)
    data = curves.curves(Evidence(short.facts, short.trials, points), "recall", "train_loss")
    assert len(data) <= curves.MAX_POINTS
    assert data["step"].iloc[-1] == 1000
    assert data["value"].iloc[0] == np.mean(np.arange(1, data["step"].iloc[0] + 1))


def test_whether_the_baseline_learned(evidence):
    facts, trials, curves = evidence.facts, evidence.trials, evidence.curves
    empty = pd.DataFrame()

    def looks(of):
        accent = HEADLINE.accent(ReportData(of, empty, empty))
        return accent, bool(list(headline.gaps(of)))

    assert looks(evidence)[0] == "green"
    assert looks(Evidence(facts, trials.assign(accuracy=0.05), curves))[0] == "orange"
    assert looks(Evidence(facts, trials.iloc[:0], curves)) == ("soft", True)
    open_ended = [
        dataclasses.replace(
            task, metrics={name: dataclasses.replace(m, floor=None) for name, m in task.metrics.items()}
        )
        for task in facts.tasks
    ]
    unknown = Evidence(dataclasses.replace(facts, tasks=open_ended), trials, curves)
    assert looks(unknown)[0] == "soft"
