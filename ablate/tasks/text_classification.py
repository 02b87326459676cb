"""Texts of one's own, each with a label."""

import numpy as np
from numpy.typing import NDArray
from pydantic import PositiveInt

from ablate.base.datafile import DataFile
from ablate.base.registry import register
from ablate.core.signature import Signature
from ablate.tasks.files import PADDING, Unit, Vocabulary, padded, read_table, symbols
from ablate.tasks.rows import Labelled, RowData, Rows, filled, labels_of, without_test
from ablate.tasks.task import Batch


@register("task", "text_classification")
class TextClassification(Labelled):
    """Texts of your own; the target is the label of a text.

    A table has a column of texts and one of labels. The task is judged by accuracy and macro-F1. Guessing is the most
    frequent label, which claims call `majority`. Texts that are equal as far as they are read are in one split. A word
    is a run of letters and digits, or one other sign.
    """

    class Config(Rows.Config):
        text: str = "text"
        "The column of texts."
        label: str = "label"
        "The column of labels."
        unit: Unit = "words"
        "Unit of a token: one character, or a word, with each sign of punctuation a token of its own."
        max_len: PositiveInt = 64
        "Tokens of a text that are read; the rest is left out."
        vocab_size: PositiveInt = 1000
        "The most frequent tokens, so many at most, are told apart; all others are one."

    config: Config

    @classmethod
    def read(cls, file: DataFile, config: Config) -> RowData:
        """Returns the texts of a table as tokens (N, T), cut at `max_len` and padded, with their labels (N). Raises
        `Invalid` for a missing column, an empty cell, or labels that are all equal.
        """
        table = read_table(file)
        texts = [symbols(text, config.unit) for text in filled(table, "text", config.text)]
        targets, num_labels = labels_of(table, "label", config.label)
        kept = [text[: config.max_len] for text in texts]
        keys = ["\0".join(text) for text in kept]
        known = [kept[row] for row in without_test(file, keys)]
        vocabulary = Vocabulary(known, config.vocab_size)
        inputs = padded([vocabulary.encode(text) for text in kept])
        signature = Signature(
            inputs.shape[1],
            num_outputs=num_labels,
            vocab_size=len(vocabulary),
            readout="mean",
            padded=bool((inputs == PADDING).any()),
        )
        digests = {"vocabulary": vocabulary.digest()}
        num_cut = sum(len(text) > config.max_len for text in texts)
        cautions = []
        if num_cut:
            cautions.append(f"{num_cut} of {len(texts)} texts are cut off at max_len = {config.max_len}")
        return RowData(keys, inputs, targets, signature=signature, digests=digests, cautions=cautions)

    def examples(self, rows: NDArray[np.intp], device: str) -> Batch:
        """Returns some rows as a batch on `device`: tokens (B, T), labels (B) and, where a text of the file is padded,
        a mask (B, 1, 1, T) that is False at padding.
        """
        batch = Batch.of(self.rows.inputs[rows], self.rows.targets[rows])
        if self.signature.padded:
            batch.mask = (batch.inputs != PADDING)[:, None, None]
        return batch.to(device)
