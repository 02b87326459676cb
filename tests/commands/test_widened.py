"""`tune: {widen: on}` from study to report: a grid that is widened until no best value lies at its edge."""

import json

import pandas as pd
import pytest
from harness import ablate, ablate_here, problems
from searching import PEAK_STUDY, PEAKS, frame_at, table_at

from ablate.analysis.widening import AddedValue

PLACE = '["lr"]) + 3)'
SOURCE = (
    PEAKS.read_text()
    .replace('"peaks")', '"two_peaks")')
    .replace(PLACE, '["lr"]) + (2 if model["kind"] == "wide" else 3))')
)
"""Peaks whose best rate is 0.001 where they are plain, and 0.01 where they are wide."""
STUDY = (
    PEAK_STUDY.replace("workload: peaks", "workload: two_peaks").replace(str(PEAKS), "two_peaks.py")
    + """\
variants: {wide: {model.kind: wide}}
tune:
  over: {training.lr: {choice: [0.003, 0.01, 0.03]}}
  sampler: grid
  widen: on
"""
)
ADDED = [
    AddedValue("training.lr", "lower", "0.001", 1),
    AddedValue("training.lr", "lower", "0.0003", 2),
]
GRID = ["0.003", "0.01", "0.03", "0.001", "0.0003"]
"""The values in the order in which they are tried."""


def folder_with(folder, text=STUDY, source=SOURCE):
    """A folder with a study and its plugin."""
    assert PLACE not in source
    folder.mkdir(exist_ok=True)
    (folder / "two_peaks.py").write_text(source)
    (folder / "study.yaml").write_text(text)
    return folder


def run_in(folder, *options):
    """What a run prints, in one line; it must end well."""
    done = ablate_here("run", "study.yaml", "--jobs", 0, *options, cwd=folder)
    assert done.returncode == 0, done.stderr
    return " ".join(done.stdout.split())


@pytest.fixture(scope="module")
def widened(tmp_path_factory):
    """A folder in which the study has run once."""
    folder = folder_with(tmp_path_factory.mktemp("widened"))
    run_in(folder)
    return folder


def test_what_the_best_of_one_variant_asks_for_is_added_for_all_and_dated_and_reported(widened):
    searched = table_at(widened / "results/peaks")
    assert searched.facts.added == ADDED
    assert searched.facts.parameters[0].choices == ["0.0003", "0.001", "0.003", "0.01", "0.03"]
    assert searched.facts.trials == 5
    for variant, best in (("baseline", "0.001"), ("wide", "0.01")):
        settings = searched.trials[searched.trials.variant == variant]
        assert list(settings["training.lr"]) == GRID
        assert list(settings.loc[settings.chosen == variant, "training.lr"]) == [best]

    (plan,) = json.loads((widened / "results/peaks/plan.json").read_text())
    assert plan["settings"]["tune.widen"].startswith(
        "on: where the best value of any variant lies at an edge"
    )
    page = (widened / "results/peaks/report.md").read_text()
    assert "at the lower edge" not in page
    assert (
        "at most 3 times a side: learning rate 0.001 after round 1 and learning rate 0.0003 after round 2"
        in page
    )


def test_a_run_after_it_trains_nothing_and_a_plan_counts_the_most_that_may_be_added(widened, tmp_path):
    assert "Nothing to train" in run_in(widened)
    done = ablate_here("plan", "study.yaml", cwd=folder_with(tmp_path / "planned"))
    said = " ".join(done.stdout.split())
    assert "for score (max) on 3 tuning seeds: at most 18 trials" in said
    assert "training.lr: 0.001, 0.0003, 0.0001 below; training.lr: 0.1, 0.3, 1.0 above" in said
    assert "): at most 36 trials more." in said
    assert "At most 78 trials to train" in said


@pytest.mark.slow
def test_a_search_that_is_killed_between_rounds_adds_the_same(widened, tmp_path):
    once = tmp_path / "once"
    place = "        top = height(trial.config)\n"
    assert place in SOURCE
    # At the second value that is added, of the second variant, the whole process ends, once.
    kill = (
        f'        is_late = training["lr"] == 0.0003 and model["kind"] == "wide"\n'
        f'        if is_late and not os.path.exists("{once}"):\n'
        f'            open("{once}", "w").close()\n            os.kill(os.getpid(), 9)\n'
    )
    folder = folder_with(tmp_path / "killed", source=SOURCE.replace(place, place + kill))
    assert ablate("run", "study.yaml", "--jobs", 0, cwd=folder, timeout=500).returncode == -9
    assert once.exists()
    run_in(folder)
    whole = table_at(widened / "results/peaks")
    assert table_at(folder / "results/peaks").facts.added == whole.facts.added
    found = frame_at(folder / "results/peaks").drop(columns="ids")
    pd.testing.assert_frame_equal(found, frame_at(widened / "results/peaks").drop(columns="ids"))


@pytest.mark.slow
def test_an_edge_that_is_left_is_a_limitation(tmp_path):
    text = STUDY.replace("[0.003, 0.01, 0.03]}", "[0.03, 0.1, 0.3]}, model.heads: {choice: [1, 2, 3]}")
    folder = folder_with(tmp_path, text)
    said = run_in(folder)
    assert (
        "The best learning rate is still at the lower edge after 3 steps by which its grid was widened"
        in said
    )
    assert "so a better one may lie outside: baseline (0.001)." in said
    # Heads change nothing of what is plain, and the first of them is chosen: there is none below 1.
    assert (
        "The best heads lies at the lower edge of its grid, beyond which its next value is not allowed"
        in said
    )
    added = table_at(folder / "results/peaks").facts.added
    assert [(one.value, one.round) for one in added] == [
        ("0.01", 1), ("4", 1), ("0.003", 2), ("0.001", 3)
    ]  # fmt: skip


@pytest.mark.slow
def test_variants_and_conditions_that_are_left_out_ask_for_no_value(widened):
    run_in(widened, "--only", "wide")
    assert table_at(widened / "results/peaks@only=wide").facts.added == ADDED, (
        "the baseline is always searched"
    )


@pytest.mark.slow
def test_a_confirmation_widens_on_its_own_tuning_seeds(widened):
    said = run_in(widened, "--confirm")
    assert "tuned again" in said
    first = table_at(widened / "results/peaks").facts
    again = table_at(widened / "results/peaks@confirm").facts
    assert again.added == ADDED
    assert not {*again.seeds} & {*first.seeds}


CONDITIONS = "conditions: {low: {}, high: {model.kind: wide}}\nvariants: {many: {model.heads: 3}}\n"
OVER_CONDITIONS = STUDY.replace("variants: {wide: {model.kind: wide}}\n", CONDITIONS)


@pytest.mark.slow
def test_what_the_best_in_one_condition_asks_for_is_added_in_all(tmp_path):
    folder = folder_with(tmp_path, OVER_CONDITIONS)
    run_in(folder, "--condition", "high")
    at_high = table_at(folder / "results/peaks@condition=high")
    assert (at_high.facts.added, {*at_high.trials.task}) == ([], {"high"})
    run_in(folder)
    searched = table_at(folder / "results/peaks")
    assert searched.facts.added == ADDED
    for _, settings in searched.trials.groupby(["variant", "task"]):
        assert list(settings["training.lr"]) == GRID


@pytest.mark.slow
def test_variants_that_are_tuned_at_one_condition_for_all_widen_by_that_alone(tmp_path):
    folder = folder_with(tmp_path, OVER_CONDITIONS + "  at: high\n")
    run_in(folder)
    assert table_at(folder / "results/peaks").facts.added == []
    assert "at most 3 times a side: none was." in (folder / "results/peaks/report.md").read_text()


@pytest.mark.slow
def test_the_best_of_any_seed_counts_where_each_seed_chooses_for_itself(tmp_path):
    folder = folder_with(tmp_path, STUDY + "  each_seed: on\n")
    run_in(folder)
    searched = table_at(folder / "results/peaks")
    assert searched.facts.added == ADDED
    assert searched.facts.seeds == [0, 1, 2]


TUNE = "tune: {over: {OVER}, sampler: grid, widen: on}\n"


@pytest.mark.parametrize(
    ("over", "refused"),
    [
        (
            "training.lr: {float: [0, 1], step: 0.1}",
            "line 7: tune.over.training.lr.float: is a range, and `widen` adds values to choices of numbers; given "
            "[0.0, 1.0]. Write its values as {choice: [1, 2, 4]}",
        ),
        (
            "model.heads: {int: [1, 4]}",
            "line 7: tune.over.model.heads.int: is a range, and `widen` adds values to choices of numbers; given "
            "[1, 4]. Write its values as {choice: [1, 2, 4]}",
        ),
        (
            "training.lr: {choice: [0.1, 1]}",
            "line 7: tune.over.training.lr.choice: has too few numbers to be widened: each lies at an edge; given "
            "[0.1, 1]; allowed: 3 or more. Add a third number, as 10, or take training.lr out of `over`, so that every "
            "variant has 0.1, as the study gives it",
        ),
        (
            "training.lr: {choice: [0, 1]}",
            "line 7: tune.over.training.lr.choice: has too few numbers to be widened: each lies at an edge; given "
            "[0, 1]; allowed: 3 or more. Add a third number, as 2, or take training.lr out of `over`, so that every "
            "variant has 0.1, as the study gives it",
        ),
        (
            "model.heads: {choice: [2, 3]}",
            "line 7: tune.over.model.heads.choice: has too few numbers to be widened: each lies at an edge; given "
            "[2, 3]; allowed: 3 or more. Add a third number, as 4, or take model.heads out of `over`, so that every "
            "variant has 1, as the study gives it",
        ),
        (
            "training.lr: {choice: [1]}",
            "line 7: tune.over.training.lr.choice: has too few numbers to be widened: each lies at an edge; given "
            "[1]; allowed: 3 or more. Add two numbers that go on with it, or take training.lr out of `over`, so that "
            "every variant has 0.1, as the study gives it",
        ),
        (
            "training.lr: {choice: [0.1, 1, 5]}",
            "line 7: tune.over.training.lr.choice: goes on by no rule, so that `widen` has no next value; given "
            "[0.1, 1, 5]; allowed: one step, as 1, 2, 3; or one ratio, as 1, 2, 4, or that repeats each decade, as "
            "1, 3, 10. Or take training.lr out of `over`, so that every variant has 0.1, as the study gives it",
        ),
        (
            "model.kind: {choice: [plain, wide]}",
            "line 7: tune.widen: adds numbers to a grid, and no searched path is a choice of numbers. Remove `widen`",
        ),
    ],
)
def test_a_space_that_cannot_be_widened_is_refused(write, over, refused):
    assert problems(write(PEAK_STUDY + TUNE.replace("OVER", over))) == [refused]


def test_another_sampler_than_a_grid_is_refused(write):
    text = TUNE.replace("OVER", "training.lr: {choice: [0.1, 1, 10]}").replace("grid", "random")
    assert problems(write(PEAK_STUDY + text)) == [
        "line 7: tune.widen: adds values to a grid, and the sampler is no grid; given 'random'. Give `sampler: grid`, "
        "or remove `widen`"
    ]
