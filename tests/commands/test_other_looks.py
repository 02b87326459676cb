"""Several studies by the runs of one baseline are named in each of their reports, with the level that they have."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from harness import TOY, ablate_here
from scipy import stats

from ablate.core.other_looks import OtherRuns
from ablate.records.folder import StudyFolder

STUDY = f"""\
name: one
workload: toy
plugins: [{TOY}]
task: {{name: coin}}
factors: {{model.noise: [0.1001]}}
metric: {{name: accuracy, margin: 0.02}}
seeds: 8
"""
MADE = STUDY


@pytest.fixture
def here(ran: Path) -> Path:
    """The folder of the study, which has run once."""
    return ran.parent


def study(name: str, noise: float) -> str:
    return STUDY.replace("name: one\n", f"name: {name}\n", 1).replace("0.1001", str(noise))


def run(here: Path, text: str, *options: object) -> str:
    """Runs a study as it says now, and returns the answer."""
    (here / "study.yaml").write_text(text)
    done = ablate_here("run", "study.yaml", "--jobs", 0, "--json", *options, cwd=here)
    assert done.returncode == 0, done.stderr
    return " ".join(json.loads(done.stdout)["answer"])


def others(here: Path, name: str) -> OtherRuns:
    return StudyFolder(here / "results", name).facts().plan.other_runs


def simulated(num_variants: int, num_seeds: int) -> float:
    """The error rate of t tests of several variants against one baseline, drawn otherwise than by the package."""
    rng = np.random.default_rng(5)
    runs = rng.normal(size=(20_000, num_variants + 1, num_seeds))
    p = stats.ttest_1samp(runs[:, 1:] - runs[:, :1], 0.0, axis=2).pvalue
    return float((p.min(axis=1) <= 0.05).mean())


@pytest.mark.slow
def test_each_study_by_one_baseline_counts_all_of_them_and_has_their_level(here):
    assert others(here, "one") == OtherRuns()
    for number in range(2, 9):
        words = run(here, study(f"study{number}", 0.1 + number / 1000))
        found = others(here, f"study{number}")
        assert (found.comparisons, found.folders) == (number, [])
        assert len(found.shared) == number - 1
        if number in (3, 8):
            assert found.level == pytest.approx(simulated(number, 8), abs=0.012)
            assert found.level == pytest.approx({3: 0.13, 8: 0.27}[number], abs=0.006)
            assert f"{number} comparisons in this store" in words
    # The first report was up to date, and says it too.
    words = run(here, STUDY)
    assert "8 comparisons in this store" in words
    assert "study2" in words

    # Also where a folder was removed, of which the store has the list.
    shutil.rmtree(here / "results/study8")
    assert "8 comparisons in this store" in run(here, STUDY, "--fresh")


@pytest.mark.slow
def test_a_study_by_another_baseline_shares_nothing(here):
    text = study("wide", 0.3).replace("task:", "model: {width: 8}\ntask:", 1)
    assert "in this store" not in run(here, text)
    assert others(here, "wide") == OtherRuns()


@pytest.mark.slow
def test_variants_of_one_study_that_replaced_one_another_are_counted(here):
    for number in (2, 3):
        words = run(here, study("one", 0.1 + number / 1000))
    found = others(here, "one")
    assert found.comparisons == 3
    assert found.level == pytest.approx(0.13, abs=0.006)
    assert "3 comparisons in this store" in words


@pytest.mark.slow
def test_a_study_of_several_variants_has_one_level_for_all_of_them(here):
    found = run(here, STUDY.replace("name: one\n", "name: two\n", 1).replace("[0.1001]", "[0.2, 0.3, 0.4]"))
    assert "4 comparisons in this store" in found
    assert 0.06 < others(here, "two").level < 0.1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("now", "edits"),
    [
        ("metric: {name: accuracy,", ["metric: {name: loss,", "metric: {name: accuracy,"]),
        ("task:", ["model: {width: 8}\ntask:", "model: {width: 16}\ntask:"]),
    ],
)
def test_each_metric_and_setting_that_was_edited_in_place_is_a_comparison(here, now, edits):
    for edit in edits:
        words = run(here, STUDY.replace(now, edit, 1))
    found = others(here, "one")
    num_tests = 1 + len({*edits} - {now}) if now in edits else 1 + len(edits)
    assert found.comparisons == num_tests
    assert found.level == pytest.approx(1 - 0.95**num_tests, abs=0.006)
    assert f"{num_tests} comparisons in this store" in words


@pytest.mark.slow
def test_what_is_left_of_a_family_was_one_of_all_at_its_level(here):
    family = STUDY.replace("name: one\n", "name: all\n", 1).replace("0.1001", "0.102, 0.103, 0.104, 0.105")
    run(here, family.replace("seeds: 8", "seeds: 5"))
    left = family.replace("seeds: 8", "seeds: 5").replace("0.102, 0.103, 0.104, 0.105", "0.103")
    for name in ("chosen", "all"):
        run(here, left.replace("name: all\n", f"name: {name}\n", 1))
        of_family = others(here, name)
        # The study of eight seeds by the same baseline has a comparison, too.
        assert of_family.comparisons == 5
        assert of_family.level == pytest.approx(simulated(4, 5), abs=0.04)


@pytest.mark.slow
def test_a_confirmation_is_no_further_chance(here):
    answer = run(here, STUDY, "--confirm")
    assert "in this store use" not in answer


def test_a_damaged_list_of_another_study_leaves_a_report_up_to_date(here):
    run(here, study("two", 0.102))
    (here / "results/store/studies/two.json").write_text("damaged")
    run(here, STUDY)
    again = ablate_here("run", "study.yaml", "--jobs", 0, cwd=here)
    assert "is up to date" in again.stdout.replace("\n", " ")


def test_a_report_is_written_again_where_the_plans_are_damaged(here):
    (here / "results/one/plan.json").write_text("damaged")
    done = ablate_here("report", "one", cwd=here)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_a_placebo_of_an_earlier_plan_is_no_comparison(here):
    run(here, STUDY + "placebo: on\n")
    run(here, STUDY)
    assert others(here, "one") == OtherRuns()
