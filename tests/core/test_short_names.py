"""Names for readers: what they are made of, that no two are alike, and what a study says of them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ablate.core.facts import Claim, StudyFacts, VariantFacts
from ablate.core.short_names import in_short_names, level_name, runner_up_name, short_claim, short_names


@pytest.mark.parametrize(
    ("path", "level", "name"),
    [
        ("model.mixer.score", "additive", "additive scoring"), ("model.position", "none", "no positions"),
        ("model.norm", "batch", "batch norm"), ("model.norm_placement", "post", "post norm placement"),
        ("model.residual", "off", "no residual connections"), ("model.mixer.tied", "off", "no tied queries and keys"),
        ("model.mixer.qk_norm", "on", "QK norm"),
        ("model.mixer.num_heads", "1", "1 head"), ("model.mixer.num_kv_heads", "2", "2 KV heads"),
        ("model.mixer.value", "low_rank(rank=8)", "low-rank values (rank 8)"),
        ("model.mixer", "mlp_mixer", "MLP-Mixer"), ("model.mixer", "lstm", "LSTM"), ("model.norm", "rms", "RMS norm"),
        ("model.feedforward.activation", "gelu", "GELU"), ("model.feedforward.activation", "tanh", "tanh activation"),
        ("model.position", "sincos", "sin/cos positions"), ("model.position", "rope", "RoPE"),
        ("model.position", "alibi", "ALiBi"), ("model.mixer", "conv(kernel_size=5)", "convolution (kernel size 5)"),
        ("training.optimizer.weight_decay", "0.1", "weight decay 0.1"),
        ("model.dropout.attention_weights", "0.1", "attention weights dropout 0.1"),
        ("training.lr", "1e-05", "learning rate 1e-05"), ("model.d_model", "64", "model width 64"),
        ("training.optimizer", "sgd", "SGD"), ("lr", "0.1", "learning rate 0.1"),
        ("config.use_ema", "off", "no EMA"), ("config.use_ema", "on", "EMA"), ("use_ema", "False", "no EMA"),
        ("config.enable_bias", "True", "bias"), ("config.user_norm", "off", "no user norm"),
    ],
)  # fmt: skip
def test_a_level_is_named_as_a_reader_would_say_it(path, level, name):
    assert level_name(path, level) == name


def facts(*changes, labels=()):
    variants = [VariantFacts("baseline", {}, {})]
    variants += [VariantFacts(",".join(f"{p}={v}" for p, v in c.items()), {}, c) for c in changes]
    return StudyFacts("s", "", "", "accuracy", "accuracy", "last", None, "one_factor", [0], [], variants, {}, [],
                 labels=dict(labels))  # fmt: skip


def test_changes_are_joined_and_variants_named_by_hand_keep_their_names():
    study = facts({"model.position": "none", "model.mixer.num_heads": "1"})
    study.variants.append(VariantFacts("bare", {}, {"model.position": "none"}))
    assert list(short_names(study).values()) == ["baseline", "no positions + 1 head", "bare"]


def test_variants_that_would_share_a_name_keep_their_paths():
    study = facts({"model.norm": "none"}, {"model.encoder.norm": "none"}, {"model.position": "none"})
    assert list(short_names(study).values())[1:] == [
        "model.norm=none",
        "model.encoder.norm=none",
        "no positions",
    ]


def test_a_label_that_is_the_name_of_another_variant_is_not_shown():
    paths = [{"model.position": "none"}, {"model.norm": "none"}, {"model.encoder.norm": "none"}]
    found = short_names(facts(*paths, labels={"model.position=none": "model.norm=none"}))
    assert all(found[name] == name for name in found)


def test_a_comma_inside_a_level_parts_nothing():
    mixer = "attention(score=rbf(width=2,shift=1),num_heads=2)"
    study = facts(
        {"model.mixer": mixer, "model.norm": "none"}, {"task.sizes": "[1,2]"}, {"task.data": "my_a.csv"}
    )
    told = "attention mixer (score rbf(width 2, shift 1), number of heads 2) + no norm"
    assert list(short_names(study).values())[1:] == [told, "sizes [1,2]", "my_a.csv data"]
    claim = f"model.mixer={mixer},model.norm=none beats task.sizes=[1,2] on accuracy"
    study.variants[1:] = []
    study.claims.append(Claim(claim, "beats", "accuracy", [], [], 0.0))
    assert short_claim(claim, study) == f"{told} beats sizes [1,2] on accuracy"


def test_a_study_names_variants_and_levels_itself():
    both = {"model.position": "none", "model.norm": "batch"}
    named = facts({"model.position": "none"}, both, labels={"model.position=none": "bag of rows"})
    assert list(short_names(named).values())[1:] == ["bag of rows", "bag of rows + batch norm"]
    whole = facts(both, labels={"model.position=none,model.norm=batch": "both"})
    assert short_names(whole)["model.position=none,model.norm=batch"] == "both"


def test_claims_use_the_same_names_and_keep_the_rest_of_their_words():
    study = facts({"model.position": "none"}, labels={"model.position=learned": "order"})
    study.variants.append(VariantFacts("bare", {}, {"model.norm": "none"}))
    made = "model.position=learned beats model.position=none,model.mixer.num_heads=1 on accuracy@far by 0.02"
    study.claims.append(Claim(made, "beats", "accuracy", [], [], 0.02))
    assert short_claim(made, study) == "order beats no positions + 1 head on accuracy@far by 0.02"
    assert short_claim("bare beats baseline on accuracy", study) == "bare beats baseline on accuracy"


@pytest.mark.parametrize(
    ("side", "said"),
    [
        ("model.position=none", "no positions beat"), ("model.mixer.num_heads=4", "4 heads beat"),
        ("model.mixer.value=low_rank(rank=8)", "low-rank values (rank 8) beat"),
        ("model.mixer.num_heads=1", "1 head beats"), ("model.mixer.bias=off", "no bias beats"),
        ("model.norm=rms", "RMS norm beats"), ("rms", "rms beats"),
    ],
)  # fmt: skip
def test_several_things_take_the_plural(side, said):
    study = facts()
    for verb, rest in (("beats", ""), ("matches", " within 0.1"), ("does not lose to", " within 0.1")):
        text = f"{side} {verb} baseline on accuracy{rest}"
        study.claims[:] = [Claim(text, "beats", "accuracy", [], [], 0.0)]
        plain = {"beats": "beat", "matches": "match"}.get(verb, "do not lose to")
        spoken = verb if said.endswith("s") else plain
        assert short_claim(text, study).startswith(f"{said.rpartition(' ')[0]} {spoken} baseline on accuracy")


def test_a_claim_says_its_metric_in_words_and_its_number_with_a_zero():
    study = facts({"model.norm": "none"})
    text = "baseline beats model.norm=none on val_loss by .02"
    study.claims.append(Claim(text, "beats", "val_loss", [], [], 0.02))
    assert short_claim(text, study) == "baseline beats no norm on validation loss by 0.02"
    # Of a variant of the same name, that is no metric.
    text = "val_loss matches baseline on val_loss within .5"
    study.claims[:] = [Claim(text, "matches", "val_loss", [], [], 0.5)]
    assert short_claim(text, study) == "val_loss matches baseline on validation loss within 0.5"


@given(st.lists(st.sampled_from(["gelu", "GELU", "lstm", "relu", "none", "geglu"]), max_size=4))
def test_no_two_variants_share_a_name_whatever_the_field_spells(levels):
    paths = ("model.feedforward.activation", "model.mixer", "model.encoder.activation")
    study = facts(*({path: level} for level in dict.fromkeys(levels) for path in paths))
    study.variants.append(VariantFacts("GELU", {}, {"model.norm": "none"}))
    names = list(short_names(study).values())
    assert len(set(names)) == len(names)


def test_sentences_use_the_names_too():
    names = {"model.norm=none": "no norm", "model.norm=none,a.b=1": "both", "baseline": "baseline"}
    said = "2 of 5 runs of model.norm=none,a.b=1 and of model.norm=none; pre.model.norm=none"
    assert in_short_names(said, names) == "2 of 5 runs of both and of no norm; pre.model.norm=none"


@pytest.mark.parametrize(
    ("runner_up", "name"),
    [
        ("no-positions at training.lr=0.03", "no positions at training.lr=0.03"),
        ("at rest at training.lr=0.03", "resting at training.lr=0.03"),
        ("other at a=1, b=2", "other at a=1, b=2"),
    ],
)
def test_a_runner_up_has_the_name_of_its_variant(runner_up, name):
    assert runner_up_name(runner_up, {"no-positions": "no positions", "at rest": "resting"}) == name


def test_in_claims_too_no_two_share_a_name():
    study = facts({"model.norm": "none"})
    for other in ("model.norm=none", "model.encoder.norm=none"):
        study.claims.append(Claim(f"{other} beats baseline on accuracy", "beats", "accuracy", [], [], 0.0))
    assert short_claim(study.claims[0].text, study) == study.claims[0].text
