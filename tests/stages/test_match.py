"""`match:` in a study: what is trained, what is said of it, and what is refused before anything trains."""

import dataclasses

import pytest
from harness import features, prepare

from ablate.base.errors import Invalid
from ablate.base.registry import CATALOGUE
from ablate.records.facts_file import facts_from, plain_facts
from ablate.study.facts import facts_of
from ablate.study.patch import value_at

CATALOGUE.load_builtin()
EXPANSION = "model.feedforward.expansion"
MODEL = """\
name: fair
task: {name: recall, vocab_size: 16, seq_len: 5, num_pairs: 2}
model: {d_model: 32, num_layers: 1, mixer: {num_heads: 4}}
training: {steps: 40}
"""
TASK = "task: {name: recall, vocab_size: 16, seq_len: 5, num_pairs: 2}\n"
RANKS = "factors: {model.mixer.value: [{name: low_rank, rank: 2}, {name: low_rank, rank: 8}]}\n"
BY_EXPANSION = f"match: {{parameters: baseline, by: {EXPANSION}}}\n"


def given(experiment, name):
    """What a variant was given, one a task."""
    [variant] = [variant for variant in experiment.variants if variant.name == name]
    return [experiment.adjust.row(name, task, config) for task, config in variant.configs.items()]


@pytest.mark.slow
def test_variants_have_the_parameters_of_the_baseline(write):
    unmatched = prepare(write(MODEL + RANKS + "placebo: on\n", "unmatched.yaml"))
    experiment = prepare(write(MODEL + RANKS + "placebo: on\n" + BY_EXPANSION))
    base, two, eight, placebo = experiment.variants
    names = [v.name for v in unmatched.variants]
    assert [v.name for v in experiment.variants] == names
    assert experiment.design.labels["model.mixer.value"] == unmatched.design.labels["model.mixer.value"]
    target = experiment.describe(base)["recall"].parameters
    assert base.configs == placebo.configs == unmatched.variants[0].configs
    for variant in (two, eight):
        (described,), (row,) = experiment.describe(variant).values(), given(experiment, variant.name)
        assert abs(described.parameters / target - 1) <= 0.01
        assert (row.achieved, row.residual) == (described.parameters, described.parameters / target - 1)
        assert row.value == value_at(variant.first_config, EXPANSION)
    assert given(experiment, base.name)[0].residual == 0


@pytest.mark.slow
def test_facts_and_trials_are_those_of_matched_variants(write):
    path = write(MODEL + RANKS + BY_EXPANSION + "seeds: 1\n")
    experiment = prepare(path)
    facts = facts_of(experiment)
    found = features(path)["match"]
    assert (found["quantity"], found["by"]) == ("parameters", EXPANSION)
    assert (found["target"], found["within"]) == ("baseline", 0.01)
    variant = facts.variants[1]
    (row,) = given(experiment, variant.name)
    assert dataclasses.asdict(row) in found["rows"]
    assert row.achieved == variant.parameters["recall"]
    assert variant.examples == {"recall": 40 * 64}
    assert facts_from(plain_facts(facts)) == facts
    trials = {cell.variant: cell.trial for cell in experiment.cells()}
    assert value_at(trials[variant.name].config, EXPANSION) == row.value
    plain = write(MODEL + RANKS + "seeds: 1\n", "bare.yaml")
    bare = prepare(plain)
    ids = {cell.variant: cell.trial.id for cell in bare.cells()}
    assert {name for name in ids if ids[name] == trials[name].id} == {"baseline"}
    assert "match" not in features(plain)


@pytest.mark.slow
def test_a_number_matches_the_baseline_too(write):
    match = f"match: {{parameters: 20000, by: {EXPANSION}}}\n"
    path = write(MODEL + RANKS + "placebo: on\n" + match)
    experiment = prepare(path)
    for variant in experiment.variants:
        assert abs(experiment.describe(variant)["recall"].parameters / 20_000 - 1) <= 0.01
    assert experiment.variants[-1].configs == experiment.variants[0].configs
    assert features(path)["match"]["target"] == "20000"


@pytest.mark.slow
def test_whole_numbers_stay_whole_and_step_over_what_the_heads_do_not_divide(write):
    match = "match: {parameters: 40000, by: model.d_model, within: 0.2}\n"
    experiment = prepare(write(MODEL + RANKS + match))
    for variant in experiment.variants:
        width = value_at(variant.first_config, "model.d_model")
        assert type(width) is int
        assert width % 4 == 0


@pytest.mark.slow
@pytest.mark.parametrize("quantity", ["flops", "compute"])
def test_other_quantities(write, quantity):
    by = EXPANSION if quantity == "flops" else "training.steps"
    match = f"match: {{{quantity}: baseline, by: {by}, within: 0.02}}\n"
    experiment = prepare(write(MODEL + RANKS + match))
    base = getattr(experiment.baseline_description, quantity)
    changed = []
    for variant in experiment.variants[1:]:
        achieved = getattr(experiment.describe(variant)["recall"], quantity)
        assert abs(achieved / base - 1) <= 0.02
        changed.append(value_at(variant.first_config, by))
    assert type(changed[0]) is (float if quantity == "flops" else int)
    assert changed[0] > changed[1] > value_at(experiment.variants[0].first_config, by)


@pytest.mark.slow
def test_every_task_has_its_own_target(write):
    tasks = (
        "tasks: [{name: recall, seq_len: 5, vocab_size: 16}, {name: recall, seq_len: 20, vocab_size: 64}]\n"
    )
    experiment = prepare(write(MODEL.replace(TASK, tasks) + RANKS + BY_EXPANSION))
    for variant in experiment.variants:
        rows = given(experiment, variant.name)
        for described, row in zip(experiment.describe(variant).values(), rows, strict=True):
            assert described.parameters == row.achieved
            assert abs(row.residual) <= 0.01
    first, second = given(experiment, experiment.variants[1].name)
    assert first.achieved != second.achieved


@pytest.mark.slow
def test_a_search_may_match_any_config(write):
    experiment = prepare(write(MODEL + RANKS + BY_EXPANSION))
    matcher, config = experiment.adjust, experiment.variants[0].first_config
    matched = experiment.patched(config, {"model.mixer": {"num_heads": 4, "d_k": 4}}, "recall")
    found = matcher.row("", "recall", matched)
    assert abs(found.residual) <= 0.01
    assert experiment.workload.describe(matched).parameters == found.achieved
    # What is matched stays as it is.
    assert matcher(matched, "recall") == experiment.patched(matched, {}, "recall") == matched
    assert experiment.patched(config, {}, "recall") == config
    with pytest.raises(Invalid, match="Match by another path, or allow more with `within`"):
        experiment.patched(config, {"model.d_model": 512}, "recall")
    with pytest.raises(Invalid, match="must divide d_model = 30"):
        experiment.patched(config, {"model.d_model": 30}, "recall")
