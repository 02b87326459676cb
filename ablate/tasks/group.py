"""The word problem of a permutation group: the running product of its elements.

The state tracking of Merrill et al. 2024 ("The Illusion of State in State-Space Models"). S2 is parity. An example of
S2, with the elements 0 (keep) and 1 (swap):

    inputs   1 0 1 1 0
    targets  · 1 0 1 1

The vocabulary is the group: each of the n! permutations of n things is a token, the identity 0.
"""

import itertools
import math
from functools import cache
from typing import Literal

import numpy as np
from pydantic import Field

from ablate.base.registry import register
from ablate.core.signature import Signature
from ablate.tasks.generated import Generated, below
from ablate.tasks.labelling import Labelling
from ablate.tasks.task import IGNORED, Batch, Constants, Integers


@register("task", "group")
class Group(Generated, Labelling):
    """Elements of a permutation group; the target at each position is their product so far.

    Products are asked from the second position on (the first is its own product). Elements are uniform and independent,
    and so is every product: whoever misses one element knows nothing of it. The task is harder with larger groups and
    longer sequences, and harder still when the final product alone is asked. With `copy` it is meant to tell attention
    from recurrence in opposite directions.

    Chance: 1 / n!; a run that has learned the first k products sits k − 1 of T − 1 of the way above it
    (`without_memory`: k = 2). Ceiling: 1. Solved: 0.95. Recommended for a recurrent net, not for attention: the
    defaults, two layers of LSTM, d_model 32, without positions: 400 steps (three seeds reached 0.98 by step 275; 0.99
    at twice the length). Two layers of causal attention with learned positions and lr 3e-3: 0.53 and 0.46 after 2,000.
    Parity of 16 is easier for it: one seed of two solved it in 1,000.
    """

    class Config(Generated.Config):
        group: Literal["S2", "S3", "S5"] = "S3"
        "All permutations of 2, 3 or 5 things: 2, 6 or 120 tokens."
        seq_len: int = Field(12, ge=2)
        "T."
        labels: Literal["prefixes", "final"] = "prefixes"
        "prefixes: asked at every position from the second on; final: at the last alone."

    config: Config
    recommended = {
        "task": {"group": "S3", "seq_len": 12},
        "model": {"topology": "decoder", "d_model": 32, "num_layers": 2, "mixer": "lstm", "position": "none"},
        "training": {"steps": 400, "batch_size": 64, "lr": 0.01},
    }
    doubled = {"longer": "seq_len"}

    def __init__(self, config: Config) -> None:
        self.config = config
        self.outcome = "graded" if config.labels == "prefixes" else "all_or_nothing"
        self.order = math.factorial(int(config.group[1:]))
        self.first_asked = 1 if config.labels == "prefixes" else config.seq_len - 1
        self.signature = Signature(
            config.seq_len, num_outputs=self.order, vocab_size=self.order, readout="all"
        )
        self.set_labels(
            num_classes=self.order,
            num_asked=config.seq_len - self.first_asked,
            num_test=config.test_size,
            solved=0.95,
        )
        self.set_support(self.order**config.seq_len)

    def constants(self) -> Constants:
        """Returns `without_memory` → `accuracy`: the expected accuracy of answering with the product
        of the last two elements.

        It is right at the second position, and elsewhere a guess.
        """
        num_asked = self.config.seq_len - self.first_asked
        num_right = 1 if self.first_asked == 1 else 0
        accuracy = (num_right + (num_asked - num_right) / self.order) / num_asked
        return {"without_memory": {"accuracy": accuracy}}

    def examples(self, generator: np.random.Generator, count: int) -> Batch:
        tokens = below(generator.random((count, self.config.seq_len)), self.order)
        targets = tokens.copy()
        products = _products(int(self.config.group[1:]))
        for place in range(1, self.config.seq_len):
            targets[:, place] = products[targets[:, place - 1], tokens[:, place]]
        targets[:, : self.first_asked] = IGNORED
        return Batch.of(tokens, targets)


@cache
def _products(things: int) -> Integers:
    """Returns the number of the product of permutations i and j of n things, j applied first, at [i, j]: (n!, n!).

    Permutations are numbered from 0 in lexicographic order. things: n.
    """
    elements = np.array(list(itertools.permutations(range(things))))
    digits = things ** np.arange(things)[::-1]
    return np.searchsorted(elements @ digits, elements[:, elements] @ digits)
