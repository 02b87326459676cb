"""Associative recall: every target is the value of its key, and what guessing reaches."""

import itertools

import numpy as np
import pytest
import torch
from scipy import stats

from ablate.tasks.recall import FILLER, Recall


def recall(vocab_size=16, seq_len=5, num_pairs=2, test_size=256) -> Recall:
    given = {"vocab_size": vocab_size, "seq_len": seq_len, "num_pairs": num_pairs, "test_size": test_size}
    return Recall(Recall.Config(**given))


def read(tokens: list[int], vocab_size: int) -> tuple[dict[int, int], list[int]]:
    """Reads the pairs and their places, token by token as the module's docstring describes them."""
    last_key = (vocab_size - 1) // 2
    pairs, places, position = {}, [], 0
    while position < len(tokens) - 1:
        if tokens[position] == FILLER:
            position += 1
            continue
        key, value = tokens[position], tokens[position + 1]
        assert 1 <= key <= last_key < value < vocab_size
        assert position + 1 < len(tokens) - 1
        assert key not in pairs
        pairs[key] = value
        places.append(position)
        position += 2
    return pairs, places


@pytest.mark.parametrize(
    ("vocab_size", "seq_len", "num_pairs"), [(16, 5, 2), (16, 12, 3), (9, 9, 4), (64, 20, 1)]
)
def test_the_target_is_the_value_beside_the_queried_key(vocab_size, seq_len, num_pairs):
    task = recall(vocab_size, seq_len, num_pairs)
    for batch in (task.split(3, "test", "cpu"), next(task.train_batches(3, 200, "cpu"))):
        for tokens, target in zip(batch.inputs.tolist(), batch.targets.tolist(), strict=True):
            pairs, _ = read(tokens, vocab_size)
            assert len(pairs) == num_pairs
            assert pairs[tokens[-1]] == target


def test_every_choice_is_uniform():
    """χ² of keys, values, places and queried pair at a fixed seed, each at the level 1e-4."""
    batch = recall(vocab_size=9, seq_len=8, num_pairs=2).examples(np.random.default_rng(0), 4000)
    found = [(read(tokens, 9), tokens[-1]) for tokens in batch.inputs.tolist()]
    for drawn, possible in (
        ([tuple(pairs) for (pairs, _), _ in found], itertools.permutations(range(1, 5), 2)),
        ([tuple(pairs.values()) for (pairs, _), _ in found], itertools.product(range(5, 9), repeat=2)),
        ([tuple(where) for (_, where), _ in found], [(i, j) for i in range(6) for j in range(i + 2, 6)]),
        ([list(pairs).index(query) for (pairs, _), query in found], [0, 1]),
    ):
        assert stats.chisquare([drawn.count(value) for value in possible]).pvalue > 1e-4


def test_guessing_among_the_values_reaches_chance():
    task = recall(test_size=4096)
    batch = task.split(0, "test", "cpu")
    logits = torch.full((len(batch), 16), -torch.inf)
    logits[:, 8:] = 0.0
    logits[:, 8] += 1e-4
    measured = {name: values.double().mean().item() for name, values in task.measure(logits, batch).items()}
    assert measured["accuracy"] == pytest.approx(task.metrics["accuracy"].floor, abs=0.02)
    assert measured["loss"] == pytest.approx(task.chance_loss, abs=1e-3)
    assert task.loss(logits, batch).item() == pytest.approx(measured["loss"], rel=1e-5)


@pytest.mark.parametrize(("vocab_size", "seq_len", "num_pairs"), [(16, 5, 2), (8, 9, 3), (9, 9, 4)])
def test_the_best_guess_without_the_key_is_that_of_all_answers(vocab_size, seq_len, num_pairs):
    task = recall(vocab_size, seq_len, num_pairs)
    shown = itertools.product(range(task.num_values), repeat=num_pairs)
    best = np.mean([max(map(values.count, values)) / num_pairs for values in shown])
    assert task.constants() == {"without_matching_the_key": {"accuracy": pytest.approx(best)}}
    many = recall(vocab_size=8192, seq_len=200, num_pairs=64).constants()["without_matching_the_key"][
        "accuracy"
    ]
    assert 1 / 64 < many < 2 / 64
