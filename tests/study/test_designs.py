from dataclasses import replace

import pytest
from harness import TOY, prepare
from hypothesis import given
from hypothesis import strategies as st

from ablate.study.facts import facts_of
from ablate.study.patch import level_labels
from ablate.study.study import Selection

HEAD = f"name: x\nworkload: toy\nplugins: [{TOY}]\ntask: {{name: coin}}\nmodel: {{effect: 0.5}}\n"
SEQUENCE = "name: x\ntask: recall\nmodel: {d_model: 16, num_layers: 1}\n"


def test_one_factor_changes_one_thing_at_a_time(write):
    design = prepare(write(HEAD + "factors: {model.effect: [0, 0.5, 1], model.noise: [0.2]}\n")).design
    assert [v.name for v in design.variants] == [
        "baseline", "model.effect=0.0", "model.effect=1.0", "model.noise=0.2",
    ]  # fmt: skip
    assert design.variants[2].first_config["model"] == {"effect": 1.0, "noise": 0.1, "width": 4, "inert": 0}
    assert design.labels["model.effect"] == {
        "baseline": "0.5", "model.effect=0.0": "0.0", "model.effect=1.0": "1.0", "model.noise=0.2": "0.5",
    }  # fmt: skip


def test_a_factorial_combines_every_level(write):
    design = prepare(
        write(
            HEAD
            + "design: factorial\nfactors: {model.effect: [1, 2], model.noise: [0.2], model.width: [5]}\n"
        )
    ).design
    assert len(design.variants) == 12
    assert design.variants[0].name == "baseline"
    assert "model.effect=2.0,model.width=5" in [v.name for v in design.variants]
    assert len({str(v.configs) for v in design.variants}) == 12


def test_named_variants_change_several_paths(write):
    design = prepare(write(HEAD + "variants: {big: {model.width: 9, model.effect: 1}}\n")).design
    assert [v.name for v in design.variants] == ["baseline", "big"]
    assert design.paths == ["model.width", "model.effect"]
    assert design.labels["model.width"] == {"baseline": "4", "big": "9"}


HEADS = """\
variants:
  a: {model.mixer: attention, model.mixer.num_heads: 8}
  b: {model.mixer: attention, model.mixer.num_heads: 2}
  c: {model.mixer: lstm, model.residual: off}
"""


def levels(experiment):
    return {cell.variant: dict(cell.levels) for cell in experiment.cells() if cell.seed == 0}


@pytest.mark.slow
def test_levels_are_what_a_variant_really_has(write):
    """Where two variants make the same change on an outer path, and others further down."""
    experiment = prepare(write(SEQUENCE + HEADS + "claims: [a beats b on accuracy]\n"))
    assert levels(experiment) == {
        "baseline": {"model.mixer": "attention(num_heads=4)", "model.mixer.num_heads": 4, "model.residual": True},
        "a": {"model.mixer": "attention(num_heads=8)", "model.mixer.num_heads": 8, "model.residual": True},
        "b": {"model.mixer": "attention(num_heads=2)", "model.mixer.num_heads": 2, "model.residual": True},
        "c": {"model.mixer": "lstm", "model.residual": False},
    }  # fmt: skip
    changes = {variant.name: variant.changes for variant in facts_of(experiment).variants}
    assert changes["a"] == {"model.mixer": "attention(num_heads=8)", "model.mixer.num_heads": "8"}
    assert changes["b"] == {"model.mixer": "attention(num_heads=2)", "model.mixer.num_heads": "2"}
    assert changes["c"] == {"model.mixer": "lstm", "model.residual": "off"}


@pytest.mark.slow
def test_levels_of_what_a_search_found_are_their_own(write):
    experiment = prepare(write(SEQUENCE + HEADS))
    first, *found = experiment.variants[:3]
    winners = [replace(v, name=f"winner{i}", at=("search",)) for i, v in enumerate(found)]
    judged = experiment.judging(
        [first, *winners], ["model.mixer", "model.mixer.num_heads"], Selection("sweep")
    )
    assert levels(judged)["winner1"] == {"model.mixer": "attention(num_heads=2)", "model.mixer.num_heads": 2}
    assert facts_of(judged).variants[2].changes["model.mixer"] == "attention(num_heads=2)"


@pytest.mark.slow
def test_a_part_leaves_out_what_is_a_factor_further_down(write):
    factors = "factors: {model.mixer: [lstm], model.mixer.num_heads: [2], model.mixer.score: [dot]}\n"
    found = levels(prepare(write(SEQUENCE + "design: factorial\n" + factors)))
    assert {of["model.mixer"] for of in found.values()} == {"attention", "lstm"}
    assert found["model.mixer.num_heads=2,model.mixer.score=dot"] == {
        "model.mixer": "attention", "model.mixer.num_heads": 2, "model.mixer.score": "dot",
    }  # fmt: skip
    assert found["model.mixer=lstm"] == {"model.mixer": "lstm"}


def test_levels_of_a_task_are_of_the_trials_own(write):
    text = SEQUENCE.replace("task: recall", "tasks: [recall, {name: recall, vocab_size: 20}]")
    cells = prepare(write(text + "factors: {task.vocab_size: [24]}\nseeds: 1\n")).cells()
    assert [(cell.variant, cell.levels["task.vocab_size"]) for cell in cells] == [
        ("baseline", 32), ("baseline", 20), ("task.vocab_size=24", 24), ("task.vocab_size=24", 24),
    ]  # fmt: skip


def test_a_placebo_is_the_baseline_under_another_stream(write):
    experiment = prepare(write(HEAD + "placebo: on\nseeds: 1\n"))
    baseline, placebo = experiment.cells()
    assert (placebo.variant, placebo.trial.stream, placebo.trial.config) == (
        "placebo",
        "placebo",
        baseline.trial.config,
    )
    assert placebo.trial.id != baseline.trial.id


@pytest.mark.slow
def test_a_part_is_labelled_by_its_name_and_by_what_tells_it_apart(write):
    design = prepare(
        write(
            SEQUENCE
            + "factors:\n"
            + "  model.mixer.value: [{name: low_rank, rank: 4}, {name: low_rank, rank: 8}]\n"
            + "  model.mixer: [{num_heads: 2}]\n"
            + "  model.residual: [off]\n"
            + "  model.mixer.score: [additive]\n"
        )
    ).design
    assert [v.name for v in design.variants[1:]] == [
        "model.mixer.value=low_rank(rank=4)", "model.mixer.value=low_rank(rank=8)",
        "model.mixer=attention(num_heads=2)", "model.residual=off", "model.mixer.score=additive",
    ]  # fmt: skip


def test_a_patch_fills_in_the_defaults_of_the_new_part(write):
    text = SEQUENCE.replace("d_model: 16", "d_model: 16, mixer: {score: {name: additive, hidden: 3}}")
    design = prepare(write(text + "factors: {model.mixer.score: [dot, {hidden: 5}]}\n")).design
    scores = [v.first_config["model"]["mixer"]["score"] for v in design.variants]
    assert scores == [{"name": "additive", "hidden": 3}, {"name": "dot"}, {"name": "additive", "hidden": 5}]


@pytest.mark.slow
def test_several_tasks_are_told_apart(write):
    text = SEQUENCE.replace("task: recall", "tasks: [recall, {name: recall, vocab_size: 20}, digits]")
    experiment = prepare(write(text + "factors: {model.norm: [batch]}\nseeds: 2\n"))
    assert experiment.tasks == ["recall(vocab_size=32)", "recall(vocab_size=20)", "digits"]
    assert len(experiment.cells()) == 2 * 2 * 3
    assert len({cell.trial.id for cell in experiment.cells()}) == 12


@pytest.mark.slow
def test_a_factorial_collapses_where_a_level_removes_a_path(write):
    plugin = """
        from ablate import register
        from ablate.components.mixer import Mixer

        @register("mixer", "identity_mixer")
        class IdentityMixer(Mixer):
            causal = padding = any_length = True
            attends = False

            def forward(self, x, position=None, mask=None):
                return x
    """
    write(plugin, "parts.py")
    factors = "factors: {model.mixer: [identity_mixer], model.mixer.score: [dot, additive]}\n"
    text = SEQUENCE + "plugins: [parts.py]\n" + factors
    names = [v.name for v in prepare(write(text + "design: factorial\n")).design.variants]
    assert names == [
        "baseline", "model.mixer.score=dot", "model.mixer.score=additive", "model.mixer=identity_mixer",
    ]  # fmt: skip


VALUES = st.one_of(
    st.booleans(),
    st.integers(-3, 3),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(["a", "b"]),
    st.fixed_dictionaries({"name": st.sampled_from(["p", "q"]), "x": st.integers(0, 2), "y": st.booleans()}),
)


@given(st.lists(VALUES, max_size=6))
def test_labels_tell_distinct_parts_apart(values):
    labels = level_labels(v for v in values if isinstance(v, dict))
    assert len(set(labels.values())) == len(labels)
