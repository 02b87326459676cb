"""Sorting: the symbols of the source in ascending order, then an end token."""

import math

import numpy as np
from pydantic import Field

from ablate.base.registry import register
from ablate.tasks.rearranging import Rearranging
from ablate.tasks.task import Integers
from ablate.tasks.transduction import FIRST_SYMBOL, Answers


@register("task", "sort")
class Sort(Rearranging):
    """A source of random length and symbols, which the model writes in ascending order, each as often as it occurs.

    It is harder with longer sources and more symbols. Chance of the accuracy: the likeliest sequence, which has all
    symbols about equally often; of that of tokens: one token at each place, which is much, for the first symbols are
    small. Ceiling: 1. Solved: 0.95. There is no plateau, and the order of the source tells nothing. Recommended: eight
    symbols, two layers of causal attention, d_model 32: 500 steps (0.99 on each of three seeds, 10 s on one core; the
    defaults reach 0.92 in 300).
    """

    class Config(Rearranging.Config):
        vocab_size: int = Field(11, gt=FIRST_SYMBOL, le=FIRST_SYMBOL + 256)
        "V: padding, start, end, and V − 3 symbols, at most 256."
        max_len: int = Field(6, ge=1, le=128)
        "Symbols of the longest source, at most 128; shorter ones are padded, and so are their targets."

    recommended = {
        "task": {"min_len": 8, "max_len": 8},
        "model": {"topology": "decoder", "d_model": 32, "num_layers": 2},
        "training": {"steps": 500, "batch_size": 64, "lr": 0.003},
    }

    def rearranged(self, symbols: Integers, lengths: Integers) -> Integers:
        """Sorts the symbols of each source in ascending order."""
        real = np.arange(symbols.shape[1]) < lengths
        return np.sort(np.where(real, symbols, self.config.vocab_size), axis=1)

    def answers(self, length: int) -> Answers:
        """Of a multinomial sample in order; the likeliest has every symbol as often as any other, or once more."""
        n, count = self.num_symbols, np.arange(length + 1)[:, None]
        orders = np.array([[float(math.comb(length, k))] for k in range(length + 1)])
        # That `count` of the symbols are among the w smallest, for w = 0 … n; that the t-th symbol is.
        among = np.arange(n + 1) / n
        chances = orders * among**count * (1 - among) ** (length - count)
        at_most = chances[::-1].cumsum(0)[::-1][1:]
        factorials = np.array([math.lgamma(k + 1) for k in range(length + 1)])
        log_ways, (each, more) = float(factorials[-1]) - length * math.log(n), divmod(length, n)
        rarest = (n - more) * math.lgamma(each + 1) + more * math.lgamma(each + 2)
        nats = n * float(chances[:, 1] @ factorials) - log_ways
        return Answers(nats, math.exp(log_ways - rarest), np.diff(at_most, axis=1))
