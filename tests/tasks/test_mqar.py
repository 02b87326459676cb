"""Multi-query associative recall: the pairs, the places of queries, and what guessing reaches."""

import itertools

import numpy as np
import pytest
import torch
from scipy import stats

from ablate.tasks.mqar import FILLER, MQAR, NOISE
from ablate.tasks.task import IGNORED, Batch

SIZES = [
    {},
    {"vocab_size": 33, "seq_len": 32, "num_pairs": 4},
    {"seq_len": 20, "num_pairs": 3, "noise": 3},
    {"vocab_size": 9, "filler": "random", "num_pairs": 3},
]


def mqar(**given) -> MQAR:
    return MQAR(MQAR.Config(name="mqar", **given))


def shown(tokens: list[int], config: MQAR.Config) -> dict[int, int]:
    """Reads the value of each key, token by token as the module's docstring describes them, in order."""
    half, pairs, place = config.vocab_size // 2, {}, 0
    while place < 2 * config.num_pairs + config.noise:
        if tokens[place] >= config.vocab_size:
            place += 1
            continue
        key, value = tokens[place : place + 2]
        assert 1 <= key < half <= value < config.vocab_size
        assert key not in pairs
        assert value not in pairs.values()
        pairs[key] = value
        place += 2
    assert len(pairs) == config.num_pairs
    return pairs


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_a_look_up_of_each_key_that_comes_again_is_always_right(sizes):
    task = mqar(test_size=200, **sizes)
    config, first = task.config, 2 * task.config.num_pairs + task.config.noise
    for batch in (task.split(3, "test", "cpu"), next(task.train_batches(3, 200, "cpu"))):
        assert (
            batch.inputs.max() < task.signature.vocab_size == config.vocab_size + NOISE * bool(config.noise)
        )
        for tokens, targets in zip(batch.inputs.tolist(), batch.targets.tolist(), strict=True):
            pairs = shown(tokens, config)
            asked = [place for place, target in enumerate(targets) if target != IGNORED]
            assert sorted(tokens[place] for place in asked) == sorted(pairs)
            assert all(place >= first and (place - first) % 2 == 0 for place in asked)
            assert all(targets[place] == pairs[tokens[place]] for place in asked)
            others = [tokens[place] for place in range(first, config.seq_len) if place not in asked]
            assert set(others) == {FILLER} or config.filler == "random"


def test_every_choice_is_drawn_as_stated():
    """χ² of keys, values, noise tokens and their places at a fixed seed, each at the level 1e-4."""
    task = mqar(vocab_size=8, seq_len=14, num_pairs=2, noise=2, power=0.5)
    batch = task.examples(np.random.default_rng(0), 6000)
    found = [shown(tokens, task.config) for tokens in batch.inputs.tolist()]
    places = [tuple(t < 8 for t in tokens[:6]) for tokens in batch.inputs.tolist()]
    for drawn, possible in (
        ([tuple(pairs) for pairs in found], itertools.permutations(range(1, 4), 2)),
        ([tuple(pairs.values()) for pairs in found], itertools.permutations(range(4, 8), 2)),
        (batch.inputs[:, :6][batch.inputs[:, :6] >= 8].tolist(), range(8, 8 + NOISE)),
        (places, set(places)),
    ):
        assert stats.chisquare([drawn.count(value) for value in possible]).pvalue > 1e-4
    assert len(set(places)) == 6


def test_gaps_follow_the_power_law_without_replacement():
    """`numpy.random.choice` draws them so, with p and without replacement: the first by p, the next by what is left."""
    task = mqar(num_pairs=2, power=0.3)
    batch = task.examples(np.random.default_rng(1), 8000)
    gaps = [
        tuple((tokens.index(key, 4) - 4) // 2 for key in (tokens[0], tokens[2]))
        for tokens in batch.inputs.tolist()
    ]
    p = np.arange(1, 7) ** (0.3 - 1)
    p /= p.sum()
    possible = list(itertools.permutations(range(6), 2))
    expected = [8000 * p[i] * p[j] / (1 - p[i]) for i, j in possible]
    assert stats.chisquare([gaps.count(pair) for pair in possible], expected).pvalue > 1e-4


def test_random_fillers_are_any_token():
    batch = mqar(vocab_size=8, filler="random").examples(np.random.default_rng(0), 3000)
    rest = batch.inputs[:, 4:][batch.targets[:, 4:] == IGNORED]
    assert stats.chisquare(torch.bincount(rest, minlength=8).numpy()).pvalue > 1e-4


@pytest.mark.parametrize("num_pairs", [2, 3, 4])
def test_a_guess_among_the_pairs_is_right_as_often_as_stated(num_pairs):
    task = mqar(num_pairs=num_pairs)
    test = task.split(0, "test", "cpu")
    picked = 1 + 2 * torch.randint(num_pairs, test.targets.shape, generator=torch.Generator().manual_seed(0))
    guess = torch.nn.functional.one_hot(test.inputs.gather(1, picked), task.signature.num_outputs).float()
    found = task.measure(guess, test)["accuracy"].mean().item()
    assert found == pytest.approx(task.constants()["guessing_among_the_pairs"]["accuracy"], abs=0.02)


@pytest.mark.parametrize(
    ("sizes", "plateau"), [({}, 0.57), ({"vocab_size": 32, "seq_len": 32, "num_pairs": 4}, 0.31)]
)
def test_taking_the_pairs_in_their_order_is_right_a_little_more_often(sizes, plateau):
    """The first pairs are drawn first, and so come again sooner: no key need be matched to know that."""
    task = mqar(**sizes)
    test = task.split(0, "test", "cpu")
    nth = (test.targets != IGNORED).cumsum(1).clamp(1) - 1
    guess = torch.nn.functional.one_hot(test.inputs.gather(1, 1 + 2 * nth), task.signature.num_outputs)
    assert task.measure(guess.float(), test)["accuracy"].mean().item() == pytest.approx(plateau, abs=0.015)


def test_slices_are_those_that_the_size_has_room_for():
    def slices(**given) -> dict[str, Batch]:
        task = mqar(test_size=64, slice_size=300, **given)
        return {name: task.sliced(name).split(0, "test", "cpu") for name in task.slices()}

    found = slices()
    assert {name: tuple(batch.inputs.shape) for name, batch in found.items()} == {
        "more_pairs": (300, 16),
        "far": (300, 16),
        "longer": (300, 32),
    }
    assert ((found["more_pairs"].targets != IGNORED).sum(1) == 4).all()
    assert set(slices(num_pairs=3)) == set(slices(vocab_size=10, num_pairs=4)) == {"far", "longer"}
    noisier = slices(noise=2)["noisier"].inputs
    assert ((noisier >= 16).sum(1) == 4).all()
    places = torch.nonzero(found["far"].targets != IGNORED)[:, 1]
    assert stats.chisquare(torch.bincount(places, minlength=16)[4::2].numpy()).pvalue > 1e-4
