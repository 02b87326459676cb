"""Language modelling on a text: at every position of a window, which character comes next?"""

from __future__ import annotations

import copy
import math
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import PositiveInt
from torch import Tensor

from ablate.base.datafile import DataFile
from ablate.base.errors import Invalid
from ablate.base.registry import PartConfig
from ablate.base.streams import numpy_stream
from ablate.core.metric import Metric, Sampling
from ablate.core.signature import Signature
from ablate.tasks.files import Vocabulary, kept_per_file, split_rows
from ablate.tasks.labelling import Labelling
from ablate.tasks.ngrams import ngram_codes, ngram_losses, values_at
from ablate.tasks.task import IGNORED, Batch, Constants, Slices, Split, Topology, digest, example_stream

CHUNK = 4096  # Training windows that are drawn at a time.
MIN_WINDOWS = 20  # Windows of the smallest part.
BITS = 1 / math.log(2)  # Bits of a nat.
PREFIX = "prefix"
HASH_BASE = -0x61C8864680B583EB  # The base of a hash of windows, an odd number.


@dataclass(frozen=True)
class Text:
    """A text as codes of its characters, in three parts, `train`, `validation` and `test`, with their vocabulary."""

    codes: Mapping[str, NDArray[np.int64]]
    "A code for every character of each part, (N)."
    vocabulary: Vocabulary

    def windows(self, part: str, width: int) -> NDArray[np.int64]:
        """Returns a part of the text cut into windows of codes, (N, width + 1);
        each begins with the character that ends the one before.

        What is left at the end of the part is not in any.
        """
        codes = self.codes[part]
        starts = np.arange(0, len(codes) - width, width)
        return codes[starts[:, None] + np.arange(width + 1)]


class Language(Labelling):
    """A task on a text, whose target at each position of a window is the next character; a subclass cuts the text into
    pieces, each of which is for one part of the data.

    A piece that occurs twice counts once, and a hash of it decides which part it is for, the same for every seed; the
    pieces of a part stand in their order. Training draws windows from anywhere in its part; those for validation and
    test do not overlap. Short windows recur in any text: `coverage` says how many of those for test training has seen.
    """

    class Config(PartConfig):
        """The length of windows, the size of the vocabulary and the positions that are asked, to which a task adds its
        own parameters.
        """

        seq_len: PositiveInt = 32
        "T, the characters of a window."
        vocab_size: PositiveInt = 255
        "The most frequent characters of training, so many at most, are told apart; all others are one."
        asked: Literal["all", "last"] = "all"
        "Positions that are asked: all, or the last alone, whose answer the window does not show."

    config: Config
    outcome = "graded"
    separator: ClassVar[str] = "\n"
    "The text that stands between two pieces."
    sees_target = False
    "Whether the model may look at the characters that it is asked for."

    @classmethod
    @abstractmethod
    def pieces(cls, file: DataFile, config: Any) -> Iterable[str]:
        """Returns the pieces of a text as strings, in order; each piece goes as a whole to training, validation or
        test.
        """

    def __init__(self, config: Any, file: DataFile | None = None, solved: float | None = None) -> None:
        """Reads and codes the text, and sets the task's metrics, signature and sampling.
        Raises `Invalid` where a part has too few windows.

        file: the text, where it is not the file of the config. solved: the loss at which the task counts as learned.
        """
        self.config = config
        self.file = file or config.file
        # Windows of any length share one text.
        shared = config.model_copy(update={"seq_len": 1, "asked": "all"})
        self.text = _text(self.file, type(self), shared)
        self._check_windows()
        train = self.text.codes["train"]
        test = self.text.windows("test", config.seq_len)
        self._set_metrics(train, test[:, self._first :], solved)
        self.sampling = Sampling(
            "held_out",
            test=len(test),
            train=len(train) - config.seq_len,
            validation=len(self.text.windows("validation", config.seq_len)),
        )
        self.support = sum(map(len, self.text.codes.values()))
        size = len(self.text.vocabulary)
        self.signature = Signature(config.seq_len, num_outputs=size, vocab_size=size, readout="all")

    def _check_windows(self) -> None:
        """Raises `Invalid` where a part of the text has fewer than `MIN_WINDOWS` windows of `seq_len`."""
        width = self.config.seq_len
        too_few: list[str] = []
        for part in self.text.codes:
            num_windows = len(self.text.windows(part, width))
            if num_windows < MIN_WINDOWS:
                too_few.append(f"{num_windows} for {part}")
        if too_few:
            rule = f"must leave {MIN_WINDOWS} windows of {self.file.written} in every part"
            rule = f"{rule}: it leaves {', '.join(too_few)}"
            raise Invalid("seq_len", rule, width, hint="Use a longer text, or a smaller seq_len")

    def _set_metrics(self, train: NDArray[np.int64], asked: NDArray[np.int64], solved: float | None) -> None:
        """Sets `metrics`, whose floors are those of guessing each character by its frequency in training, and
        `chance_loss`, the floor of the loss.

        train: the codes of training, (N). asked: the codes for test that are asked for, (N, 1) or (N, T).
        """
        counts = np.bincount(train, minlength=len(self.text.vocabulary)) + 1
        chance = float(-np.log(counts / counts.sum())[asked].mean())
        commonest = float((asked == counts.argmax()).mean())
        self.chance_loss = chance
        self.metrics = {
            "loss": Metric("min", floor=chance, ceiling=0.0, solved=solved),
            "bits_per_character": Metric("min", floor=BITS * chance, ceiling=0.0),
            "accuracy": Metric("max", 1 / asked.size, floor=commonest, ceiling=1.0),
        }

    @property
    def _first(self) -> int:
        """The index, in a window of T + 1 characters, of the first character that is asked for: T with `asked: last`,
        else 1.
        """
        return self.config.seq_len if self.config.asked == "last" else 1

    def for_topology(self, topology: Topology) -> Language:
        """Returns a copy for a topology; `sees_target` is True in an encoder with `asked: all`:
        it reads the characters that it predicts.

        An encoder has no causal mask.
        """
        task = copy.copy(self)
        task.sees_target = topology == "encoder" and self.config.asked == "all"
        return task

    def cautions(self) -> Iterator[str]:
        if self.sees_target:
            yield f"an encoder sees its target: what it has learned to tell, loss@{PREFIX} alone says"

    def slices(self) -> Slices:
        """Returns the slice `prefix`, with `asked: last`: only the last target of each window, which no model sees, is
        asked for; {} where the task itself has `asked: last`.
        """
        return {} if self.config.asked == "last" else {PREFIX: {"asked": "last"}}

    def constants(self) -> Constants:
        """Returns `ngram` → `loss`, `bits_per_character` and `loss@prefix` of a smoothed n-gram model of training,
        its order chosen by validation.

        `loss@prefix` is there only where the task has this slice.
        """
        every_loss, last_loss = _losses_of_ngrams(self.file, self.config)
        loss = last_loss if self.config.asked == "last" else every_loss
        values = {"loss": loss, "bits_per_character": BITS * loss}
        for name in self.slices():
            values[f"loss@{name}"] = last_loss
        return {"ngram": values}

    def coverage(self, draws: int) -> float:
        """Returns the expected share of test windows, 0 to 1, whose inputs equal those of one
        of `draws` training windows.
        """
        counts, num_windows = _recurring(self.file, self.config)
        return float((1 - (1 - counts / num_windows) ** draws).mean())

    def train_batches(self, seed: int, batch_size: int, device: str) -> Iterator[Batch]:
        """Returns endless batches of windows from anywhere in training, on `device`;
        the n-th window does not depend on the batch size.
        """
        return example_stream(self._drawn(seed, device), batch_size)

    def _drawn(self, seed: int, device: str) -> Iterator[Batch]:
        """Yields endless batches of `CHUNK` windows, each from a random place in the training part, on `device`."""
        generator = numpy_stream(seed, "data", "order")
        text = self.text.codes["train"]
        places = np.arange(self.config.seq_len + 1)
        while True:
            starts = generator.integers(len(text) - len(places) + 1, size=(CHUNK, 1))
            yield self._batch(text[starts + places], device)

    def split(self, seed: int, name: Split, device: str) -> Batch:
        """Returns the windows of `validation` or `test`, which do not overlap, as one batch on `device`,
        the same for every seed.
        """
        return self._batch(self.text.windows(name, self.config.seq_len), device)

    def digests(self, seed: int) -> Mapping[str, str]:
        """Returns digests by name: of `train`, `validation`, `test` and of the `vocabulary`."""
        train = digest(self._batch(self.text.codes["train"][None], "cpu"))
        return {**super().digests(seed), "train": train, "vocabulary": self.text.vocabulary.digest()}

    def measure(self, logits: Tensor, batch: Batch) -> Mapping[str, Tensor]:
        """Returns metrics by name, each (B): `loss` in nats, `bits_per_character` and `accuracy` are means over the
        characters that are asked for.
        """
        labels = super().measure(logits, batch)
        bits = BITS * labels["loss"]
        return {"loss": labels["loss"], "bits_per_character": bits, "accuracy": labels["accuracy"]}

    def _batch(self, windows: NDArray[np.int64], device: str) -> Batch:
        """Returns windows (N, T + 1) as a batch on `device`: inputs (N, T), and as targets (N, T) the next characters,
        `IGNORED` at positions that are not asked.
        """
        targets = windows[:, 1:].copy()
        targets[:, : self._first - 1] = IGNORED
        return Batch.of(windows[:, :-1], targets).to(device)


@kept_per_file
def _text(file: DataFile, kind: type[Language], config: Language.Config) -> Text:
    """Returns the text that a kind of task reads from a file, split into its parts and coded;
    equal pieces count once.
    """
    pieces = list(dict.fromkeys(filter(None, kind.pieces(file, config))))
    parts = {}
    for part, rows in split_rows(file, pieces).items():
        parts[part] = kind.separator.join(pieces[row] for row in rows)
    vocabulary = Vocabulary([parts["train"]], config.vocab_size, marks=1)
    codes = {part: np.array(vocabulary.encode(text)) for part, text in parts.items()}
    return Text(codes, vocabulary)


@kept_per_file
def _losses_of_ngrams(file: DataFile, config: Language.Config) -> tuple[float, float]:
    """Returns two mean losses in nats of an n-gram model on the test windows: over every character of a window but the
    first, and over the last character alone.
    """
    text: Text = config.build().text
    train = text.codes["train"]
    size = len(text.vocabulary)
    width = config.seq_len
    means = [losses.mean() for losses in ngram_losses(train, text.windows("validation", width), size)]
    losses_by_order = ngram_losses(train, text.windows("test", width), size)
    best = next(islice(losses_by_order, int(np.argmin(means)), None))
    return float(best.mean()), float(best[:, -1].mean())


@kept_per_file
def _recurring(file: DataFile, config: Language.Config) -> tuple[NDArray[np.int64], int]:
    """Returns the number of training windows whose inputs equal those of each test window, (N), and the number of all
    training windows.
    """
    text: Text = config.build().text
    width = config.seq_len
    train = ngram_codes(text.codes["train"][:-1], width, HASH_BASE)
    test = ngram_codes(text.windows("test", width)[:, :-1], width, HASH_BASE)
    windows, counts = np.unique(train, return_counts=True)
    return values_at(windows, counts, test[:, 0]), len(train)
