"""A confirmation of some conditions of a study is judged on these alone."""

import shutil
from pathlib import Path

import pytest
from harness import TOY_STUDY, prepare, toy_changed

from ablate import load
from ablate.pipeline.confirm import NothingDecided
from ablate.pipeline.prepare import reread
from ablate.pipeline.reports.reported import as_reported
from ablate.records.folder import StudyFolder
from ablate.session.options import Options
from ablate.study.facts import facts_of

RATED = Path(__file__).parents[1] / "rated.py"
STUDY = (
    TOY_STUDY.replace("noise: [0.1, 0.3]", "noise: [0.1001]")
    + """\
metric: {name: accuracy, margin: 0.05}
conditions: {small: {}, large: {model.width: 9}, largest: {model.width: 17}}
over: OVER
claims:
  - model.effect=0.2 beats baseline on accuracy
  - model.effect=0.2 beats baseline on accuracy at large
"""
)


def of(folder):
    """Returns the verdicts of the planned comparisons, and of the claims, of a report by variant or words."""
    made = load(folder)
    planned = made.comparisons[~made.comparisons.exploratory]
    planned = planned[planned.metric == "accuracy"].set_index(["variant", "task"]).verdict.to_dict()
    claims = dict(zip(made.claims.get("claim", []), made.claims.get("verdict", []), strict=True))
    return planned, claims


def test_what_holds_in_every_condition_is_confirmed_on_the_one_that_is_asked_for(run):
    text = STUDY.replace("OVER", "every")
    first, _ = run(text)
    planned, claims = of(first.folder)
    assert set(planned.values()) == {"better", "equivalent"}
    assert set(claims.values()) == {"supported"}

    again, printed = run(text, confirm=True, condition=["small"])
    planned, claims = of(again.folder)
    assert planned == {("model.effect=0.2", "small"): "better", ("model.noise=0.1001", "small"): "equivalent"}
    assert claims == {"model.effect=0.2 beats baseline on accuracy": "supported"}
    assert (again.trained, again.missing) == (9, 0)
    assert "on small alone, of 3 conditions" in " ".join(printed.split())

    # What another run of the same confirmation has trained takes no part, and its plan is no earlier one.
    run(text, confirm=True, condition=["large"])
    once_more, _ = run(text, confirm=True, condition=["small"])
    assert once_more.trained == 0
    confirmed = load(once_more.folder)
    assert set(confirmed.trials.task) == {"small"}
    assert confirmed.evidence.facts.plan.replanned is None

    # Under its name it is taken as it was run, and so is the file beside its report.
    study, _, folder = reread(once_more.folder, Options(results=first.folder.parent), trust=True)
    assert (study.tasks, folder.name) == (["small"], once_more.folder.name)
    assert study.overrides == ["condition=small"]
    from_its_file, _ = run(once_more.folder / "study.yaml", results=first.folder.parent)
    assert (from_its_file.folder, from_its_file.trained, from_its_file.missing) == (once_more.folder, 0, 0)
    assert load(from_its_file.folder).evidence.facts.plan.differs == ["condition=small"]


def test_two_of_three_conditions_are_confirmed_in_both(run):
    text = STUDY.replace("OVER", "every")
    run(text)
    again, _ = run(text, confirm=True, condition=["small", "large"])
    facts = load(again.folder).evidence.facts
    assert facts.over.form == "every"
    assert [task.name for task in facts.tasks] == ["small", "large"]
    planned, claims = of(again.folder)
    assert planned == {("model.effect=0.2", "every"): "better", ("model.noise=0.1001", "every"): "equivalent"}
    assert len(claims) == 2


def test_what_one_condition_refutes_is_confirmed_in_that_one_alone(run, tmp_path):
    text = toy_changed(
        tmp_path, "wide", ('model["effect"] +', 'model["effect"] * (1 if model["width"] > 8 else -1) +')
    )
    text = text.replace("  model.noise: [0.1, 0.3]\n", "")
    text += "conditions: {small: {}, large: {model.width: 9}}\nover: every\n"
    text += "claims: [model.effect=0.2 beats baseline on accuracy]\n"
    run(text)
    again, _ = run(text, confirm=True, condition=["small"])
    assert [*of(again.folder)[1].values()] == ["refuted"]
    with pytest.raises(NothingDecided, match="on large alone, of 2 conditions"):
        run(text, confirm=True, condition=["large"])


def test_a_mean_over_conditions_is_not_confirmed_by_one_of_them(run):
    text = STUDY.replace("OVER", "mean")
    run(text)
    again, _ = run(text, confirm=True, condition=["small"])
    facts = load(again.folder).evidence.facts
    assert len(facts.tasks) == 3
    assert set(of(again.folder)[0].values()) == {"inconclusive"}
    assert again.missing == 18


def test_what_another_condition_decided_is_nothing_to_confirm_here(run, tmp_path):
    text = toy_changed(tmp_path, "wide", ('model["effect"] +', 'model["effect"] * (model["width"] > 8) +'))
    text = text.replace("  model.noise: [0.1, 0.3]\n", "")
    text += "conditions: {small: {}, large: {model.width: 9}}\n"
    first, _ = run(text)
    planned, _ = of(first.folder)
    assert planned == {("model.effect=0.2", "small"): "inconclusive", ("model.effect=0.2", "large"): "better"}
    with pytest.raises(NothingDecided, match="on small alone, of 2 conditions"):
        run(text, confirm=True, condition=["small"])


def test_a_task_without_the_primary_metric_is_confirmed_alone(run, tmp_path):
    of_task = (
        'dict(list(METRICS.items())[CONFIG["task"]["name"] == "die" :])'  # Of `die` without the accuracy.
    )
    described = of_task.replace("METRICS", "self.metrics").replace("CONFIG", "config")
    measured = of_task.replace("METRICS", "metrics").replace("CONFIG", "trial.config")
    text = toy_changed(
        tmp_path,
        "two",
        ("Description(self.metrics,", f"Description({described},"),
        ("metrics=metrics,", f"metrics={measured},"),
    )
    text = text.replace("task: {name: coin}", "tasks: [{name: coin}, {name: die}]")
    text += "claims: [model.effect=0.2 beats baseline on loss at die]\n"
    run(text)
    again, _ = run(text, confirm=True, condition=["die"])
    (claim,) = load(again.folder).claims.itertuples()
    assert (claim.verdict, claim.task) == ("supported", "die")


def test_a_claim_on_a_metric_that_the_condition_lacks_is_not_confirmed_there(run, tmp_path):
    of_coin = 'stability={"loss": self.metrics["loss"]} if config["task"]["name"] == "coin" else {}'
    text = toy_changed(
        tmp_path,
        "one",
        ("Description(self.metrics,", 'Description({"accuracy": self.metrics["accuracy"]},'),
        ("flops=100)", f"flops=100, {of_coin})"),
    )
    text = text.replace("task: {name: coin}", "tasks: [{name: coin}, {name: die}]")
    text += "family: claims\nclaims: [model.effect=0.2 beats baseline on loss]\n"
    run(text)
    again, _ = run(text, confirm=True, condition=["coin"])
    assert list(of(again.folder)[1].values()) == ["supported"]
    with pytest.raises(NothingDecided, match="on die alone, of 2 tasks"):
        run(text, confirm=True, condition=["die"])


def test_a_trend_takes_no_part_where_too_few_of_its_conditions_are_confirmed(run):
    text = STUDY.replace("OVER", "every") + "along: model.width\n"
    first, _ = run(text)
    again, _ = run(text, confirm=True, condition=["small", "large"])
    assert load(first.folder).evidence.facts.over.along == "model.width"
    assert load(again.folder).evidence.facts.over.along == ""


def test_what_another_condition_knew_before_its_plan_is_not_known_here(run):
    text = STUDY.replace("OVER", "every")
    run(text)
    small, _ = run(text, confirm=True, condition=["small"])
    shutil.rmtree(small.folder)
    known, _ = run(text, confirm=True, condition=["small"])
    fresh, _ = run(text, confirm=True, condition=["large"])
    assert load(known.folder).evidence.facts.plan.replanned.known
    assert load(fresh.folder).evidence.facts.plan.replanned is None


def test_a_condition_may_have_the_name_of_the_form_of_verdicts(run, tmp_path):
    text = toy_changed(tmp_path, "wide", ('model["effect"] +', 'model["effect"] * (model["width"] > 8) +'))
    text = text.replace("  model.noise: [0.1, 0.3]\n", "")
    text += "conditions: {each: {model.width: 9}, other: {}}\n"
    first, _ = run(text)
    assert of(first.folder)[0]["model.effect=0.2", "each"] == "better"
    with pytest.raises(NothingDecided, match="on other alone, of 2 conditions"):
        run(text, confirm=True, condition=["other"])


def test_a_claim_on_what_a_stage_measures_is_confirmed_on_one_condition(run):
    text = f"""\
name: stressed
workload: rated
plugins: [{RATED}]
metric: {{name: accuracy, margin: 0.05}}
seeds: 6
variants: {{weak: {{model.limit: 0.02, model.effect: 0.2}}}}
conditions: {{one: {{}}, two: {{model.fails_at: 1.0}}}}
stress: {{training.lr: [0.001, 0.003, 0.01, 0.03, 0.1]}}
claims: [baseline beats weak on lr_sensitivity]
"""
    first, _ = run(text)
    assert list(of(first.folder)[1].values()) == ["supported"]
    again, _ = run(text, confirm=True, condition=["two"])
    assert of(again.folder)[1] == {"baseline beats weak on lr_sensitivity": "supported"}
    assert again.trained == 6 * 2 * 5
    from_its_file, _ = run(again.folder / "study.yaml", results=first.folder.parent)
    assert (from_its_file.folder, from_its_file.trained) == (again.folder, 0)


def test_metric_and_target_are_those_of_the_study_whichever_condition_is_confirmed(write, tmp_path):
    solved_late = (
        'Metric("max", solved=1.3) if config["task"]["name"] == "die" else Metric("max", solved=0.5)'
    )
    text = toy_changed(
        tmp_path,
        "late",
        ("Description(self.metrics,", f'Description(self.metrics | {{"accuracy": {solved_late}}},'),
    )
    text = text.replace("task: {name: coin}", "tasks: [{name: coin}, {name: die}]")
    study = prepare(write(text + "claims: [model.effect=0.2 beats baseline on steps_to_target]\n"))
    alone = study.judged_on(["die"])
    assert (alone.metric, facts_of(alone).target) == (study.metric, facts_of(study).target)
    assert facts_of(alone).target == {"accuracy": 0.5}


def test_settings_that_each_seed_chose_in_another_condition_are_chosen_there_again(run):
    text = TOY_STUDY.replace("noise: [0.1, 0.3]", "noise: [0.1001]").replace("  model.noise: [0.1001]\n", "")
    text += "conditions: {narrow: {}, wide: {model.width: 9}}\n"
    text += "tune: {at: narrow, each_seed: on, over: {model.noise: {choice: [0.05, 0.1]}}, sampler: grid}\n"
    run(text)
    again, _ = run(text, confirm=True, condition=["wide"])
    assert (set(load(again.folder).trials.task), again.missing) == ({"wide"}, 0)


def test_a_report_keeps_the_configs_of_its_conditions_in_whatever_order_they_are_written(run, write):
    conditions = ["narrow: {}", "wide: {model.width: 9}"]
    text = (
        TOY_STUDY + "tune: {over: {training.steps: {choice: [2, 3]}}, sampler: grid}\nconditions: {ORDER}\n"
    )
    first, _ = run(text.replace("ORDER", ", ".join(conditions)))
    turned = prepare(write(text.replace("ORDER", ", ".join(reversed(conditions)))))
    (baseline, *_) = as_reported(turned, StudyFolder(first.folder.parent, "toy")).variants
    assert [*baseline.configs] == ["wide", "narrow"]
    assert {task: config["model"]["width"] for task, config in baseline.configs.items()} == {
        "narrow": 4, "wide": 9,
    }  # fmt: skip
