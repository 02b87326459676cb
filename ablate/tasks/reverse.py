"""Reversal: the source backwards, then an end token.

A copying task (Graves et al. 2014, "Neural Turing Machines") in which every position of the target answers
another position of the source for each length. An example with three symbols, of at most four:

    source   a b c ·
    inputs   ⊢ c b a ·
    targets  c b a ⊣ ·

The vocabulary of V tokens, which source and target share: 0 is padding (·), 1 the start (⊢), 2 the end (⊣);
3 … V − 1 are symbols.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated

import numpy as np
import torch
from pydantic import Field, PositiveInt
from torch import Tensor
from torch.nn import functional

from ablate.base.errors import Invalid
from ablate.base.registry import register
from ablate.core.metric import Metric
from ablate.core.signature import Signature
from ablate.tasks.generated import Generated, below
from ablate.tasks.task import Batch

PADDING, START, END = 0, 1, 2
FIRST_SYMBOL = 3


@register("task", "reverse")
class Reverse(Generated):
    """A source of random length and symbols; the decoder, given what should come before, writes it backwards.

    Lengths and symbols are uniform and independent. Training repeats short sources, but never draws one that is for
    evaluation. Accuracy
    is of whole sequences, the end included, with the right tokens before each position (teacher forcing). It
    is that of greedy decoding from the start token too: as long as the model is right, its own tokens are the
    right ones, and one wrong token fails the sequence either way. It is graded: a run learns one position after
    another (300 steps, sources of up to eight symbols: .42, .65, .80, .85, .90, .95 every 50 steps).
    """

    class Config(Generated.Config):
        """Parameters of the reverse task."""

        vocab_size: Annotated[int, Field(gt=FIRST_SYMBOL)] = 11
        "V: padding, start, end, and V − 3 symbols."
        min_len: PositiveInt = 1
        "Symbols of the shortest source."
        max_len: PositiveInt = 6
        "Symbols of the longest source; shorter ones are padded, and so are their targets."

    outcome = "graded"

    def __init__(self, config: Config) -> None:
        self.config = config
        if config.min_len > config.max_len:
            raise Invalid(
                "min_len",
                f"must not exceed max_len = {config.max_len}",
                config.min_len,
                f"1 to {config.max_len}",
            )
        self.num_symbols = config.vocab_size - FIRST_SYMBOL
        self.lengths = range(config.min_len, config.max_len + 1)
        padded = len(self.lengths) > 1
        self.signature = Signature(
            config.max_len + 1,
            num_outputs=config.vocab_size,
            vocab_size=config.vocab_size,
            readout="all",
            padded=padded,
            # Nothing is read out at the source: it has no outputs.
            source=Signature(config.max_len, num_outputs=0, vocab_size=config.vocab_size, padded=padded),
        )
        self.topologies = ("encoder_decoder",)
        self.chance_loss = self._chance_loss()
        # Of writing one sequence, the likeliest: one of the shortest.
        chance = self.num_symbols**-config.min_len / len(self.lengths)
        self.metrics = {
            "accuracy": Metric("max", 1 / config.test_size, floor=chance, ceiling=1.0, solved=0.95),
            "token_accuracy": Metric("max", floor=self._chance_token_accuracy(), ceiling=1.0),
            "loss": Metric("min", floor=self.chance_loss, ceiling=0.0),
        }
        self.set_support(sum(self.num_symbols**length for length in self.lengths))

    def examples(self, generator: np.random.Generator, count: int) -> Batch:
        """See `Generated.examples`."""
        longest = self.config.max_len
        draws = generator.random((count, 1 + longest))
        lengths = self.config.min_len + below(draws[:, :1], len(self.lengths))
        symbols = FIRST_SYMBOL + below(draws[:, 1:], self.num_symbols)
        place = np.arange(longest + 1)
        source = np.where(place[:-1] < lengths, symbols, PADDING)
        # Source position L − 1 − t answers target position t; from the end on, any does.
        backwards = np.take_along_axis(symbols, np.maximum(lengths - 1 - place, 0), axis=1)
        targets = np.where(place < lengths, backwards, np.where(place == lengths, END, PADDING))
        inputs = np.where(place <= lengths, np.roll(targets, 1, axis=1), PADDING)
        inputs[:, 0] = START
        tensors = [torch.from_numpy(array) for array in (inputs, targets, source)]
        batch = Batch(tensors[0], tensors[1], source=tensors[2])
        if self.signature.padded:
            batch.mask = (batch.inputs != PADDING)[:, None, None]
            batch.source_mask = (tensors[2] != PADDING)[:, None, None]
        return batch

    def loss(self, logits: Tensor, batch: Batch) -> Tensor:
        """Cross-entropy in nats, the mean over the positions of each sequence, then over sequences."""
        return _losses(logits, batch.targets).mean()

    def measure(self, logits: Tensor, batch: Batch) -> Mapping[str, Tensor]:
        """`accuracy`: 1 where every token is right; `token_accuracy`: share of right tokens; `loss`.

        Padding does not count.
        """
        real = batch.targets != PADDING
        right = (logits.argmax(-1) == batch.targets) & real
        return {
            "accuracy": (right == real).all(1).to(torch.float32),
            "token_accuracy": right.sum(1) / real.sum(1),
            "loss": _losses(logits, batch.targets),
        }

    def _chance_loss(self) -> float:
        """Of the true distribution given the tokens before: the L symbols, and which of the lengths it is."""
        n, k = self.num_symbols, len(self.lengths)
        return sum((length * math.log(n) + math.log(k)) / (length + 1) for length in self.lengths) / k

    def _chance_token_accuracy(self) -> float:
        """Of guessing at each position the end or one symbol, whichever is right more often."""
        total = 0.0
        for position in range(self.config.max_len + 1):
            symbol = sum(1 / (length + 1) for length in self.lengths if length > position) / self.num_symbols
            total += max(symbol, 1 / (position + 1) if position in self.lengths else 0.0)
        return total / len(self.lengths)


def _losses(logits_btv: Tensor, targets_bt: Tensor) -> Tensor:
    """(B): mean cross-entropy over the real positions of each sequence."""
    losses = functional.cross_entropy(
        logits_btv.flatten(0, 1), targets_bt.flatten(), ignore_index=PADDING, reduction="none"
    )
    return losses.view_as(targets_bt).sum(1) / (targets_bt != PADDING).sum(1)
