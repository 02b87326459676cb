"""Two segments: the target, and how little tokens or segments alone say of it."""

import numpy as np
import pytest
import torch
from scipy import stats
from small import trained

from ablate.base.registry import CATALOGUE
from ablate.models.build import build_model
from ablate.models.section import ModelSection
from ablate.tasks.segments import Segments
from ablate.tasks.task import Batch

CATALOGUE.load_builtin()
SIZES = [(16, 8), (6, 5), (20, 4), (30, 15)]


def segments(vocab_size=16, seq_len=8, test_size=256) -> Segments:
    return Segments(Segments.Config(vocab_size=vocab_size, seq_len=seq_len, test_size=test_size))


def drawn(count: int, **sizes: int) -> Batch:
    """Draws examples of all parts of the data."""
    return segments(**sizes).examples(np.random.default_rng(0), count)


def read(batch: Batch) -> list[tuple[int, int, int, int]]:
    """Reads of each example the last token, its earlier place, the length of the first segment and the target."""
    found = []
    for tokens, flags, target in zip(
        batch.inputs.tolist(), batch.segments.tolist(), batch.targets.tolist(), strict=True
    ):
        (place,) = (i for i, token in enumerate(tokens[:-1]) if token == tokens[-1])
        boundary = flags.index(1)
        assert flags == [0] * boundary + [1] * (len(flags) - boundary)
        found.append((tokens[-1], place, boundary, target))
    return found


@pytest.mark.parametrize(("vocab_size", "seq_len"), SIZES)
def test_the_target_is_whether_the_last_token_stands_in_the_first_segment(vocab_size, seq_len):
    task = segments(vocab_size, seq_len)
    for batch in (task.split(3, "test", "cpu"), next(task.train_batches(3, 200, "cpu"))):
        assert batch.inputs.shape == batch.segments.shape == (len(batch), seq_len)
        assert batch.inputs.dtype == batch.segments.dtype == batch.targets.dtype == torch.int64
        assert 0 <= batch.inputs.min() <= batch.inputs.max() < vocab_size
        for row, (_, place, boundary, target) in zip(batch.inputs.tolist(), read(batch), strict=True):
            assert 1 <= boundary <= seq_len - 1
            assert target == (place < boundary) == (row[-1] in row[:boundary])


def test_the_tokens_say_nothing_about_the_answer():
    """The answer is fair whatever the last token, its earlier place and the other tokens are."""
    batch = drawn(6000, vocab_size=6, seq_len=7)
    by_place, by_token, by_others = np.zeros((5, 2)), np.zeros((6, 2)), np.zeros((7 * 6, 2))
    for row, (token, place, _, target) in zip(batch.inputs.tolist(), read(batch), strict=True):
        by_place[place - 1, target] += 1
        by_token[token, target] += 1
        for index, each in enumerate(row):
            by_others[index * 6 + each, target] += 1
    assert stats.binomtest(int(by_place[:, 1].sum()), 6000).pvalue > 1e-4
    assert stats.chi2_contingency(by_place).pvalue > 1e-4
    assert stats.chi2_contingency(by_token).pvalue > 1e-4
    assert stats.chi2_contingency(by_others[by_others.sum(1) > 0]).pvalue > 1e-4
    for counts in (by_place.sum(1), by_token.sum(1)):
        assert stats.chisquare(counts).pvalue > 1e-4


def test_the_boundary_is_as_far_away_whatever_the_answer():
    """Each distance that has room on both sides is as likely."""
    far: dict[int, np.ndarray] = {place: np.zeros((min(place, 7 - place), 2)) for place in range(1, 7)}
    for _, place, boundary, target in read(drawn(8000)):
        far[place][boundary - place - 1 if target else place - boundary, target] += 1
    for table in far.values():
        assert stats.chisquare(table.flatten()).pvalue > 1e-4


def test_the_segments_alone_tell_about_two_thirds():
    table = np.zeros((7, 2))
    for _, _, boundary, target in read(drawn(20_000)):
        table[boundary - 1, target] += 1
    assert (table.sum(1) > 0).all()
    best = segments().constants()["without_telling_tokens_apart"]["accuracy"]
    assert best == pytest.approx(0.681, abs=0.001)
    assert table.max(1).sum() / table.sum() == pytest.approx(best, abs=0.015)


SECTION = ModelSection.model_validate(
    {"d_model": 16, "num_layers": 1, "embedding": {"segment": "on"}, "mixer": {"num_heads": 2}}
)


@pytest.mark.slow
def test_attention_with_the_segments_learns_it():
    task = segments(vocab_size=6, seq_len=5)
    model = trained(SECTION, task, batch_size=64, steps=100)
    test = task.split(0, "test", "cpu")
    accuracy = task.measure(model(**test.model_inputs()), test)["accuracy"].mean()
    assert accuracy > task.metrics["accuracy"].solved


def test_segments_that_the_call_does_not_give():
    model = build_model(SECTION, segments().signature)
    with pytest.raises(ValueError, match="needs the segment of each position"):
        model(torch.zeros(1, 8, dtype=torch.long))
