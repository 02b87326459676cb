"""Language modelling on Python's help texts and on a user's text, and the n-gram model beside it."""

import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import torch
from small import trained

from ablate.base.datafile import DataFile
from ablate.base.registry import CATALOGUE
from ablate.models.section import ModelSection
from ablate.study.ids import declared_files
from ablate.tasks.characters import Characters
from ablate.tasks.language import Language
from ablate.tasks.ngrams import ngram_losses
from ablate.tasks.task import IGNORED
from ablate.tasks.text_file import TextFile

CATALOGUE.load_builtin()


def characters(**settings) -> Characters:
    return Characters.Config(name="characters", **settings).build()


def text_file(folder: Path, content: str, **settings) -> TextFile:
    (folder / "prose.txt").write_text(content)
    file = DataFile(str(folder / "prose.txt"), "prose.txt")
    return TextFile.Config(name="text_file", file=file, **settings).build()


def read(task: Language, part: str) -> str:
    symbols = "\N{REPLACEMENT CHARACTER}", *task.text.vocabulary.symbols
    return "".join(symbols[code] for code in task.text.codes[part])


def smoothed(train: list[int], context: list[int], symbol: int, size: int) -> float:
    """Returns p(symbol | context) after Witten and Bell, by definition."""
    if len(context) == 0:
        counts = Counter(train)
        return (counts[symbol] + len(counts) / size) / (len(train) + len(counts))
    order = len(context)
    follow = Counter(train[i + order] for i in range(len(train) - order) if train[i : i + order] == context)
    lower = smoothed(train, context[1:], symbol, size)
    total = sum(follow.values())
    return (follow[symbol] + len(follow) * lower) / (total + len(follow)) if follow else lower


def test_the_n_gram_model_is_that_of_witten_and_bell():
    draw = np.random.default_rng(0)
    train, windows = draw.integers(4, size=300) % 3, draw.integers(5, size=(6, 5))
    for order, losses in enumerate(ngram_losses(train, windows, 5), 1):
        for row, found in zip(windows.tolist(), losses, strict=True):
            for place, loss in enumerate(found, 1):
                context = row[max(0, place - order + 1) : place]
                expected = -math.log(smoothed(train.tolist(), context, row[place], 5))
                assert loss == pytest.approx(expected)
    assert order == 5


@pytest.mark.slow
def test_the_n_gram_constant_of_the_default_size():
    """The order of the constant is the best on validation data."""
    task = characters()
    ngram = task.constants()["ngram"]
    assert ngram["loss"] < task.metrics["loss"].solved < task.chance_loss
    assert ngram["bits_per_character"] == pytest.approx(ngram["loss"] / math.log(2))
    train = task.text.codes["train"]
    means: dict[str, list[float]] = {}
    for part in ("validation", "test"):
        losses_by_order = ngram_losses(train, task.text.windows(part, 32), task.signature.num_outputs)
        means[part] = [losses.mean() for losses in losses_by_order]
    best = np.argmin(means["validation"])
    assert ngram["loss"] == means["test"][best]
    assert 4 <= best + 1 < len(means["validation"])
    last = characters(asked="last").constants()["ngram"]
    assert last == {"loss": ngram["loss@prefix"], "bits_per_character": ngram["loss@prefix"] / math.log(2)}


def test_parts_share_no_paragraph_and_the_text_is_that_of_this_python():
    task = characters()
    parts = [set(read(task, part).split("\n")) for part in ("train", "validation", "test")]
    assert len(set.union(*parts)) == sum(map(len, parts)) > 1500
    assert 'The simple form, "assert expression", is equivalent to' in set.union(*parts)
    ((name, path),) = declared_files([Characters])
    assert name == "Characters topics.py"
    assert Path(path).parent.name == "pydoc_data"


def test_windows_are_of_consecutive_characters(tmp_path):
    task = text_file(tmp_path, "\n".join(f"line {n}, {n * n}" for n in range(300)), pieces="lines", seq_len=8)
    batch, text = task.split(0, "test", "cpu"), task.text.codes["test"]
    assert torch.equal(batch.inputs[:, 1:], batch.targets[:, :-1])
    assert torch.equal(batch.inputs[1:, 0], batch.targets[:-1, -1])
    assert batch.inputs.flatten().tolist() == text[: 8 * len(batch)].tolist()
    assert len(text) - 8 * len(batch) <= 8
    starts = {
        tuple(row) for row in np.lib.stride_tricks.sliding_window_view(task.text.codes["train"], 8).tolist()
    }
    assert {tuple(row) for row in next(task.train_batches(0, 500, "cpu")).inputs.tolist()} <= starts


def test_the_slice_asks_for_the_last_character_and_an_encoder_sees_the_others():
    task = characters()
    last = task.sliced("prefix").split(0, "test", "cpu")
    whole = task.split(0, "test", "cpu")
    assert torch.equal(last.inputs, whole.inputs)
    assert (last.targets[:, :-1] == IGNORED).all()
    assert torch.equal(last.targets[:, -1], whole.targets[:, -1])
    cautions = {topology: [*task.for_topology(topology).cautions()] for topology in task.topologies}
    assert [len(cautions[topology]) for topology in ("decoder", "encoder")] == [0, 1]
    assert not [*task.sliced("prefix").for_topology("encoder").cautions()]


def test_metrics_are_nats_bits_and_right_characters():
    task = characters(seq_len=4)
    batch = task.split(0, "test", "cpu")
    size = task.signature.num_outputs
    uniform = task.measure(torch.zeros(len(batch), 4, size), batch)
    assert torch.allclose(uniform["loss"], torch.tensor(math.log(size)))
    assert torch.allclose(uniform["bits_per_character"], torch.tensor(math.log2(size)))
    shares = (np.bincount(task.text.codes["train"], minlength=size) + 1) / (
        len(task.text.codes["train"]) + size
    )
    guess = torch.from_numpy(np.log(shares)).float().expand(len(batch), 4, size)
    found = task.summarise({name: values.numpy() for name, values in task.measure(guess, batch).items()})
    for name, metric in task.metrics.items():
        assert found[name] == pytest.approx(metric.floor, rel=1e-5)


def test_rare_characters_are_one_and_more_text_than_is_asked_for_is_left_out(tmp_path):
    content = "\n\n".join(f"{n} thing {n * n} {chr(0x4E00 + n)}" for n in range(600))
    task = text_file(tmp_path, content, vocab_size=10, max_characters=9000, seq_len=8)
    assert task.signature.vocab_size == 11
    assert 8000 < task.support <= 9000
    assert sum(map(len, task.text.codes.values())) == task.support
    assert (task.text.codes["train"] == 0).any()


@pytest.mark.slow
def test_without_a_mask_a_model_reads_its_targets_and_is_worse_where_it_cannot():
    task, asked_last = characters(), characters(asked="last")
    losses, last_losses = {}, {}
    for topology in ("decoder", "encoder"):
        section = ModelSection.model_validate(
            {"topology": topology, "d_model": 32, "num_layers": 1, "position": "learned"}
        )
        model = trained(section, task, batch_size=32, steps=300)
        with torch.no_grad():
            for asked, measured in ((task, losses), (asked_last, last_losses)):
                test = asked.split(0, "test", "cpu")
                measured[topology] = asked.loss(model(**test.model_inputs()), test).item()
    assert losses["encoder"] < 0.1 * losses["decoder"]
    assert last_losses["encoder"] > last_losses["decoder"] + 0.2
