import dataclasses

import numpy as np
import pandas as pd
import pytest
from ablate.report.draw import panels
from synthetic import UGLY, study

from ablate.analysis.compare import compare
from ablate.core.facts import BASELINE, Evidence
from ablate.report.section import Material
from ablate.report.sections import curves, differences, headline, runs


def test_variants_stand_with_their_factor_and_placebos_last(evidence):
    found = panels.entries(evidence.facts)
    assert [(e.group, e.label) for e in found[:3]] == [
        ("score", "additive scoring"),
        ("score", "dot scoring"),
        ("position", "sin/cos positions"),
    ]
    assert found[-2].label == UGLY, "a variant named by hand keeps its name"
    assert found[-1].group == panels.PLACEBO_GROUP
    assert len(found) == len(evidence.facts.variants) - 1


def test_a_panel_never_has_more_than_eight_curves():
    levels = {"base": 0.0, **{f"level{i}": 0.0 for i in range(16)}}
    found = study(factors={"a.b": levels, "c": {"x": 0.0, "y": 0.0}}, named={}, claims=False, num_seeds=2)
    made = panels.panels(found.facts)
    assert {title: len(members) for title, members in made.items()} == {
        "b (1 of 3)": 6, "b (2 of 3)": 6, "b (3 of 3)": 4, "c": 1, "placebo": 1,
    }  # fmt: skip


def test_of_too_many_panels_the_first_are_shown():
    factors = {f"f{i:02}": {"a": 0.0, "b": 0.0} for i in range(40)}
    found = study(factors=factors, named={}, claims=False, num_seeds=2, trouble=False)
    made = panels.panels(found.facts)
    assert list(made) == [f"f{i:02}" for i in range(panels.MAX_PANELS)]
    assert panels.left_out(found.facts, made) == "Of 41 variants, the first 16 are shown."


def test_the_forest_holds_the_numbers_of_the_comparisons(evidence):
    comparisons = compare(evidence)
    data = differences.forest(evidence.facts, comparisons, "recall")
    assert list(data["variant"]) == [e.variant for e in panels.entries(evidence.facts)]
    mine = comparisons[comparisons["metric"] == "accuracy"].set_index("variant")
    for column, of in {"value": "diff", "low": "ci_low", "high": "ci_high"}.items():
        np.testing.assert_array_equal(data[column], mine.loc[data["variant"], of])
    assert list(data["placebo"]) == [False] * (len(data) - 1) + [True]
    assert list(data["verdict"]) == list(mine.loc[data["variant"], "verdict"])
    assert differences.forest(evidence.facts, comparisons, "no task").empty


def test_seeds_pair_each_run_with_the_baseline_of_its_seed(evidence):
    data = curves.seeds(evidence, "recall")
    assert len(data) == 11 * 5
    value = evidence.trials.set_index(["variant", "seed"])["accuracy"]
    row = data[(data["variant"] == "model.norm=batch") & (data["seed"] == 3)].iloc[0]
    assert row["value"] == value["model.norm=batch", 3]
    assert row["baseline"] == value[BASELINE, 3]
    lost = data[data["value"].isna()]
    assert list(zip(lost["variant"], lost["seed"], lost["status"], strict=True)) == [
        ("training.lr=0.3", 1, "diverged"),
        (UGLY, 2, "failed"),
    ]


def test_a_planned_seed_that_has_not_run_is_missing(evidence):
    trials = evidence.trials[
        ~((evidence.trials["variant"] == "model.norm=batch") & (evidence.trials["seed"] == 4))
    ]
    partial = Evidence(evidence.facts, trials, evidence.curves)
    data = curves.seeds(partial, "recall")
    assert set(data.loc[data["status"] == "missing", "variant"]) == {"model.norm=batch"}
    found = [(row["variant"], row["seed"], row["status"]) for row in runs.incidents(partial)]
    assert found == [
        ("model.norm=batch", 4, "missing"),
        ("training.lr=0.3", 1, "diverged"),
        (UGLY, 2, "failed"),
    ]


def test_curves_are_mean_and_extremes_over_completed_trials(evidence):
    data = curves.means(curves.curves(evidence, "recall", "validation_accuracy"))
    ids = evidence.trials.query("variant == 'training.lr=0.3' and status == 'completed'")["id"]
    assert len(ids) == 4
    points = evidence.curves.query("metric == 'validation_accuracy' and step == 150")
    expected = points[points["id"].isin(ids)]["value"]
    row = data[(data["variant"] == "training.lr=0.3") & (data["step"] == 150)].iloc[0]
    assert (row["mean"], row["low"], row["high"]) == pytest.approx(
        (expected.mean(), expected.min(), expected.max())
    )


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
        accent = headline.Headline().accent(Material(of, empty, empty))
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
