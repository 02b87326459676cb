"""`--condition`: one condition or task is trained first, and judged; the others are left."""

import pandas as pd
import pytest
from harness import TOY_STUDY, plan_here
from searching import PEAK_STUDY, PEAKS, table_at

import ablate
from ablate.base.errors import AblateError, StudyError
from ablate.pipeline.jobs.commands import write_commands
from ablate.session.options import Options

STUDY = TOY_STUDY + "conditions: {narrow: {}, wide: {model.width: 9}, die: {task: {name: die}}}\n"
TUNED = (
    PEAK_STUDY
    + """\
variants: {wide: {model.kind: wide}}
conditions: {low: {}, high: {model.heads: 2}}
tune: {over: {model.x: {choice: [0.1, 0.25, 0.4]}}, sampler: grid, at: high}
"""
)
SPACE = "{choice: [0.1, 0.25, 0.4]}}, sampler: grid, at: high}"


def verdicts(folder):
    table = pd.read_csv(folder / "comparisons.csv")
    planned = table[table.metric == "accuracy"]
    return {(row.variant, row.task): row.n for row in planned.itertuples()}


def test_a_condition_is_trained_and_judged_while_the_others_are_missing(run):
    outcome, printed = run(STUDY, condition=["wide"])
    assert (outcome.trained, outcome.missing) == (9, 18)
    assert outcome.folder.name == "toy@condition=wide"
    assert "18 of 27 trials have not been run" in printed
    assert set(ablate.load(outcome.folder).trials.task) == {"wide"}
    # What has not run still counts in the family.
    counts = verdicts(outcome.folder)
    assert len(counts) == 6
    assert {task for (_, task), count in counts.items() if count == 3} == {"wide"}
    assert run(STUDY)[0].trained == 18


@pytest.mark.slow
def test_several_conditions_and_variants_are_asked_for_together(run):
    outcome, _ = run(STUDY, condition=["wide", "die"], only=["model.effect=0.2"], seed=0)
    assert (outcome.trained, outcome.missing) == (4, 23)


def test_an_unknown_condition_is_refused(run):
    with pytest.raises(
        StudyError, match="--condition: is not a condition of the study; given 'wid'; allowed: narrow"
    ):
        run(STUDY, condition=["wid"])
    with pytest.raises(StudyError, match="allowed: coin, die"):
        run(TOY_STUDY.replace("task: {name: coin}", "tasks: [{name: coin}, {name: die}]"), condition=["dice"])


def test_a_plan_is_of_the_conditions_that_are_asked_for(write):
    study = write(STUDY)
    assert "27 trials to train" in plan_here(study)
    printed = plan_here(study, condition=["wide"])
    assert "9 trials to train" in printed
    assert "narrow " not in printed.partition("What its seeds")[0]


def test_jobs_are_of_the_conditions_that_are_asked_for(write, tmp_path):
    options = Options(results=tmp_path / "results", condition=["wide"])
    batch = write_commands(write(STUDY), options, tmp_path / "jobs.txt", _quiet())
    assert {cell.task for cell in batch.cells} == {"wide"}
    assert len(batch.cells) == 9
    lines = (tmp_path / "jobs.txt").read_text().splitlines()
    assert all("--condition wide" in line for line in lines)


@pytest.mark.slow
def test_tuning_at_a_condition_gives_its_choice_to_all(run):
    outcome, _ = run(TUNED)
    searched = table_at(outcome.folder)
    assert set(searched.trials.task) == {"high"}
    facts = ablate.load(outcome.folder).evidence.facts
    for variant in facts.variants:
        assert variant.tuned["low"] == variant.tuned["high"] == {"model.x": "0.25"}
        assert variant.rivals.get("low") == variant.rivals.get("high")
    assert "Variants were tuned at high" in (outcome.folder / "report.html").read_text()
    # A run of one condition takes the settings of the other.
    again, _ = run(TUNED, condition=["low"])
    assert again.trained == 0


def test_a_setting_that_another_condition_cannot_have_ends_the_run(write, run):
    plugin = PEAKS.read_text().replace('"peaks"', '"picky"')
    plugin = plugin.replace(
        'if config["model"]["heads"] == 7:',
        'if config["model"]["heads"] == 2 and 0.1 < config["model"]["x"] < 0.4 or config["model"]["heads"] == 7:',
    )
    write(plugin, "picky.py")
    text = TUNED.replace("workload: peaks", "workload: picky").replace(str(PEAKS), "picky.py")
    with pytest.raises(AblateError, match="chosen at low cannot be built there: "):
        run(text.replace(SPACE, "{float: [0.1, 0.4]}}, trials: 2, at: low}"))


def _quiet():
    from io import StringIO

    from rich.console import Console

    return Console(file=StringIO())
