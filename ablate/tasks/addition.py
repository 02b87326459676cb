"""Addition of two numbers, digit by digit.

Its answer is written from the units up, or as we write numbers (Lee et al. 2023, "Teaching Arithmetic to Small
Transformers"): only from the units up can each digit be told from what has been written and the digits of one place.
An example with two digits, 57 + 68 = 125:

    source   5 7 + 6 8
    targets  5 2 1 ⊣        with order: reversed
    targets  1 2 5 ⊣        with order: plain

Tokens beside padding, start and end: 3 … 12 are the digits 0 … 9, 13 is the plus.
"""

import math
from typing import Literal

import numpy as np
from pydantic import Field, PositiveInt

from ablate.base.errors import Invalid
from ablate.base.registry import register
from ablate.tasks.generated import Generated, below
from ablate.tasks.task import Batch, Constants, Integers, Slices
from ablate.tasks.transduction import (
    FIRST_SYMBOL,
    Answers,
    Sequences,
    Transduction,
    backwards,
    signature_of_pairs,
)

PLUS = FIRST_SYMBOL + 10


@register("task", "addition")
class Addition(Transduction, Generated):
    """Two numbers of n digits each; the target is their sum, of n + 1 digits.

    Digits are uniform and independent, zeros in front included. The task is harder with more digits and in the plain
    order, in which the first digit depends on all.

    Chance of the accuracy: 10^−n; of the token accuracy: one digit at each place. A failed run sits between it and
    0.55^(n − 1), the accuracy of adding each place without what is carried (`without_carrying`). Ceiling: 1. Solved:
    0.95. Recommended: two digits, two layers of causal attention, d_model 32: 1,200 steps (1.00 on each of three seeds,
    at 0.95 by step 550 to 950, 12 s on one core). Three digits take d_model 64 and lr 1e-3 (0.99 and 1.00 after 1,000
    steps, 30 s), and at d_model 32 some seeds fail; so does an encoder–decoder (0.06 and 0.03), and on two digits an
    LSTM of the same width (0.11).
    """

    class Config(Generated.Config):
        digits: int = Field(4, ge=1, le=256)
        "Digits of each number, at most 256; of the longest, where `min_digits` is less."
        min_digits: PositiveInt | None = None
        "Digits of the shortest numbers; both of a pair have as many, any count as likely. Not given: `digits`."
        order: Literal["reversed", "plain"] = "reversed"
        "Order in which the digits of the sum are written: reversed, from the units up; plain, as we write numbers."

    config: Config
    outcome = "graded"
    recommended = {
        "task": {"digits": 2},
        "model": {"topology": "decoder", "d_model": 32, "num_layers": 2},
        "training": {"steps": 1200, "batch_size": 64, "lr": 0.003},
    }

    def __init__(self, config: Config) -> None:
        self.config = config
        most = config.digits
        least = config.min_digits or most
        if least > most:
            raise Invalid("min_digits", f"must not exceed digits = {most}", least, f"1 to {most}")
        self.lengths = range(least, most + 1)
        self.signature = signature_of_pairs(
            PLUS + 1,
            source_lengths=range(2 * least + 1, 2 * most + 2, 2),
            target_lengths=range(least + 1, most + 2),
        )
        self.set_chances([self._answers(digits) for digits in self.lengths], config.test_size)
        self.set_support(sum(100**digits for digits in self.lengths))

    def _answers(self, digits: int) -> Answers:
        """Returns the distribution of the sums of two numbers of `digits` digits each,
        zeros in front included; `shares` is (digits + 1, 1).

        The sum has a triangular distribution; all its digits but the first are uniform, given no other. The entropy is
        exact in the limit, and to 1e-4 from two digits on.
        """
        shares = np.full((digits + 1, 1), 0.1)
        first_place = -1 if self.config.order == "reversed" else 0
        # The likelier first digit is zero.
        shares[first_place] = (1 + 10.0**-digits) / 2
        return Answers(nats=digits * math.log(10) + 0.5, likeliest=10.0**-digits, shares=shares)

    def constants(self) -> Constants:
        """Returns `without_carrying` → `accuracy`: the expected accuracy of adding the two digits
        of each place by themselves.

        It is right where no place but the first carries.
        """
        accuracies = [0.55 ** (digits - 1) for digits in self.lengths]
        return {"without_carrying": {"accuracy": sum(accuracies) / len(accuracies)}}

    def slices(self) -> Slices:
        """Returns the fields of the slice `longer`, whose numbers have more digits than those in training, up to twice
        as many; {} where all numbers in training have one length.
        """
        if len(self.lengths) == 1:
            return {}
        most = self.config.digits
        return {"longer": {"min_digits": most + 1, "digits": 2 * most}}

    def examples(self, generator: np.random.Generator, count: int) -> Batch:
        most = self.config.digits
        draws = generator.random((count, 1 + 2 * most))
        lengths = self.lengths[0] + below(draws[:, :1], len(self.lengths))
        # (B, 2, most), the units first.
        digits = below(draws[:, 1:], 10).reshape(count, 2, most)
        is_unused = np.arange(most) >= lengths[:, None]
        digits[np.broadcast_to(is_unused, digits.shape)] = 0

        total = _sums(digits)
        if self.config.order == "plain":
            total = backwards(total, lengths + 1)
        source = Sequences(_problems(digits, lengths), 2 * lengths + 1)
        return self.pairs(source, Sequences(FIRST_SYMBOL + total, lengths + 1))


def _sums(digits: Integers) -> Integers:
    """Returns the digits of the sum of two numbers, (B, n + 1), from those of both, (B, 2, n); the units come first."""
    total = np.pad(digits.sum(1), ((0, 0), (0, 1)))
    for place in range(digits.shape[2]):
        total[:, place + 1] += total[:, place] // 10
    return total % 10


def _problems(digits: Integers, lengths: Integers) -> Integers:
    """Returns the tokens of `first + second`, most significant digit first, (B, 2n + 1).

    digits: (B, 2, n), the units first. lengths: the digits of each number that count, (B, 1); where they are fewer than
    n, what follows the second number in its row means nothing.
    """
    most = digits.shape[2]
    first = FIRST_SYMBOL + backwards(digits[:, 0], lengths)
    second = FIRST_SYMBOL + backwards(digits[:, 1], lengths)
    tokens = np.concatenate([first, np.full_like(lengths, PLUS), second], axis=1)
    # The plus, and what follows it, moves up to the first number.
    places = np.arange(tokens.shape[1])
    moved = np.minimum(places + np.where(places < lengths, 0, most - lengths), 2 * most)
    return np.take_along_axis(tokens, moved, axis=1)
