"""Pairs of texts of one's own: the source, and the target that is to be written for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import PositiveInt
from torch import Tensor

from ablate.base.datafile import DataFile
from ablate.base.errors import Invalid
from ablate.base.registry import PartConfig, register
from ablate.core.metric import Metric, Sampling
from ablate.tasks.bleu import corpus_bleu, counted
from ablate.tasks.files import Parts, Unit, Vocabulary, of_file, padded, read_rows, split_rows, symbols
from ablate.tasks.pool import Pool
from ablate.tasks.task import IGNORED, Batch, Outcomes
from ablate.tasks.transduction import FIRST_SYMBOL, PADDING, Sequences, Transduction, greedy

COUNTS = tuple(f"bleu_{name}" for name in ("written", "wanted", "1", "2", "3", "4"))
STRANGE = (
    "\ufffe",
    "\uffff",
)  # A symbol that is not in the vocabulary, as written and as wanted: never the same.


@register("task", "text_pairs")
class TextPairs(Transduction, Pool):
    """Which text belongs to a text? On pairs of your own, a translation for instance.

    Equal sources are in one split: a fifth of them is for test, the same for every seed; of the others every seed draws
    an eighth for validation. The vocabulary, which source and target share, is of all but those for test.

    Beside accuracy and loss there are, of what the model writes by itself (greedy decoding), on test only, the share of
    right tokens and BLEU, of words that blank space parts, or of the vocabulary's own. Guessing is the commonest target
    of training, and the commonest token at each place. Of 2,000 pairs, numbers of four digits and their English words,
    two layers of causal attention, d_model 32, learn .97 and .98 of those for test in 150 steps (6 s on one core).
    """

    class Config(PartConfig):
        """Parameters of the task."""

        file: DataFile
        "Lines of a source, a tab and its target, in UTF-8; the path is relative to the study."
        unit: Unit = "characters"
        "What a token is."
        max_len: PositiveInt = 64
        "Tokens of a source that are read, and of a target that are asked for; the rest is left out."
        vocab_size: PositiveInt = 1000
        "The most frequent tokens, so many at most, are told apart; all others are one."
        solved: float | None = None
        "Accuracy at which it counts as learned, where you know one."

    outcome = "graded"

    def __init__(self, config: Config) -> None:
        self.config = config
        self.texts = texts = _texts(config.file, config)
        sources, targets = (range(of.min(), of.max() + 1) for _, of in (texts.source, texts.target))
        size = FIRST_SYMBOL + len(texts.vocabulary)
        self.set_sequences(vocab_size=size, sources=sources, targets=targets)
        self.all = self.pairs(texts.source, texts.target)
        sizes = {name: len(of) for name, of in self.indices(0).items()}
        self.sampling = Sampling("held_out", sizes["test"], sizes["train"], sizes["validation"])
        self.support = len(texts.keys)
        self._set_guesses(size)

    def _set_guesses(self, size: int) -> None:
        rows, targets = self.indices(0)["test"], self.all.targets.clamp(min=PADDING).numpy()
        test, train = targets[rows], np.delete(targets, rows, axis=0)
        asked = test != PADDING
        places = np.stack([np.bincount(column, minlength=size) for column in train.T])
        places[:, PADDING] = 0
        counts = places.sum(0) + 1
        losses = np.where(asked, -np.log(counts / counts.sum())[test], 0).sum(1)
        hits = ((test == places.argmax(1)) & asked).sum(1)
        answers, often = np.unique(train, axis=0, return_counts=True)
        sequence = (test == answers[often.argmax()]).all(1)
        loss, token = (float((of / asked.sum(1)).mean()) for of in (losses, hits))
        self.set_floors(loss, float(sequence.mean()), token, len(rows), self.config.solved)
        self.decoded = {
            "greedy_token_accuracy": Metric("max", floor=token, ceiling=1.0),
            "bleu": Metric("max", floor=0.0, ceiling=1.0),
        }

    def indices(self, seed: int) -> Parts:
        """See `split_rows`."""
        return split_rows(self.config.file, self.texts.keys, seed)

    def examples(self, rows: NDArray[np.intp], device: str) -> Batch:
        """See `Transduction.laid_out`."""
        return self.laid_out(self.all[torch.from_numpy(rows)]).each(lambda x: x.to(device))

    def coverage(self, draws: int) -> float:
        """By the sources."""
        return self.recurring(self.texts.source[0], draws)

    def cautions(self) -> Sequence[str]:
        """See `Task.cautions`."""
        return self.texts.cautions

    def digests(self, seed: int) -> Mapping[str, str]:
        """Of all three splits, and of the vocabulary."""
        return {**super().digests(seed), "vocabulary": self.texts.vocabulary.digest()}

    def decode(self, model: Any, batch: Batch) -> Mapping[str, Tensor]:
        """`greedy_token_accuracy`, and what `corpus_bleu` counts of each example."""
        written, asked = greedy(model, batch), batch.targets != IGNORED
        wanted = batch.targets.where(asked, 0)
        both = zip(self._words(written, STRANGE[0]), self._words(wanted, STRANGE[1]), strict=True)
        counts = torch.tensor([counted(*pair) for pair in both], device=written.device)
        right = ((written == batch.targets) & asked).sum(1) / asked.sum(1)
        return {"greedy_token_accuracy": right, **dict(zip(COUNTS, counts.T, strict=True))}

    def summarise(self, found: Outcomes) -> dict[str, float]:
        """Means, and BLEU where there is what it is counted from."""
        means = super().summarise({name: of for name, of in found.items() if name not in COUNTS})
        if COUNTS[0] not in found:
            return means
        return means | {"bleu": corpus_bleu(np.stack([found[name] for name in COUNTS], axis=1))}

    def _words(self, codes: Tensor, unknown: str) -> Iterator[list[str]]:
        """The words of each row; those of a row of characters are parted by blank space."""
        names = [*[""] * FIRST_SYMBOL, unknown, *self.texts.vocabulary.symbols]
        joint = " " if self.config.unit == "words" else ""
        return (joint.join(names[code] for code in row).split() for row in codes.tolist())


@dataclass(frozen=True)
class Texts:
    """The pairs of a file."""

    keys: Sequence[str]  # What the hash of each is of: the source, as far as it is read.
    source: Sequences
    target: Sequences
    vocabulary: Vocabulary
    cautions: Sequence[str]


@of_file
def _texts(file: DataFile, config: TextPairs.Config) -> Texts:
    columns: tuple[list[Sequence[str]], ...] = [], []
    for line, cells in read_rows(file, "\t", quoted=False):
        found = [symbols(cell.strip(), config.unit) for cell in cells]
        if len(found) != 2 or not all(found):
            rule = f"must have a source, a tab and a target in each line; line {line} has not"
            raise Invalid("file", rule, file.written)
        for column, of in zip(columns, found, strict=True):
            column.append(of)
    sources, targets = ([of[: config.max_len] for of in column] for column in columns)
    keys = ["\0".join(of) for of in sources]
    test = set(split_rows(file, keys)["test"].tolist())
    known = (of[row] for row in range(len(keys)) if row not in test for of in (sources, targets))
    vocabulary = Vocabulary(known, config.vocab_size, marks=1)
    source, target = (
        (
            FIRST_SYMBOL + padded(list(map(vocabulary.encode, column)), config.max_len),
            np.array([[len(of)] for of in column]),
        )
        for column in (sources, targets)
    )
    cut = [sum(len(of) > config.max_len for of in column) for column in columns]
    said = f"{cut[0]} sources and {cut[1]} targets of {len(keys)} are cut off at max_len = {config.max_len}"
    return Texts(keys, source, target, vocabulary, [said] if any(cut) else [])
