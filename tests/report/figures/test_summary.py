"""One picture of a study: its rows, its numbers in points, its title and its cost."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from made_evidence import study as made
from synthetic import LOSS, study

from ablate.analysis.claims import judge_claims
from ablate.analysis.compare import compare
from ablate.core.facts import Evidence
from ablate.report.export.paper import Wanted, for_paper
from ablate.report.figures.summary import AROUND, ROW, SETTINGS, TITLE_LINE, WIDTH
from ablate.report.figures.theme import theme
from ablate.report.section import ReportData
from ablate.report.summary import Spent, spent, summary_picture


def report_data(evidence: Evidence) -> ReportData:
    return ReportData(evidence, compare(evidence), judge_claims(evidence))


@pytest.fixture(scope="module")
def picture():
    return summary_picture(report_data(study(claims=False)))


def test_variants_stand_by_their_difference_and_the_placebo_last(picture):
    rows = picture.data
    values = rows.loc[~rows["placebo"], "value"]
    assert values.is_monotonic_increasing
    assert list(rows["placebo"]) == [False] * (len(rows) - 1) + [True]


def test_differences_of_a_share_are_points_and_seeds_and_margin_too(picture):
    comparisons = compare(study(claims=False)).set_index(["variant", "metric"])
    rows = picture.data.set_index("variant")
    name = "model.position=none"
    assert rows.loc[name, "value"] == pytest.approx(100 * comparisons.loc[(name, "accuracy"), "diff"])
    seeds, title, label, _, margin = picture.options
    assert seeds.groupby("variant")["difference"].mean()[name] == pytest.approx(rows.loc[name, "value"])
    assert margin == pytest.approx(2.0)
    assert "points" in label
    assert "600 steps" in title


def test_a_loss_keeps_its_sign_and_its_unit():
    values = {"baseline": [1.0, 1.1, 1.2], "a": [1.5, 1.62, 1.7]}
    found = summary_picture(report_data(made(values, metric="loss", metrics={"loss": LOSS}, margin=0.1)))
    assert found.data["value"].iloc[0] == pytest.approx(np.mean([0.5, 0.52, 0.5]))
    assert found.data["verdict"].iloc[0] == "worse"
    assert "left is better" in found.options[2]


def test_it_has_the_size_of_a_readme_one_axis_and_no_legend(picture):
    with theme(SETTINGS):
        figure = picture.draw()
        figure.draw_without_rendering()
    heading = figure.get_suptitle()
    assert "…" not in heading
    height = AROUND + TITLE_LINE * len(heading.splitlines()) + ROW * len(picture.data)
    assert tuple(figure.get_size_inches()) == pytest.approx((WIDTH, height))
    (ax,) = figure.axes
    title = next(text for text in figure.texts if text.get_text() == heading)
    assert title.get_window_extent().y0 >= ax.get_window_extent().y1
    assert ax.get_legend() is None
    assert not figure.legends
    low, high = ax.get_xlim()
    assert picture.data["value"].between(low, high).all()
    assert len(ax.texts) == len(picture.data)
    for text in [*ax.texts, *figure.texts]:
        box = text.get_window_extent()
        assert box.x1 <= figure.bbox.width + 1
        assert box.y0 >= -1


def test_what_a_study_spent_counts_each_seed_of_a_setting():
    evidence = study(claims=False, num_seeds=2, trouble=False)
    trials = evidence.trials.assign(train_seconds=3.0)
    search = pd.DataFrame({"seeds": [3, 3], "train_seconds": [9.0, 6.0]})
    search = search.assign(variant="a", task="t", status="completed")
    kept = pd.DataFrame({"value": [1.0]})
    found = spent(replace(evidence, trials=trials, frames={"search": search, "speed": kept}))
    assert found == Spent(len(trials) + 6, 3.0 * len(trials) + 15.0)


def test_a_trial_during_which_the_machine_slept_counts_as_the_others_of_its_variant():
    evidence = study(claims=False, num_seeds=5, trouble=False)
    of_variant = evidence.trials["variant"].astype("category").cat.codes
    trials = evidence.trials.assign(train_seconds=3.0 + of_variant)
    usual = spent(replace(evidence, trials=trials))
    trials.loc[trials.index[7], "train_seconds"] += 2600.0
    assert spent(replace(evidence, trials=trials)) == usual
    trials.loc[trials.index[7], "train_seconds"] = 12.0  # A slow trial is none of a machine that slept.
    assert spent(replace(evidence, trials=trials)).seconds > usual.seconds


def test_of_two_trials_the_shorter_is_the_usual_one():
    evidence = study(claims=False, num_seeds=2, trouble=False)
    trials = evidence.trials.assign(train_seconds=3.0)
    trials.loc[trials.index[1], "train_seconds"] = 3000.0
    assert spent(replace(evidence, trials=trials)).seconds == 3.0 * len(trials)


def test_a_setting_that_takes_long_was_not_paused():
    evidence = study(claims=False, num_seeds=2, trouble=False)
    trials = evidence.trials.assign(train_seconds=3.0)
    search = pd.DataFrame({"seeds": 3, "train_seconds": [9.0, 9.0, 9.0, 450.0]})
    search = search.assign(variant="a", task="t", status="completed")
    found = spent(replace(evidence, trials=trials, frames={"search": search}))
    assert found.seconds == trials["train_seconds"].sum() + search["train_seconds"].sum()


def test_trials_that_end_early_do_not_make_the_others_look_paused():
    evidence = study(claims=False, num_seeds=5, trouble=False)
    early = evidence.trials["seed"] < 3
    trials = evidence.trials.assign(train_seconds=np.where(early, 1.0, 60.0))
    trials["status"] = np.where(early, "diverged", "completed")
    assert spent(replace(evidence, trials=trials)).seconds == trials["train_seconds"].sum()


def test_trials_whose_time_is_not_kept_count_as_the_mean_of_those_that_are_judged():
    evidence = study(claims=False, num_seeds=2, trouble=False)
    trials = evidence.trials.assign(train_seconds=3.0)
    stress = pd.DataFrame({"id": [trials["id"].iloc[0], "at 0.01", "at 0.03"]})
    found = spent(replace(evidence, trials=trials, frames={"stress": stress}))
    assert found == Spent(len(trials) + 2, 3.0 * (len(trials) + 2))


def test_a_study_that_judged_nothing_by_a_difference_has_none():
    alone = study(factors={"a": {"x": 0.0}}, named={}, placebo=False, claims=False, num_seeds=2)
    assert summary_picture(report_data(alone)) is None


@pytest.mark.slow
def test_export_writes_it_as_files_of_its_own():
    files = for_paper(report_data(study(claims=False)), Wanted(3.25, ["summary"]), pytest.fail)
    assert sorted(files) == ["summary.pdf", "summary.svg"]
    assert b"<text" not in files["summary.svg"], "a README brings no font"
