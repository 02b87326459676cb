"""Tasks whose target is the symbols of the source in another order."""

import math

import numpy as np
from pydantic import Field, PositiveInt

from ablate.base.errors import Invalid
from ablate.tasks.generated import Generated, below
from ablate.tasks.task import Batch, Integers, Slices
from ablate.tasks.transduction import FIRST_SYMBOL, Answers, Sequences, Transduction, signature_of_pairs


class Rearranging(Transduction, Generated):
    """A task that asks for the symbols of a source of random length, in the same order or another.

    Training repeats short sources, but never draws one that is for evaluation.
    """

    class Config(Generated.Config):
        """The sizes of the vocabulary and of the sources, beside those of the evaluation sets."""

        vocab_size: int = Field(11, gt=FIRST_SYMBOL)
        "V: padding, start, end, and V − 3 symbols."
        min_len: PositiveInt = 1
        "Symbols of the shortest source."
        max_len: PositiveInt = 6
        "Symbols of the longest source; shorter ones are padded, and so are their targets."

    config: Config
    outcome = "graded"

    def __init__(self, config: Config) -> None:
        self.config = config
        if config.min_len > config.max_len:
            rule = f"must not exceed max_len = {config.max_len}"
            raise Invalid("min_len", rule, config.min_len, f"1 to {config.max_len}")
        self.num_symbols = config.vocab_size - FIRST_SYMBOL
        self.lengths = range(config.min_len, config.max_len + 1)
        self.signature = signature_of_pairs(config.vocab_size, self.lengths, self.lengths)
        self.set_chances([self.answers(length) for length in self.lengths], config.test_size)
        self.set_support(sum(self.num_symbols**length for length in self.lengths))

    def rearranged(self, symbols: Integers, lengths: Integers) -> Integers:
        """Returns the symbols of the targets, (B, max_len), for those of the sources, (B, max_len); here, the symbols
        of the sources unchanged.

        lengths: how many of each row count, (B, 1). What follows them means nothing, here and in the source.
        """
        return symbols

    def answers(self, length: int) -> Answers:
        """Returns the distribution of targets of `length` symbols;
        here, all sequences of symbols are equally likely.
        """
        n = self.num_symbols
        return Answers(nats=length * math.log(n), likeliest=n**-length, shares=np.full((length, 1), 1 / n))

    def slices(self) -> Slices:
        """Returns the fields of the slice `longer`, whose sources have more symbols than those in training, up to twice
        as many; {} where all sources in training have one length.
        """
        if len(self.lengths) == 1:
            return {}
        longest = self.config.max_len
        return {"longer": {"min_len": longest + 1, "max_len": 2 * longest}}

    def examples(self, generator: np.random.Generator, count: int) -> Batch:
        draws = generator.random((count, 1 + self.config.max_len))
        lengths = self.config.min_len + below(draws[:, :1], len(self.lengths))
        symbols = FIRST_SYMBOL + below(draws[:, 1:], self.num_symbols)
        target = Sequences(self.rearranged(symbols, lengths), lengths)
        return self.pairs(Sequences(symbols, lengths), target)
