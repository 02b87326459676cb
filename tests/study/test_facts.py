"""Facts that reports need beside the trials: what variants compute, and the learning rate that was not tuned."""

import pytest
from harness import TOY_STUDY, prepare
from pydantic import ValidationError

from ablate.core.short_names import short_names
from ablate.records.facts_file import facts_from, plain_facts
from ablate.study.facts import facts_of

STUDY = """\
name: rates
task: recall
model: {d_model: 8, num_layers: 1, mixer: {num_heads: 2}}
training: {lr: 3e-3}
variants: {bare: {model.position: none}}
"""
OVER = "{over: {%s: {float: [1e-4, 1e-2], log: true}}, trials: 2}\n"


@pytest.mark.parametrize(
    ("more", "rate"),
    [
        ("", "lr 0.003"),
        ("tune: " + OVER % "training.lr", ""),
        ("tune: " + OVER % "training.weight_decay", "lr 0.003"),
        ("search: " + OVER % "training.lr", "lr 0.003"),  # which `ablate run` does not use
        ("factors: {training.lr: [1e-3]}\n", ""),
        ("factors: {training.steps: [10]}\n", "lr 0.003"),
    ],
)
def test_the_rate_that_all_variants_share_untuned(write, more, rate):
    assert facts_of(prepare(write(STUDY + more))).rate == rate


def test_a_workload_that_declares_neither_has_no_rate_and_no_numbers_of_stability(toy_study):
    facts = facts_of(prepare(toy_study))
    assert (facts.rate, facts.tasks[0].stability) == ("", {})


def test_a_study_names_its_variants_for_readers(write):
    labels = "labels: {bare: a bag of tokens, model.position=learned: order, model.position=none: no order}\n"
    facts = facts_of(prepare(write(STUDY + labels)))
    assert short_names(facts) == {"baseline": "baseline", "bare": "a bag of tokens"}


@pytest.mark.slow
def test_the_numbers_of_stability_are_those_of_any_variant(write):
    """Activations of the baseline cannot be dead; those of a variant can. They survive a folder, and may be absent."""
    study = STUDY.replace("mixer:", "feedforward: {activation: gelu}, mixer:")
    plain = facts_of(prepare(write(study)))
    assert "dead_units" not in plain.tasks[0].stability
    source = write(study + "factors: {model.feedforward.activation: [relu]}\n")
    assert "dead_units" not in facts_of(prepare(source)).tasks[0].stability  # unless layers are asked for
    facts = facts_of(prepare(source, ["training.evaluation.layers=on"]))
    (task,) = facts.tasks
    assert {name: metric.direction for name, metric in task.stability.items()} == dict.fromkeys(
        ("test_loss", "grad_norm_max", "loss_spikes", "attention_logit_max", "dead_units"), "min"
    )
    assert task.stability["test_loss"].floor == task.metrics["loss"].floor
    assert task.stability["loss_spikes"].resolution == 1 / 900
    data = plain_facts(facts)
    assert facts_from(data) == facts
    del data["tasks"][0]["stability"]
    assert facts_from(data).tasks[0].stability == {}


@pytest.mark.parametrize("place", [("tasks", 0), ("variants", 1), ()])
def test_kept_facts_with_another_key_are_refused(write, place):
    data = plain_facts(facts_of(prepare(write(TOY_STUDY))))
    inside = data
    for key in place:
        inside = inside[key]
    inside["renamed"] = []
    with pytest.raises(ValidationError, match="renamed"):
        facts_from(data)


@pytest.mark.slow
def test_no_step_of_a_short_training_has_a_window_for_spikes(write):
    facts = facts_of(prepare(write(STUDY + "factors: {model.norm: [batch]}\n"), sets=["training.steps=100"]))
    assert "loss_spikes" not in facts.tasks[0].stability


@pytest.mark.slow
def test_what_variants_compute_beside_products_survives_a_folder(write):
    """Two heads of width 4: four tanh a pair of positions and head."""
    additive = "variants: {additive: {model.mixer.score: additive}}\n"
    facts = facts_of(prepare(write(STUDY.replace("variants: {bare: {model.position: none}}\n", additive))))
    baseline, other = facts_from(plain_facts(facts)).variants
    length = int((baseline.beside["recall"]["exp"] / 2) ** 0.5)
    assert baseline.beside == {"recall": {"exp": 2 * length**2, "norm": 3 * 8 * length, "relu": 32 * length}}
    assert other.beside == {"recall": {**baseline.beside["recall"], "tanh": 4 * 2 * length**2}}
