"""Pairs of texts of one's own: the source, and the target that is to be written for it."""

import math
from collections import Counter
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
from ablate.base.registry import register
from ablate.core.metric import Metric
from ablate.tasks.files import Unit, Vocabulary, padded, read_rows, symbols
from ablate.tasks.rows import Examples, Rows, without_test
from ablate.tasks.task import IGNORED, Batch, Integers, Outcomes
from ablate.tasks.transduction import END, FIRST_SYMBOL, PADDING, Transduction, greedy, signature_of

ORDERS = range(1, 5)  # Of n-grams in BLEU.
COUNTS = tuple(f"bleu_{name}" for name in ("written", "wanted", "1", "2", "3", "4"))
STRANGE = (
    "\ufffe",
    "\uffff",
)  # A symbol that is not in the vocabulary, as written and as wanted: never the same.


@dataclass(frozen=True, kw_only=True)
class Texts(Examples):
    """The pairs of a file; the key of each is its source, as far as it is read."""

    vocabulary: Vocabulary


@register("task", "text_pairs")
class TextPairs(Transduction, Rows):
    """Which text belongs to a text? On pairs of your own, a translation for instance.

    Equal sources are in one split: a fifth of them is for test, the same for every seed; of the others every seed draws
    an eighth for validation. The vocabulary, which source and target share, is of all but those for test.

    Beside accuracy and loss there are, of what the model writes by itself (greedy decoding), on test only, the share of
    right tokens and BLEU, of words that blank space parts, or of the vocabulary's own. Guessing, which claims call
    `commonest`, is the commonest target of training, and the commonest token at each place. Of 2,000 pairs, numbers of
    four digits and their English words, two layers of causal attention, d_model 32, learn 0.97 and 0.98 of those for
    test in 150 steps (6 s on one core).
    """

    class Config(Rows.Config):
        file: DataFile
        "Lines of a source, a tab and its target, in UTF-8; the path is relative to the study."
        unit: Unit = "characters"
        "What a token is."
        max_len: PositiveInt = 64
        "Tokens of a source that are read, and of a target that are asked for; the rest is left out."
        vocab_size: PositiveInt = 1000
        "The most frequent tokens, so many at most, are told apart; all others are one."

    rows: Texts
    guess = "commonest"

    @classmethod
    def read(cls, file: DataFile, config: Config) -> Texts:
        """Symbols of sources and of targets, the end after these, and padding: (N, S) and (N, T)."""
        pairs = []
        for line, cells in read_rows(file, "\t", quoted=False):
            pair = [symbols(cell.strip(), config.unit) for cell in cells]
            if len(pair) != 2 or not all(pair):
                rule = f"must have a source, a tab and a target in each line; line {line} has not"
                raise Invalid("file", rule, file.written)
            pairs.append(pair)
        sources, targets = ([of[: config.max_len] for of in column] for column in zip(*pairs, strict=True))
        keys = ["\0".join(of) for of in sources]
        known = (of[row] for row in without_test(file, keys) for of in (sources, targets))
        vocabulary = Vocabulary(known, config.vocab_size, marks=1)
        read, asked = _coded(sources, vocabulary), np.pad(_coded(targets, vocabulary), ((0, 0), (0, 1)))
        np.put_along_axis(asked, _lengths(asked), END, 1)
        lengths = (range(min(map(len, of)), max(map(len, of)) + 1) for of in (sources, targets))
        signature = signature_of(FIRST_SYMBOL + len(vocabulary), *lengths)
        digests = {"vocabulary": vocabulary.digest()}
        cut = [sum(len(of) > config.max_len for of in column) for column in zip(*pairs, strict=True)]
        said = (
            f"{cut[0]} sources and {cut[1]} targets of {len(keys)} are cut off at max_len = {config.max_len}"
        )
        return Texts(keys, read, asked, signature, digests, [said] if any(cut) else [], vocabulary=vocabulary)

    def set_answers(self, rest: Integers, test: Integers) -> None:
        asked = test != PADDING
        places = np.stack([np.bincount(column, minlength=self.signature.num_outputs) for column in rest.T])
        places[:, PADDING] = 0
        counts = places.sum(0) + 1
        losses = np.where(asked, -np.log(counts / counts.sum())[test], 0).sum(1)
        hits = ((test == places.argmax(1)) & asked).sum(1)
        answers, often = np.unique(rest, axis=0, return_counts=True)
        sequence = (test == answers[often.argmax()]).all(1)
        loss, token = (float((of / asked.sum(1)).mean()) for of in (losses, hits))
        self.set_floors(loss, float(sequence.mean()), token, len(test), self.config.solved)
        self.decoded = {
            "greedy_token_accuracy": Metric("max", floor=token, ceiling=1.0),
            "bleu": Metric("max", floor=0.0, ceiling=1.0),
        }

    def examples(self, rows: NDArray[np.intp], device: str) -> Batch:
        read, asked = self.rows.inputs[rows], self.rows.targets[rows]
        batch = self.pairs((read, _lengths(read)), (asked[:, :-1], _lengths(asked) - 1))
        return self.laid_out(batch).each(lambda x: x.to(device))

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
        names = [*[""] * FIRST_SYMBOL, unknown, *self.rows.vocabulary.symbols]
        joint = " " if self.config.unit == "words" else ""
        return (joint.join(names[code] for code in row).split() for row in codes.tolist())


def _coded(texts: Sequence[Sequence[str]], vocabulary: Vocabulary) -> Integers:
    """(N, longest): the symbols of each text, and padding."""
    return padded([[FIRST_SYMBOL + code for code in vocabulary.encode(text)] for text in texts], PADDING)


def _lengths(codes: Integers) -> Integers:
    """(N, 1): all but padding."""
    return (codes != PADDING).sum(1, keepdims=True)


def counted(candidate: Sequence[str], reference: Sequence[str]) -> list[int]:
    """Both lengths; then, for each n, the n-grams that both have, each as often as the one that has it less often."""
    grams = [
        [Counter(zip(*(words[i:] for i in range(n)), strict=False)) for words in (candidate, reference)]
        for n in ORDERS
    ]
    return [len(candidate), len(reference), *((ours & theirs).total() for ours, theirs in grams)]


def corpus_bleu(counts: NDArray[np.floating]) -> float:
    """BLEU of a corpus, 0 to 1, from what `counted` gives for each example, (N, 6).

    After Papineni et al. 2002, "BLEU: a Method for Automatic Evaluation of Machine Translation", section 2: the
    geometric mean of the shares of a candidate's n-grams, n = 1 … 4, that its reference has too, over all examples
    together; times a penalty where the candidates are shorter than the references. One reference, no smoothing: 0 where
    no sequence of four words is right.
    """
    written, wanted, *matches = counts.sum(0, dtype=np.float64)
    possible = [np.maximum(counts[:, 0] - n + 1, 0).sum(dtype=np.float64) for n in ORDERS]
    if min(matches) == 0:
        return 0.0
    return math.exp(min(0.0, 1 - wanted / written) + np.log(np.array(matches) / possible).mean())
