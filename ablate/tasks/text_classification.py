"""Texts of one's own, each with a label."""

import numpy as np
from numpy.typing import NDArray
from pydantic import PositiveInt

from ablate.base.datafile import DataFile
from ablate.base.registry import register
from ablate.core.signature import Signature
from ablate.tasks.files import PADDING, Unit, Vocabulary, padded, read_table, symbols
from ablate.tasks.rows import Examples, Labelled, Rows, filled, labels_of, without_test
from ablate.tasks.task import Batch


@register("task", "text_classification")
class TextClassification(Labelled):
    """Which label does a text have? On a table of your own, with a column of texts and one of labels.

    Judged by accuracy and macro-F1. Guessing is the most frequent label, which claims call `majority`. Texts that are
    equal as far as they are read are in one split. A word is a run of letters and digits, or one other sign.
    """

    class Config(Rows.Config):
        text: str = "text"
        "The column of texts."
        label: str = "label"
        "The column of labels."
        unit: Unit = "words"
        "What a token is."
        max_len: PositiveInt = 64
        "Tokens of a text that are read; the rest is left out."
        vocab_size: PositiveInt = 1000
        "The most frequent tokens, so many at most, are told apart; all others are one."

    @classmethod
    def read(cls, file: DataFile, config: Config) -> Examples:
        """Tokens (N, T)."""
        table = read_table(file)
        texts = [symbols(text, config.unit) for text in filled(table, "text", config.text)]
        targets, size = labels_of(table, "label", config.label)
        kept = [text[: config.max_len] for text in texts]
        keys = ["\0".join(text) for text in kept]
        vocabulary = Vocabulary((kept[row] for row in without_test(file, keys)), config.vocab_size)
        inputs = padded([vocabulary.encode(text) for text in kept])
        some_padded = bool((inputs == PADDING).any())
        signature = Signature(inputs.shape[1], size, len(vocabulary), readout="mean", padded=some_padded)
        digests = {"vocabulary": vocabulary.digest()}
        longer = sum(len(text) > config.max_len for text in texts)
        cautions = (
            [f"{longer} of {len(texts)} texts are cut off at max_len = {config.max_len}"] if longer else []
        )
        return Examples(keys, inputs, targets, signature, digests, cautions)

    def examples(self, rows: NDArray[np.intp], device: str) -> Batch:
        """Tokens (B, T), labels (B), and a mask (B, 1, 1, T) that is False at padding."""
        inputs, targets = (of[rows] for of in (self.rows.inputs, self.rows.targets))
        masks = [(inputs != PADDING)[:, None, None]] if self.signature.padded else []
        return Batch.of(inputs, targets, *masks).each(lambda x: x.to(device))
