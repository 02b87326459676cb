"""`tune:` from study to report: equal budgets on seeds that judge nothing, and what is judged afterwards."""

import re
from pathlib import Path

import pytest
from harness import clean_here, made_again_alone, stored
from searching import PEAK_STUDY
from searching import table_at as load

import ablate
from ablate.pipeline.plan.plan import plan_study, study_of
from ablate.records.folder import StudyFolder
from ablate.session.options import Options
from ablate.study.sections import TUNING_SEEDS_FROM

MADE = TUNED = (
    PEAK_STUDY
    + """\
variants:
  wide: {model.kind: wide}
  right: {model.x: 0.3}
placebo: true
tune:
  over: {training.lr: {float: [1e-5, 1e-1], log: true}}
  trials: 5
  seeds: 3
"""
)
SEARCHES, JUDGED = 3, 4
"""Baseline, wide and right; the placebo has the baseline's setting."""


@pytest.fixture
def tuned(ran: Path) -> Path:
    """The folder of the study, to be changed; `run` goes on in it."""
    return ran / "peaks"


@pytest.mark.slow
def test_every_variant_is_given_the_same_and_its_best_is_judged_on_seeds_that_never_tuned(made, tmp_path):
    folder = made / "results/peaks"
    searched, results = load(folder), ablate.load(folder)
    table = searched.trials
    assert len(stored(made / "results")) == SEARCHES * 5 * 3 + JUDGED * 3
    assert set(table.variant) == {"baseline", "wide", "right"}
    assert table.groupby("variant").size().unique().tolist() == [5]
    assert set(table.seeds) == {3}
    by_variant = {name: list(rows["training.lr"]) for name, rows in table.groupby("variant")}
    assert by_variant["wide"] == by_variant["right"] == by_variant["baseline"]
    assert len(set(table.ids.explode())) == SEARCHES * 5 * 3

    for name, rows in table.groupby("variant"):
        (chosen,) = rows.index[rows.chosen == name]
        assert rows.score.idxmax() == chosen
        judged = results.trials[results.trials.variant == name]
        assert set(judged.seed) == {0, 1, 2}
        facts = {v.name: v.tuned for v in results.evidence.facts.variants}
        assert facts[name] == {"peak": {"training.lr": f"{rows.loc[chosen, 'training.lr']:.12g}"}}
        assert facts["placebo"] == facts["baseline"]
    assert min(searched.facts.seeds) >= TUNING_SEEDS_FROM > max(results.trials.seed)
    assert not set(table.ids.explode()) & set(results.trials.id)

    assert (results.trials.score > -1.5).all(), "the learning rate that is given is far from the best"
    made_again_alone(folder, tmp_path)


@pytest.mark.slow
def test_the_same_run_again_trains_nothing_and_clean_keeps_what_tuned(tuned, run):
    run(TUNED)
    study, options = tuned.parents[1] / "study.yaml", Options(results=tuned.parent)
    kept = plan_study(*study_of(study, options), options, pytest.fail)
    assert (kept.at_most, set(kept.cached.values())) == (0, {3})
    more = Options(results=tuned.parent, seeds=4)
    assert plan_study(*study_of(study, more), more, pytest.fail).at_most > 0
    outcome, printed = run(TUNED)
    assert outcome.trained == 0
    assert "Nothing to train" in printed
    (tuned.parent / "store/studies/peaks.json").unlink()
    said = f"{tuned.parent}/store: nothing to remove; all 57 trials belong to a study."
    assert clean_here(tuned.parent) == (said, "")


@pytest.mark.slow
def test_a_claim_about_what_another_study_has_tuned_and_judged_is_late(tuned, run):
    """Its own tuning, and rivals, make none late."""
    claim = "claims: [wide beats baseline on score]\n"
    for name, seeds, late in (("again", "3", "True"), ("fresh", "{from: 7, count: 3}", "False")):
        text = TUNED.replace("name: peaks", f"name: {name}").replace("\nseeds: 3", f"\nseeds: {seeds}")
        outcome, _ = run(text + claim)
        assert (outcome.trained == 0) == (late == "True")
        assert [row["exploratory"] for row in StudyFolder.at(outcome.folder).claims()] == [late]


@pytest.mark.slow
def test_each_task_is_tuned_by_itself(run):
    text = TUNED.replace("task: {name: peak}", "tasks: [{name: peak}, {name: valley}]")
    text = text.replace("placebo: true\n", "").replace("trials: 5", "trials: 2")
    outcome, printed = run(text)
    table = load(outcome.folder).trials
    assert table.groupby(["variant", "task"]).size().to_dict() == {
        (variant, task): 2 for variant in ("baseline", "wide", "right") for task in ("peak", "valley")
    }
    assert (table.chosen != "").sum() == 6
    facts = {v.name: v for v in ablate.load(outcome.folder).evidence.facts.variants}
    assert set(facts["wide"].tuned) == {"peak", "valley"}
    assert re.search(r"setting 00\d on valley seed \d{5,}", printed)


@pytest.mark.slow
def test_a_variant_without_any_value_is_judged_as_it_was_given(run):
    text = TUNED.replace("placebo: true\n", "") + "training: {fault: diverge, above: 0.3}\n"
    outcome, printed = run(text)
    assert "warning: right: no setting has a value; it is compared as the study gives it" in printed
    table = load(outcome.folder).trials.set_index("variant")
    assert set(table.loc["right"].status) == {"diverged"}
    assert not table.loc["right"].chosen.any()
    results = ablate.load(outcome.folder)
    assert set(results.trials[results.trials.variant == "right"].status) == {"diverged"}
    assert not outcome.failed
    assert run(text)[0].trained == 0
