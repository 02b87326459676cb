"""`match:` in a study: what is trained, what is said of it, and what is refused before anything trains."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from harness import TOY, problems

from ablate.base.errors import Invalid
from ablate.base.registry import CATALOGUE
from ablate.study.experiment import facts_of
from ablate.study.patch import value_at
from ablate.study.prepare import prepare

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
TOY_HEAD = f"name: toy\nworkload: toy\nplugins: [{TOY}]\ntask: {{name: coin}}\n"

Write = Callable[..., Path]


def test_variants_have_the_parameters_of_the_baseline(write: Write) -> None:
    unmatched = prepare(write(MODEL + RANKS + "placebo: on\n", "unmatched.yaml"))
    experiment = prepare(write(MODEL + RANKS + "placebo: on\n" + BY_EXPANSION))
    base, two, eight, placebo = experiment.variants
    names = [v.name for v in unmatched.variants]
    assert [v.name for v in experiment.variants] == names
    assert experiment.design.labels["model.mixer.value"] == unmatched.design.labels["model.mixer.value"]
    target = experiment.describe(base)[0].parameters
    assert base.configs == placebo.configs == unmatched.variants[0].configs
    for variant in (two, eight):
        (described,), (given,) = experiment.describe(variant), experiment.matched[variant.name]
        assert abs(described.parameters / target - 1) <= 0.01
        assert (given.achieved, given.target) == (described.parameters, target)
        assert given.value == value_at(variant.configs[0], EXPANSION)
    assert experiment.matched[base.name][0].residual == 0


def test_facts_and_trials_are_those_of_matched_variants(write: Write) -> None:
    experiment = prepare(write(MODEL + RANKS + BY_EXPANSION + "seeds: 1\n"))
    facts = facts_of(experiment)
    assert facts.match is not None
    assert (facts.match.quantity, facts.match.by) == ("parameters", EXPANSION)
    assert (facts.match.target, facts.match.within) == ("baseline", 0.01)
    variant = facts.variants[1]
    assert variant.matched == {"recall": experiment.matched[variant.name][0]}
    assert variant.parameters["recall"] == variant.matched["recall"].achieved
    assert variant.examples == {"recall": 40 * 64}
    assert facts.from_dict(dataclasses.asdict(facts)) == facts
    trials = {cell.variant: cell.trial for cell in experiment.cells()}
    assert value_at(trials[variant.name].config, EXPANSION) == variant.matched["recall"].value
    bare = prepare(write(MODEL + RANKS + "seeds: 1\n", "bare.yaml"))
    ids = {cell.variant: cell.trial.id for cell in bare.cells()}
    assert {name for name in ids if ids[name] == trials[name].id} == {"baseline"}
    assert facts_of(bare).match is None


def test_a_number_matches_the_baseline_too(write: Write) -> None:
    match = f"match: {{parameters: 20000, by: {EXPANSION}}}\n"
    experiment = prepare(write(MODEL + RANKS + "placebo: on\n" + match))
    for variant in experiment.variants:
        assert abs(experiment.describe(variant)[0].parameters / 20_000 - 1) <= 0.01
    assert experiment.variants[-1].configs == experiment.variants[0].configs
    assert facts_of(experiment).match.target == "20000"  # type: ignore[union-attr]


def test_whole_numbers_stay_whole_and_step_over_what_the_heads_do_not_divide(write: Write) -> None:
    match = "match: {parameters: 40000, by: model.d_model, within: 0.2}\n"
    experiment = prepare(write(MODEL + RANKS + match))
    for variant in experiment.variants:
        width = value_at(variant.configs[0], "model.d_model")
        assert type(width) is int
        assert width % 4 == 0


@pytest.mark.parametrize("quantity", ["flops", "compute"])
def test_other_quantities(write: Write, quantity: str) -> None:
    by = EXPANSION if quantity == "flops" else "training.steps"
    match = f"match: {{{quantity}: baseline, by: {by}, within: 0.02}}\n"
    experiment = prepare(write(MODEL + RANKS + match))
    base = getattr(experiment.describe(experiment.variants[0])[0], quantity)
    changed = []
    for variant in experiment.variants[1:]:
        achieved = getattr(experiment.describe(variant)[0], quantity)
        assert abs(achieved / base - 1) <= 0.02
        changed.append(value_at(variant.configs[0], by))
    assert type(changed[0]) is (float if quantity == "flops" else int)
    assert changed[0] > changed[1] > value_at(experiment.variants[0].configs[0], by)


def test_every_task_has_its_own_target(write: Write) -> None:
    tasks = (
        "tasks: [{name: recall, seq_len: 5, vocab_size: 16}, {name: recall, seq_len: 20, vocab_size: 64}]\n"
    )
    experiment = prepare(write(MODEL.replace(TASK, tasks) + RANKS + BY_EXPANSION))
    for variant in experiment.variants:
        for described, given in zip(
            experiment.describe(variant), experiment.matched[variant.name], strict=True
        ):
            assert described.parameters == given.achieved
            assert abs(given.residual) <= 0.01
    first, second = experiment.matched[experiment.variants[1].name]
    assert first.target != second.target


def test_a_search_may_match_any_config(write: Write) -> None:
    experiment = prepare(write(MODEL + RANKS + BY_EXPANSION))
    matcher, config = experiment.matcher, experiment.variants[0].configs[0]
    assert matcher is not None
    wider = matcher.resolve({**config, "model": {**config["model"], "mixer": {"num_heads": 4, "d_k": 4}}})
    matched = matcher(wider)
    given = matcher.given(matched)
    assert abs(given.residual) <= 0.01
    assert experiment.workload.describe(matched).parameters == given.achieved
    assert matcher(config) == config
    far = matcher.resolve({**config, "model": {**config["model"], "d_model": 512}})
    with pytest.raises(Invalid, match="Match by another path, or allow more with `within`"):
        matcher(far)
    uneven = matcher.resolve({**config, "model": {**config["model"], "d_model": 30}})
    with pytest.raises(Invalid, match="must divide d_model = 30"):
        matcher(uneven)


TINY = "model: {d_model: 8, num_layers: 1, mixer: {num_heads: 2}}\n"

BAD: dict[str, tuple[str, str]] = {
    "not there": (
        "match: {parameters: baseline, by: model.feedforward.expanson}",
        "line 6: match.by: in the baseline, model.feedforward.expanson does not exist; allowed: name, activation, "
        "expansion, bias. Did you mean 'expansion'?",
    ),
    "no number": (
        "match: {parameters: baseline, by: model.norm.name}",
        "line 6: match.by: in the baseline, model.norm.name must be a number, which is changed to match; given 'layer'",
    ),
    "a switch": (
        "match: {parameters: baseline, by: model.residual}",
        "line 6: match.by: in the baseline, model.residual must be a number, which is changed to match; given True",
    ),
    "not given": (
        "match: {parameters: baseline, by: model.mixer.d_k}",
        "line 6: match.by: in the baseline, model.mixer.d_k must be a number, which is changed to match; given None",
    ),
    "a float without effect": (
        "match: {parameters: baseline, by: training.lr}",
        "line 6: match.by: in the baseline, training.lr has no effect on the parameters; given 0.001",
    ),
    "a whole number without effect": (
        "match: {parameters: baseline, by: training.steps}",
        "line 6: match.by: in the baseline, training.steps has no effect on the parameters; given 40",
    ),
    "a rate without effect": (
        "match: {flops: baseline, by: model.dropout.residual}",
        "line 6: match.by: in the baseline, model.dropout.residual has no effect on the FLOPs of a forward pass",
    ),
    "no quantity": (f"match: {{by: {EXPANSION}}}", "line 6: match: must match one quantity"),
    "two quantities": (
        f"match: {{flops: baseline, parameters: 5, by: {EXPANSION}}}",
        "line 6: match: must match one quantity",
    ),
    "no path": ("match: {parameters: baseline}", "line 6: match.by: is required"),
    "a tolerance that is none": (
        f"match: {{parameters: baseline, by: {EXPANSION}, within: 1}}",
        "line 6: match.within: must be less than 1; given 1",
    ),
    "a target that is none": (f"match: {{parameters: 0, by: {EXPANSION}}}", "line 6: match.parameters"),
    "out of reach": (
        f"match: {{parameters: 100, by: {EXPANSION}}}",
        f"line 6: match.by: in the baseline, {EXPANSION} cannot give 100 parameters within 1 %: the nearest is",
    ),
    "a factor": (
        f"match: {{parameters: baseline, by: {EXPANSION}}}\nfactors: {{{EXPANSION}: [2]}}",
        f"line 6: match.by: {EXPANSION} is a factor, whose levels are compared; a match cannot change it",
    ),
    "a named variant's own": (
        f"match: {{parameters: baseline, by: {EXPANSION}}}\nvariants: {{x: {{{EXPANSION}: 2}}}}",
        f"line 7: variants.x.{EXPANSION}: is what `match` changes, so that this value would not be kept; given 2",
    ),
    "searched": (
        f"match: {{parameters: baseline, by: {EXPANSION}}}\nsearch: {{over: {{{EXPANSION}: {{float: [1, 8]}}}}}}",
        f"line 6: match.by: {EXPANSION} is searched by `search`; a match cannot change it",
    ),
    "tuned": (
        f"match: {{parameters: baseline, by: {EXPANSION}}}\ntune: {{over: {{{EXPANSION}: {{float: [1, 8]}}}}}}",
        f"line 6: match.by: {EXPANSION} is searched by `tune`; a match cannot change it",
    ),
    "removed by a level": (
        f"match: {{parameters: baseline, by: {EXPANSION}}}\nfactors: {{model.feedforward: [none]}}",
        f"line 7: factors.model.feedforward[0]: {EXPANSION} does not exist",
    ),
    "removed by a named variant": (
        f"match: {{parameters: baseline, by: {EXPANSION}}}\nvariants: {{bare: {{model.feedforward: none}}}}",
        f"line 7: variants.bare: {EXPANSION} does not exist",
    ),
    "missed by one variant": (
        "match: {parameters: baseline, by: model.d_model}\nfactors: {model.mixer.score: [additive]}",
        "line 7: factors.model.mixer.score[0]: model.d_model cannot give the baseline's 1,168 parameters within 1 %",
    ),
    "the baseline again": (
        f"match: {{parameters: baseline, by: {EXPANSION}}}\n"
        "factors: {model.feedforward: [{name: mlp, expansion: 2}]}",
        f"line 7: factors.model.feedforward[0]: has the same config as baseline once the parameters are matched by "
        f"{EXPANSION}, so that nothing is compared. Match by another path, or take it out",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_what_cannot_be_matched_is_refused(write: Write, case: str) -> None:
    section, expected = BAD[case]
    head = MODEL.splitlines(keepends=True)
    path = write("".join([*head[:2], TINY, head[3], "seeds: 2\n", section, "\n"]))
    found = problems(path)
    assert any(problem.startswith(expected) for problem in found), found


def test_all_variants_that_cannot_be_matched_are_named_at_once(write: Write) -> None:
    levels = "[{name: low_rank, rank: 2}, {name: low_rank, rank: 4}]"
    found = problems(
        write(
            f"{MODEL}match: {{parameters: baseline, by: model.d_model}}\nfactors:\n"
            f"  model.mixer.value: {levels}\n  model.feedforward: [none]\n"
        )
    )
    assert [problem.split(": ")[:2] for problem in found] == [
        ["line 7", "factors.model.mixer.value[0]"],
        ["line 7", "factors.model.mixer.value[1]"],
        ["line 8", "factors.model.feedforward[0]"],
    ]
    assert all("the nearest is model.d_model = 32, with" in problem for problem in found[:2])


def test_variants_that_become_one_are_refused(write: Write) -> None:
    found = problems(
        write(
            f"{MODEL}{BY_EXPANSION}variants:\n  a: {{model.feedforward: {{name: mlp, expansion: 2}}}}\n"
            "  b: {model.feedforward: {name: mlp, expansion: 8}, model.position: none}\n"
            "  c: {model.feedforward: {name: mlp, expansion: 3}, model.position: none}\n"
        )
    )
    same = f"has the same config as {{}} once the parameters are matched by {EXPANSION}, so that nothing is compared"
    assert found[0].startswith(f"line 7: variants.a: {same.format('baseline')}")
    assert found[1].startswith(f"line 9: variants.c: {same.format('b')}")


@pytest.fixture
def looks_at_values() -> Iterator[str]:
    """A part whose FLOPs cannot be counted, since the meta device has no values."""
    from ablate.base.registry import register
    from ablate.components.activations import Activation

    @register("activation", "looks_at_values")
    class LooksAtValues(Activation):
        """x / max |x|."""

        def forward(self, x):  # type: ignore[no-untyped-def]
            return x / x.abs().max().item()

    yield "looks_at_values"
    CATALOGUE.forget({__name__})


def test_flops_that_cannot_be_counted(write: Write, looks_at_values: str) -> None:
    match = f"match: {{flops: baseline, by: {EXPANSION}}}\n"
    baseline = MODEL.replace("mixer:", f"feedforward: {{activation: {looks_at_values}}}, mixer:")
    assert problems(write(baseline + match)) == [
        "line 5: match.flops: the baseline has no known FLOPs of a forward pass: they cannot be counted. "
        "Match another quantity"
    ]
    factor = f"factors: {{model.feedforward.activation: [{looks_at_values}]}}\n"
    assert problems(write(MODEL + match + factor)) == [
        "line 6: factors.model.feedforward.activation[0]: has no known FLOPs of a forward pass: they cannot be "
        "counted. Match another quantity"
    ]
