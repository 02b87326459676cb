"""Sorting: the symbols of the source in ascending order, then an end token."""

import math

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from ablate.base.registry import register
from ablate.tasks.rearranging import Rearranging
from ablate.tasks.task import Integers
from ablate.tasks.transduction import FIRST_SYMBOL, Answers


@register("task", "sort")
class Sort(Rearranging):
    """A source of random length and symbols, which the model writes in ascending order.

    Each symbol is written as often as it occurs. The task is harder with longer sources and more symbols. There is no
    plateau, and the order of the source tells nothing.

    One source of one symbol may weigh a tenth of the test examples, since there are so few: where differences of that
    size matter, set min_len to 3.

    Chance of the accuracy: the likeliest sequence, which has all symbols about equally often; of the token accuracy:
    one token at each place, which is much, for the first symbols are small. Ceiling: 1. Solved: 0.95. Recommended:
    eight symbols, two layers of causal attention, d_model 32: 500 steps (0.99 on each of three seeds, 10 s on one core;
    the defaults reach 0.92 in 300).
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
        """Returns the first L symbols of each source, L from `lengths` (B, 1), in ascending order: (B, max_len);
        the rest means nothing.
        """
        is_symbol = np.arange(symbols.shape[1]) < lengths
        return np.sort(np.where(is_symbol, symbols, self.config.vocab_size), axis=1)

    def answers(self, length: int) -> Answers:
        """Returns the distribution of sorted targets of `length` symbols, whose sources are uniform over the n symbols;
        `shares` is (length, n).

        A target is a multinomial sample in order: its probability is the number of its arrangements / n^length. The
        likeliest target has every one of the n symbols as often as any other, or once more.
        """
        n = self.num_symbols
        factorials = np.array([math.lgamma(k + 1) for k in range(length + 1)])
        log_ways = float(factorials[-1]) - length * math.log(n)
        each, num_more = divmod(length, n)
        rarest = (n - num_more) * math.lgamma(each + 1) + num_more * math.lgamma(each + 2)
        chances = self._counts_among_smallest(length)
        nats = n * float(chances[:, 1] @ factorials) - log_ways
        # The t-th symbol is among the w smallest where t or more of the symbols are.
        at_most = chances[::-1].cumsum(0)[::-1][1:]
        return Answers(nats=nats, likeliest=math.exp(log_ways - rarest), shares=np.diff(at_most, axis=1))

    def _counts_among_smallest(self, length: int) -> NDArray[np.float64]:
        """Returns an array (length + 1, n + 1) whose element [k, w] is the probability that exactly k of a target's
        `length` symbols are among the w smallest of the n symbols.
        """
        counts = np.arange(length + 1)[:, None]
        ways = np.array([[float(math.comb(length, k))] for k in range(length + 1)])
        share = np.arange(self.num_symbols + 1) / self.num_symbols
        return ways * share**counts * (1 - share) ** (length - counts)
