from collections.abc import Callable
from pathlib import Path

import pytest

from ablate.base.errors import StudyError
from ablate.base.registry import CATALOGUE
from ablate.study.prepare import prepare
from ablate.study.suggestions import OTHER_WORDS, paths_of

STUDY = """\
name: x
task: {name: recall, vocab_size: 16, seq_len: 5, num_pairs: 2}
factors: {model.norm: [rms]}
"""


def test_other_words_are_for_what_there_is(write: Callable[..., Path]) -> None:
    config = prepare(write(STUDY)).variants[0].configs[0]
    parts = {name for slot in CATALOGUE.slots() for name in CATALOGUE.names(slot)}
    keys = {path.rpartition(".")[2] for path in paths_of(config)}
    assert not set(OTHER_WORDS) - parts - keys
    words = [word for found in OTHER_WORDS.values() for word in found.split()]
    assert all(word == "".join(filter(str.isalnum, word.lower())) for word in words)


@pytest.mark.parametrize(
    ("change", "hint"),
    [
        ("model.position=rotary", "'rope'"),
        ("model.position=RoPE", "'rope'"),
        ("model.position=sinusoidal", "'sincos'"),
        ("model.norm=layernorm", "'layer'"),
        ("model.norm=BatchNorm", "'batch'"),
        ("model.norm=RMSNorm", "'rms'"),
        ("training.optimizer=adam", "'adamw'"),
        ("model.feedforward.activation=swish", "'silu'"),
        ("model.mixer=mha", "'attention'"),
        ("model.norm=laier", "'layer'"),
        ("model.mixer.score=rope", "`position: rope`"),
        ("model.norm=gelu", "`activation: gelu`"),
        ("lr=0.1", "'training.lr'"),
        ("learning_rate=0.1", "'training.lr'"),
        ("model.num_heads=2", "'model.mixer.num_heads'"),
        ("vocab=3", "'task.vocab_size'"),
        ("training.setps=3", "'steps'"),
        ("factors.position=[none]", "'model.position'"),
        ("factors.score=[additive]", "'model.mixer.score'"),
        ("factors.model.activation=[gelu]", "'model.feedforward.activation'"),
        ("factors.model.position=[rotary]", "'rope'"),
    ],
)
def test_what_is_meant_is_named(write: Callable[..., Path], change: str, hint: str) -> None:
    with pytest.raises(StudyError) as caught:
        prepare(write(STUDY), [change])
    assert [problem.hint for problem in caught.value.problems] == [f"Did you mean {hint}?"]
