"""A confirmation of some conditions of a study is judged on these alone."""

from harness import TOY_STUDY

from ablate import load

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
    return planned, made.claims.set_index("claim").verdict.to_dict()


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

    # What another run of the same confirmation has trained takes no part.
    run(text, confirm=True, condition=["large"])
    once_more, _ = run(text, confirm=True, condition=["small"])
    assert once_more.trained == 0
    assert set(load(once_more.folder).trials.task) == {"small"}


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


def test_a_mean_over_conditions_is_not_confirmed_by_one_of_them(run):
    text = STUDY.replace("OVER", "mean")
    run(text)
    again, _ = run(text, confirm=True, condition=["small"])
    facts = load(again.folder).evidence.facts
    assert len(facts.tasks) == 3
    assert set(of(again.folder)[0].values()) == {"inconclusive"}
    assert again.missing == 18
