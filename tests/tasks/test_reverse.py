import itertools

import numpy as np
import pytest
import torch
from scipy import stats

from ablate.base.registry import CATALOGUE
from ablate.components.masks import real_positions
from ablate.core.trial import Trial
from ablate.models.build import build_model
from ablate.models.section import ModelSection
from ablate.tasks.reverse import END, FIRST_SYMBOL, PADDING, START, Reverse
from ablate.tasks.task import Batch
from ablate.training.loop import train
from ablate.training.section import TrainingSection

CATALOGUE.load_builtin()


def reverse(vocab_size=8, min_len=2, max_len=5, test_size=256) -> Reverse:
    given = {"vocab_size": vocab_size, "min_len": min_len, "max_len": max_len, "test_size": test_size}
    return Reverse(Reverse.Config(**given))


@pytest.mark.parametrize(("min_len", "max_len"), [(2, 5), (1, 4), (4, 4), (1, 9)])
def test_the_target_is_the_source_backwards_and_the_end(min_len, max_len):
    task = reverse(min_len=min_len, max_len=max_len)
    lengths = set()
    for batch in (task.split(3, "test", "cpu"), next(task.train_batches(3, 200, "cpu"))):
        for source, inputs, targets in zip(
            batch.source.tolist(), batch.inputs.tolist(), batch.targets.tolist(), strict=True
        ):
            length = sum(token != PADDING for token in source)
            lengths.add(length)
            symbols, rest = source[:length], max_len - length
            assert all(FIRST_SYMBOL <= symbol < 8 for symbol in symbols)
            assert source[length:] == [PADDING] * rest
            assert targets == [*reversed(symbols), END, *[PADDING] * rest]
            assert inputs == [START, *reversed(symbols), *[PADDING] * rest]
    assert lengths == set(range(min_len, max_len + 1))


def test_masks_are_of_what_is_real():
    task = reverse()
    batch = task.split(0, "test", "cpu")
    assert torch.equal(real_positions(batch.mask, 6), batch.targets != PADDING)
    assert torch.equal(real_positions(batch.source_mask, 5), batch.source != PADDING)
    fixed = reverse(min_len=5)
    assert not fixed.signature.padded
    assert not fixed.signature.source.padded
    assert fixed.split(0, "test", "cpu").mask is None


def test_lengths_and_symbols_are_uniform():
    """χ² at a fixed seed, each at the level 1e-4."""
    source = reverse().examples(np.random.default_rng(0), 4000).source
    lengths = (source != PADDING).sum(1)
    assert stats.chisquare(lengths.bincount(minlength=6)[2:]).pvalue > 1e-4
    pairs = source[:, 0] * 8 + source[:, 1]
    expected = [8 * a + b for a, b in itertools.product(range(FIRST_SYMBOL, 8), repeat=2)]
    assert stats.chisquare(pairs.bincount(minlength=64)[expected]).pvalue > 1e-4


def test_losses_and_metrics_against_a_reading_token_by_token():
    task = reverse()
    batch = task.split(0, "test", "cpu")
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(*batch.targets.shape, 8, generator=generator, dtype=torch.float64)
    # Some sequences are right, some but for one token.
    logits[:40].scatter_(2, batch.targets[:40, :, None], 9.0)
    logits[10:20, 1, 0] = 10.0
    expected = {"accuracy": [], "token_accuracy": [], "loss": []}
    for rows, targets in zip(logits, batch.targets, strict=True):
        real = targets != PADDING
        right = (rows.argmax(1) == targets)[real].double()
        expected["accuracy"].append(right.min())
        expected["token_accuracy"].append(right.mean())
        expected["loss"].append(torch.nn.functional.cross_entropy(rows[real], targets[real]))
    measured = task.measure(logits, batch)
    for name, values in expected.items():
        np.testing.assert_allclose(measured[name].numpy(), values, rtol=1e-5)
    assert measured["accuracy"][:40].mean() == 0.75
    assert task.loss(logits, batch).item() == pytest.approx(np.mean(expected["loss"]), rel=1e-5)


def guesses(task: Reverse, batch: Batch) -> torch.Tensor:
    """Logits of what is known without the source: the length is uniform among those still possible."""
    p = torch.zeros(task.signature.seq_len, task.signature.num_outputs)
    for position in range(len(p)):
        possible = [length for length in task.lengths if length >= position]
        p[position, END] = 1 / len(possible) if position in task.lengths else 0.0
        p[position, FIRST_SYMBOL:] = (1 - p[position, END]) / task.num_symbols
    return p.log().expand(len(batch), -1, -1)


@pytest.mark.parametrize(("min_len", "max_len"), [(2, 5), (1, 4), (4, 4)])
def test_guessing_reaches_chance(min_len, max_len):
    task = reverse(min_len=min_len, max_len=max_len)
    batch = task.examples(np.random.default_rng(0), 6000)
    loss = task.measure(guesses(task, batch), batch)["loss"]
    assert loss.mean().item() == pytest.approx(task.chance_loss, abs=0.02)
    assert task.metrics["loss"].floor == task.chance_loss

    # No choice of a symbol or the end at each position is right more often than the floor says.
    rates = []
    for choice in itertools.product([FIRST_SYMBOL, END], repeat=max_len + 1):
        logits = torch.nn.functional.one_hot(torch.tensor(choice), 8).float().expand(len(batch), -1, -1)
        measured = task.measure(logits, batch)
        rates.append((measured["token_accuracy"].mean().item(), measured["accuracy"].mean().item()))
    tokens, sequences = (max(column) for column in zip(*rates, strict=True))
    assert tokens == pytest.approx(task.metrics["token_accuracy"].floor, abs=0.015)
    assert sequences == pytest.approx(task.metrics["accuracy"].floor, abs=0.01)


def test_teacher_forced_exactness_is_that_of_greedy_decoding():
    task = reverse(vocab_size=7, min_len=1, max_len=5, test_size=200)
    section = ModelSection.model_validate(
        {"topology": "encoder_decoder", "d_model": 16, "num_layers": 1, "feedforward": {"expansion": 2}}
    )
    model = build_model(section, task.signature)
    training = TrainingSection(steps=30, lr=1e-2, batch_size=32)
    train(model, task, training, Trial("", {}, 0), lambda step, metrics: False)
    batch = task.split(0, "test", "cpu")
    model.eval()
    forced = task.measure(model(**batch.model_inputs()), batch)["accuracy"]
    memory, state = model.encode(batch.source, batch.source_mask), None
    decoded = torch.full((200, 1), START)
    for place in range(6):
        logits, state = model.step(decoded[:, place:], place, state, memory)
        decoded = torch.cat([decoded, logits.argmax(-1, keepdim=True)], 1)
    right = [
        END in tokens and tokens[: tokens.index(END) + 1] == [token for token in target if token != PADDING]
        for tokens, target in zip(decoded[:, 1:].tolist(), batch.targets.tolist(), strict=True)
    ]
    assert 0.1 < forced.mean() < 0.98
    assert forced.tolist() == right
