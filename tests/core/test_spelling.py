"""How names of files, metrics and levels are spelled for readers."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ablate.base.registry import CATALOGUE
from ablate.core.spelling import SPELLINGS, TERMS, as_sentence, compound, spelled, spelled_paths


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("accuracy", "accuracy"), ("validation_loss", "validation loss"), ("val_loss", "validation loss"),
        ("training.lr", "learning rate"), ("weight_decay", "weight decay"), ("qk_norm", "QK norm"),
        ("metrics.val_loss", "validation loss"), ("accuracy@far_away", "accuracy@far-away"),
        ("num_heads", "number of heads"), ("recall@0.5", "recall@0.5"), ("F1", "F1"), ("_", "_"), ("", ""),
    ],
)  # fmt: skip
def test_a_name_is_said_in_words(name, words):
    assert spelled(name) == words


@pytest.mark.slow
@given(st.from_regex(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", fullmatch=True))
def test_no_underscore_is_left_and_what_is_said_is_said_again_alike(name):
    assert "_" not in spelled(name) + compound(name)
    assert spelled(spelled(name)) == spelled(name)


def test_paths_are_said_by_as_much_as_tells_them_apart():
    found = spelled_paths(["training.lr", "model.mixer.dropout", "model.feedforward.dropout", "training.lr"])
    assert list(found.values()) == ["learning rate", "mixer dropout", "feedforward dropout"]


def test_a_sentence_keeps_capitals():
    assert [as_sentence(words) for words in ("QK norm", "loss", "")] == ["QK norm", "Loss", ""]


def test_every_term_has_a_spelling_and_is_a_registered_part():
    CATALOGUE.load_builtin()
    names = {name for slot in CATALOGUE.slots() for name in CATALOGUE.names(slot)}
    assert names >= TERMS
    assert SPELLINGS.keys() >= TERMS


def test_no_spelling_has_an_underscore():
    assert not [words for words in SPELLINGS.values() if re.search(r"_|^\s|\s$", words)]
