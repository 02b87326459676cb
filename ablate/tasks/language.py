"""Language modelling on a text: at every position of a window, which character comes next?"""

from __future__ import annotations

import copy
import math
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import count, islice
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
from ablate.tasks.files import Vocabulary, of_file, split_rows
from ablate.tasks.labelling import Labelling
from ablate.tasks.ngrams import coded, ngram_losses, values_of
from ablate.tasks.task import IGNORED, Batch, Split, Topology, digest, example_stream

CHUNK = 4096  # Training windows that are drawn at a time.
FEWEST = 20  # Windows of the smallest part.
BITS = 1 / math.log(2)  # Of a nat.
PREFIX = "prefix"
ODD = -0x61C8864680B583EB  # The base of a hash of windows.


@dataclass(frozen=True)
class Text:
    """A text in its parts, train, validation and test, each a code (N) for every character."""

    codes: Mapping[str, NDArray[np.int64]]
    vocabulary: Vocabulary

    def windows(self, part: str, width: int) -> NDArray[np.int64]:
        """A part cut into windows that share the character at which one ends and the next begins, (N, width + 1)."""
        codes = self.codes[part]
        return codes[np.arange(0, len(codes) - width, width)[:, None] + np.arange(width + 1)]


class Language(Labelling):
    """A text in pieces; a subclass says which they are.

    A piece that occurs twice counts once, and a hash of it says which part it is for, the same for every seed; the
    pieces of a part stand in their order. Training draws windows from anywhere in its part; those for validation and
    test do not overlap. Short windows recur in any text: `coverage` says how many of those for test training has seen.
    """

    class Config(PartConfig):
        """The windows and their characters, to which a task adds its own parameters."""

        seq_len: PositiveInt = 32
        "T, the characters of a window."
        vocab_size: PositiveInt = 255
        "The most frequent characters of training, so many at most, are told apart; all others are one."
        asked: Literal["all", "last"] = "all"
        "Whether every position is asked, or the last alone, whose answer the window does not show."

    outcome = "graded"
    joint: ClassVar[str]
    "What stands between two pieces."
    sees_target = False
    "Whether the model may look at the characters that it is asked for."

    @classmethod
    @abstractmethod
    def pieces(cls, file: DataFile, config: Any) -> Iterable[str]:
        """The pieces of the text, in order."""

    def __init__(self, config: Any, file: DataFile | None = None, solved: float | None = None) -> None:
        """`file`: the text, where it is not the config's. `solved`: the loss at which it is learned."""
        self.config, self.file = config, file or config.file
        self.text = text = _text(
            self.file, type(self), config.model_copy(update={"seq_len": 1, "asked": "all"})
        )
        windows = {part: text.windows(part, config.seq_len) for part in text.codes}
        if few := [f"{len(of)} for {part}" for part, of in windows.items() if len(of) < FEWEST]:
            rule = f"must leave {FEWEST} windows of {self.file.written} in every part: it leaves {', '.join(few)}"
            raise Invalid("seq_len", rule, config.seq_len, hint="Use a longer text, or a smaller seq_len")
        size, asked = len(text.vocabulary), windows["test"][:, self._first :]
        counts = np.bincount(text.codes["train"], minlength=size) + 1
        self.chance_loss = chance = float(-np.log(counts / counts.sum())[asked].mean())
        commonest = float((asked == counts.argmax()).mean())
        self.metrics = {
            "loss": Metric("min", floor=chance, ceiling=0.0, solved=solved),
            "bits_per_character": Metric("min", floor=BITS * chance, ceiling=0.0),
            "accuracy": Metric("max", 1 / asked.size, floor=commonest, ceiling=1.0),
        }
        starts = len(text.codes["train"]) - config.seq_len
        self.sampling = Sampling("held_out", len(asked), starts, len(windows["validation"]))
        self.support = sum(map(len, text.codes.values()))
        self.signature = Signature(config.seq_len, num_outputs=size, vocab_size=size, readout="all")

    @property
    def _first(self) -> int:
        """The first character of a window that is asked for."""
        return self.config.seq_len if self.config.asked == "last" else 1

    def for_topology(self, topology: Topology) -> Language:
        """See `Task.for_topology`: an encoder has no causal mask."""
        laid_out = copy.copy(self)
        laid_out.sees_target = topology == "encoder" and self.config.asked == "all"
        return laid_out

    def cautions(self) -> Iterator[str]:
        if self.sees_target:
            yield f"an encoder sees its target: what it has learned to tell, loss@{PREFIX} alone says"

    def slices(self) -> Mapping[str, Mapping[str, Any]]:
        """Returns the slice `prefix`: the last position of each window, whose target no model sees."""
        return {} if self.config.asked == "last" else {PREFIX: {"asked": "last"}}

    def constants(self) -> Mapping[str, Mapping[str, float]]:
        """`ngram`: a smoothed n-gram model of the training text (`ablate.tasks.ngrams`), its order from validation."""
        every, last = _ngram(self.file, self.config)
        loss = last if self.config.asked == "last" else every
        found = {"loss": loss, "bits_per_character": BITS * loss}
        return {"ngram": found | {f"loss@{name}": last for name in self.slices()}}

    def coverage(self, draws: int) -> float:
        """By the windows of training that are equal to one for test."""
        same, starts = _recurring(self.file, self.config)
        return float((1 - (1 - same / starts) ** draws).mean())

    def train_batches(self, seed: int, batch_size: int, device: str) -> Iterator[Batch]:
        """Windows from anywhere in the training part; the n-th does not depend on the batch size."""
        generator, width = numpy_stream(seed, "data", "order"), np.arange(self.config.seq_len + 1)
        text = self.text.codes["train"]
        starts = (generator.integers(len(text) - len(width) + 1, size=(CHUNK, 1)) for _ in count())
        return example_stream((self._batch(text[of + width], device) for of in starts), batch_size)

    def split(self, seed: int, name: Split, device: str) -> Batch:
        """The windows of a part, the same for every seed."""
        return self._batch(self.text.windows(name, self.config.seq_len), device)

    def digests(self, seed: int) -> Mapping[str, str]:
        """Of all three parts, and of the vocabulary."""
        train = digest(self._batch(self.text.codes["train"][None], "cpu"))
        return {**super().digests(seed), "train": train, "vocabulary": self.text.vocabulary.digest()}

    def measure(self, logits: Tensor, batch: Batch) -> Mapping[str, Tensor]:
        """`loss` in nats and `bits_per_character`, means over what is asked; `accuracy`: share of right characters."""
        found = super().measure(logits, batch)
        bits = BITS * found["loss"]
        return {"loss": found["loss"], "bits_per_character": bits, "accuracy": found["accuracy"]}

    def _batch(self, windows: NDArray[np.int64], device: str) -> Batch:
        """Characters (B, T), and at each position the next one (B, T)."""
        targets = windows[:, 1:].copy()
        targets[:, : self._first - 1] = IGNORED
        return Batch.of(windows[:, :-1], targets).each(lambda x: x.to(device))


@of_file
def _text(file: DataFile, kind: type[Language], config: Language.Config) -> Text:
    pieces = list(dict.fromkeys(filter(None, kind.pieces(file, config))))
    rows = split_rows(file, pieces)
    parts = {part: kind.joint.join(pieces[row] for row in rows[part]) for part in rows}
    vocabulary = Vocabulary([parts["train"]], config.vocab_size, marks=1)
    codes = {part: np.array(vocabulary.encode(text)) for part, text in parts.items()}
    return Text(codes, vocabulary)


@of_file
def _ngram(file: DataFile, config: Language.Config) -> tuple[float, float]:
    """The loss of an n-gram model on the windows for test, and that of their last characters."""
    text: Text = config.build().text
    size, width = len(text.vocabulary), config.seq_len
    means = [of.mean() for of in ngram_losses(text.codes["train"], text.windows("validation", width), size)]
    on_test = ngram_losses(text.codes["train"], text.windows("test", width), size)
    best = next(islice(on_test, int(np.argmin(means)), None))
    return float(best.mean()), float(best[:, -1].mean())


@of_file
def _recurring(file: DataFile, config: Language.Config) -> tuple[NDArray[np.int64], int]:
    """How many windows of training are equal to each of those for test, and how many windows there are."""
    text: Text = config.build().text
    tests = text.windows("test", config.seq_len)[:, :-1]
    train, test = (coded(of, config.seq_len, ODD) for of in (text.codes["train"][:-1], tests))
    return values_of(*np.unique(train, return_counts=True), test[:, 0]), len(train)
