"""Pairs of texts of one's own: the source, and the target that is to be written for it."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

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
from ablate.tasks.rows import RowData, Rows, without_test
from ablate.tasks.task import IGNORED, Batch, Integers, Outcomes, StepwiseModel
from ablate.tasks.transduction import (
    END,
    FIRST_SYMBOL,
    PADDING,
    Sequences,
    Transduction,
    greedy,
    signature_of_pairs,
)

ORDERS = range(1, 5)  # Of n-grams in BLEU.
COUNTS = ("bleu_written", "bleu_wanted", "bleu_1", "bleu_2", "bleu_3", "bleu_4")
# A symbol that is not in the vocabulary is never right: it differs between what is written and what is wanted.
UNKNOWN_WRITTEN = "\ufffe"
UNKNOWN_WANTED = "\uffff"


@dataclass(frozen=True, kw_only=True)
class PairData(RowData):
    """The pairs of a file as codes; the key of a pair is its source, cut at `max_len`."""

    vocabulary: Vocabulary


@register("task", "text_pairs")
class TextPairs(Transduction, Rows):
    """Pairs of texts of your own, a translation for instance; the model writes the second of each.

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
        "Unit of a token: one character, or a word, with each sign of punctuation a token of its own."
        max_len: PositiveInt = 64
        "Tokens of a source that are read, and of a target that are asked for; the rest is left out."
        vocab_size: PositiveInt = 1000
        "The most frequent tokens, so many at most, are told apart; all others are one."

    config: Config
    rows: PairData
    guess = "commonest"

    @classmethod
    def read(cls, file: DataFile, config: Config) -> PairData:
        """Returns the pairs of a file as codes of sources, (N, S), and of targets with their end tokens, (N, T), both
        cut at `max_len` and padded. Raises `Invalid` for a line that is no pair.
        """
        whole_sources, whole_targets = _texts(file, config.unit)
        sources = [text[: config.max_len] for text in whole_sources]
        targets = [text[: config.max_len] for text in whole_targets]
        keys = ["\0".join(source) for source in sources]
        known: list[Sequence[str]] = []
        for row in without_test(file, keys):
            known += [sources[row], targets[row]]
        vocabulary = Vocabulary(known, config.vocab_size, marks=1)
        target_codes = np.pad(_coded(targets, vocabulary), ((0, 0), (0, 1)))
        np.put_along_axis(target_codes, _lengths(target_codes), END, axis=1)
        num_cut = [
            sum(len(text) > config.max_len for text in texts) for texts in (whole_sources, whole_targets)
        ]
        cautions = []
        if any(num_cut):
            cut = f"{num_cut[0]} sources and {num_cut[1]} targets of {len(keys)}"
            cautions.append(f"{cut} are cut off at max_len = {config.max_len}")
        return PairData(
            keys=keys,
            inputs=_coded(sources, vocabulary),
            targets=target_codes,
            signature=signature_of_pairs(
                FIRST_SYMBOL + len(vocabulary), _range_of_lengths(sources), _range_of_lengths(targets)
            ),
            digests={"vocabulary": vocabulary.digest()},
            cautions=cautions,
            vocabulary=vocabulary,
        )

    def set_answers(self, rest: Integers, test: Integers) -> None:
        is_asked = test != PADDING
        num_asked = is_asked.sum(1)
        # How often each token is at each place.
        columns = [np.bincount(column, minlength=self.signature.num_outputs) for column in rest.T]
        counts_by_place = np.stack(columns)
        counts_by_place[:, PADDING] = 0
        counts = counts_by_place.sum(0) + 1
        losses = np.where(is_asked, -np.log(counts / counts.sum())[test], 0).sum(1)
        num_right = ((test == counts_by_place.argmax(1)) & is_asked).sum(1)
        token = float((num_right / num_asked).mean())
        answers, frequencies = np.unique(rest, axis=0, return_counts=True)
        commonest = answers[frequencies.argmax()]
        self.set_floors(
            loss=float((losses / num_asked).mean()),
            sequence=float((test == commonest).all(1).mean()),
            token=token,
            num_test=len(test),
            solved=self.config.solved,
        )
        self.decoded = {
            "greedy_token_accuracy": Metric("max", floor=token, ceiling=1.0),
            "bleu": Metric("max", floor=0.0, ceiling=1.0),
        }

    def examples(self, rows: NDArray[np.intp], device: str) -> Batch:
        inputs = self.rows.inputs[rows]
        targets = self.rows.targets[rows]
        # The end of a target is no symbol of it.
        target = Sequences(targets[:, :-1], _lengths(targets) - 1)
        batch = self.pairs(Sequences(inputs, _lengths(inputs)), target)
        return self.laid_out(batch).to(device)

    def decode(self, model: StepwiseModel, batch: Batch) -> Mapping[str, Tensor]:
        """Returns values by name, each (B): `greedy_token_accuracy`, the share of right tokens, and the counts named in
        `COUNTS`, of which `summarise` makes `bleu`.
        """
        written = greedy(model, batch)
        is_asked = batch.targets != IGNORED
        wanted = batch.targets.where(is_asked, 0)
        candidates = self._words(written, UNKNOWN_WRITTEN)
        references = self._words(wanted, UNKNOWN_WANTED)
        counts = [bleu_counts(*texts) for texts in zip(candidates, references, strict=True)]
        columns = torch.tensor(counts, device=written.device).T
        is_right = (written == batch.targets) & is_asked
        accuracy = is_right.sum(1) / is_asked.sum(1)
        return {"greedy_token_accuracy": accuracy, **dict(zip(COUNTS, columns, strict=True))}

    def summarise(self, outcomes: Outcomes) -> dict[str, float]:
        """Returns the mean of each metric by name, and `bleu` in place of the counts of `decode` where `outcomes` has
        these counts.
        """
        means = super().summarise({name: values for name, values in outcomes.items() if name not in COUNTS})
        if COUNTS[0] not in outcomes:
            return means
        counts = np.stack([outcomes[name] for name in COUNTS], axis=1)
        return {**means, "bleu": corpus_bleu(counts)}

    def _words(self, codes: Tensor, unknown: str) -> Iterator[list[str]]:
        """Yields the words of each row of codes (B, T) as a list; characters are split into words at blank space.

        unknown: the symbol of what is not in the vocabulary. Padding, start and end are left out.
        """
        names = [*[""] * FIRST_SYMBOL, unknown, *self.rows.vocabulary.symbols]
        separator = " " if self.config.unit == "words" else ""
        for row in codes.tolist():
            yield separator.join(names[code] for code in row).split()


def _texts(file: DataFile, unit: Unit) -> tuple[list[Sequence[str]], list[Sequence[str]]]:
    """Returns the symbols of each source and of each target, in two lists. Raises `Invalid`, with the line, where a
    line is not a source, a tab and a target.
    """
    sources: list[Sequence[str]] = []
    targets: list[Sequence[str]] = []
    for line, cells in read_rows(file, "\t", quoted=False):
        texts = [symbols(cell.strip(), unit) for cell in cells]
        if len(texts) != 2 or not all(texts):
            rule = f"must have a source, a tab and a target in each line; line {line} has not"
            raise Invalid("file", rule, file.written)
        sources.append(texts[0])
        targets.append(texts[1])
    return sources, targets


def _coded(texts: Sequence[Sequence[str]], vocabulary: Vocabulary) -> Integers:
    """Returns the codes of the symbols of each of N texts, counted from `FIRST_SYMBOL`,
    with padding at the end, (N, longest).
    """
    codes = [[FIRST_SYMBOL + code for code in vocabulary.encode(text)] for text in texts]
    return padded(codes, PADDING)


def _lengths(codes: Integers) -> Integers:
    """Returns the number of codes in each row that are not padding, (N, 1)."""
    return (codes != PADDING).sum(1, keepdims=True)


def _range_of_lengths(texts: Sequence[Sequence[str]]) -> range:
    """Returns the range of lengths, in symbols, from that of the shortest to that of the longest text, included."""
    lengths = [len(text) for text in texts]
    return range(min(lengths), max(lengths) + 1)


def bleu_counts(candidate: Sequence[str], reference: Sequence[str]) -> list[int]:
    """Returns six counts for BLEU: the words of the candidate, those of the reference,
    and the matching n-grams of orders 1 to 4.

    An n-gram of both texts matches as often as it occurs in the text that has it less often.
    """
    counts = [len(candidate), len(reference)]
    for order in ORDERS:
        matches = _ngrams(candidate, order) & _ngrams(reference, order)
        counts.append(matches.total())
    return counts


def _ngrams(words: Sequence[str], order: int) -> Counter[tuple[str, ...]]:
    """Returns n-gram → how often it occurs among the words, for n-grams of `order` words."""
    return Counter(tuple(words[start : start + order]) for start in range(len(words) - order + 1))


def corpus_bleu(counts: NDArray[np.floating]) -> float:
    """Returns the BLEU of a corpus, 0 to 1, from the `bleu_counts` of each example, (N, 6).

    After Papineni et al. 2002, "BLEU: a Method for Automatic Evaluation of Machine Translation", section 2: the
    geometric mean of the shares of a candidate's n-grams, n = 1 … 4, that its reference has too, over all examples
    together; times a penalty where the candidates are shorter than the references. One reference, no smoothing: 0 where
    no sequence of four words is right.
    """
    written, wanted, *matches = counts.sum(0, dtype=np.float64)
    possible = [np.maximum(counts[:, 0] - order + 1, 0).sum(dtype=np.float64) for order in ORDERS]
    if min(matches) == 0:
        return 0.0
    log_penalty = min(0.0, 1 - wanted / written)
    return math.exp(log_penalty + np.log(np.array(matches) / possible).mean())
