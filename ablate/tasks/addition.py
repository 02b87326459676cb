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
from ablate.tasks.task import Batch, Constants, Slices
from ablate.tasks.transduction import FIRST_SYMBOL, Answers, Transduction, backwards, signature_of

PLUS = FIRST_SYMBOL + 10


@register("task", "addition")
class Addition(Transduction, Generated):
    """Two numbers of n digits each, whose digits are uniform and independent, zeros in front included; their sum has
    n + 1 digits.

    It is harder with more digits and in the plain order, in which the first digit depends on all. Chance of the
    accuracy: 10^−n; of that of tokens: one digit at each place. A failed run sits between it and 0.55^(n − 1), that of
    adding each place without what is carried (`without_carrying`). Ceiling: 1. Solved: 0.95. Recommended: two digits,
    two layers of causal attention, d_model 32: 1,200 steps (1.00 on each of three seeds, at 0.95 by step 550 to 950,
    12 s on one core). Three digits take d_model 64 and lr 1e-3 (0.99 and 1.00 after 1,000 steps, 30 s), and at d_model
    32 some seeds fail; so does an encoder–decoder (0.06 and 0.03), and on two digits an LSTM of the same width (0.11).
    """

    class Config(Generated.Config):
        digits: int = Field(4, ge=1, le=256)
        "Digits of each number, at most 256; of the longest, where `min_digits` is less."
        min_digits: PositiveInt | None = None
        "Digits of the shortest numbers; both of a pair have as many, any count as likely. Not given: `digits`."
        order: Literal["reversed", "plain"] = "reversed"
        "Which digit of the sum is written first: reversed, the units; plain, the first."

    outcome = "graded"
    recommended = {
        "task": {"digits": 2},
        "model": {"topology": "decoder", "d_model": 32, "num_layers": 2},
        "training": {"steps": 1200, "batch_size": 64, "lr": 0.003},
    }

    def __init__(self, config: Config) -> None:
        self.config = config
        least, most = config.min_digits or config.digits, config.digits
        if least > most:
            raise Invalid("min_digits", f"must not exceed digits = {most}", least, f"1 to {most}")
        self.lengths = range(least, most + 1)
        sources = range(2 * least + 1, 2 * most + 2, 2)
        self.signature = signature_of(PLUS + 1, sources, targets=range(least + 1, most + 2))
        self.set_chances([self._answers(digits) for digits in self.lengths], config.test_size)
        self.set_support(sum(100**digits for digits in self.lengths))

    def _answers(self, digits: int) -> Answers:
        """The sum has a triangular distribution; all its digits but the first are uniform, given no other."""
        shares = np.full((digits + 1, 1), 0.1)
        # Of zero as the first digit. The entropy is exact in the limit, and to 1e-4 from two digits on.
        shares[-1 if self.config.order == "reversed" else 0] = (1 + 10.0**-digits) / 2
        return Answers(digits * math.log(10) + 0.5, 10.0**-digits, shares)

    def constants(self) -> Constants:
        """Of adding the two digits of each place by themselves, which is right where no place but the first carries."""
        right = [0.55 ** (digits - 1) for digits in self.lengths]
        return {"without_carrying": {"accuracy": sum(right) / len(right)}}

    def slices(self) -> Slices:
        """Where lengths vary, `longer`: numbers of more digits than any in training, up to twice as many."""
        most = self.config.digits
        return {"longer": {"min_digits": most + 1, "digits": 2 * most}} if len(self.lengths) > 1 else {}

    def examples(self, generator: np.random.Generator, count: int) -> Batch:
        most = self.config.digits
        draws = generator.random((count, 1 + 2 * most))
        lengths = self.lengths[0] + below(draws[:, :1], len(self.lengths))
        # (B, 2, most), the units first.
        digits = below(draws[:, 1:], 10).reshape(count, 2, most)
        digits[np.broadcast_to(np.arange(most) >= lengths[:, None], digits.shape)] = 0
        answer = np.pad(digits.sum(1), ((0, 0), (0, 1)))
        for place in range(most):
            answer[:, place + 1] += answer[:, place] // 10
        answer %= 10

        first, second = (FIRST_SYMBOL + backwards(digits[:, i], lengths) for i in range(2))
        joined = np.concatenate([first, np.full_like(lengths, PLUS), second], axis=1)
        places = np.arange(joined.shape[1])
        # The plus, and what follows, moves up to the first number.
        moved = np.minimum(places + np.where(places < lengths, 0, most - lengths), 2 * most)
        target = answer if self.config.order == "reversed" else backwards(answer, lengths + 1)
        source = np.take_along_axis(joined, moved, axis=1)
        return self.pairs((source, 2 * lengths + 1), (FIRST_SYMBOL + target, lengths + 1))
