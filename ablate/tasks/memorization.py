"""Memorization: facts that no sequence shows, and that only the weights can hold.

The task of Poli et al. 2024, "Mechanistic Design and Scaling of Hybrid Architectures". An example with T = 6, where ·
is an answer slot and v(k) the value of key k:

    inputs    k7  ·     k2  ·     k7  ·
    targets       v(k7)     v(k2)     v(k7)

Of the n + 1 tokens 0 is the slot and 1 … n are keys; values are classes of their own, 0 … m − 1, and no inputs.
"""

import copy

import numpy as np
from pydantic import Field, PositiveInt

from ablate.base.errors import Invalid
from ablate.base.registry import register
from ablate.base.streams import numpy_stream
from ablate.core.signature import Signature
from ablate.tasks.generated import WARMUP_TRAINING, Generated, below
from ablate.tasks.labelling import Labelling
from ablate.tasks.task import IGNORED, Batch

SLOT = 0


@register("task", "memorization")
class Memorization(Generated, Labelling):
    """Keys, each with a slot after it; the target at a slot is the key's value, which no input shows.

    Keys are uniform and independent. The value of each key is drawn once for each seed, and is the same in training and
    test; every value has as many keys. Sequences are kept off the training data, facts are not: a test sequence shows
    known keys in a new order. The task is harder the more facts there are for the size of the model.

    Chance, and where a failed run sits: 1 / num_values. Ceiling: 1. Solved: 0.95. The outcome is graded, for a run
    learns one fact after another. Recommended: 512 facts, two layers of attention of width 32, 300 steps (three seeds:
    0.989 to 0.998).
    """

    class Config(Generated.Config):
        num_facts: PositiveInt = 512
        "n, the number of keys."
        num_values: int = Field(16, ge=2)
        "m; it divides `num_facts`."
        seq_len: int = Field(16, ge=2, multiple_of=2)
        "T, even; half of the positions are keys."

    config: Config
    outcome = "graded"
    recommended = {
        "task": {"num_facts": 512, "num_values": 16, "seq_len": 16},
        "model": {"topology": "decoder", "d_model": 32, "num_layers": 2},
        "training": {"steps": 300, **WARMUP_TRAINING},
    }
    doubled = {"longer": "seq_len"}

    def __init__(self, config: Config) -> None:
        self.config = config
        if config.num_facts % config.num_values:
            rule = f"must divide num_facts = {config.num_facts}, so that every value has as many keys"
            raise Invalid("num_values", rule, config.num_values)
        self.num_asked = config.seq_len // 2
        self.signature = Signature(
            config.seq_len, num_outputs=config.num_values, vocab_size=config.num_facts + 1, readout="all"
        )
        self.set_labels(
            num_classes=config.num_values, num_asked=self.num_asked, num_test=config.test_size, solved=0.95
        )
        self.set_support(config.num_facts**self.num_asked)
        # The value of each key, in an order that a seed changes.
        self.facts = np.arange(config.num_facts) % config.num_values

    def for_seed(self, seed: int) -> Generated:
        """Returns a copy of the task whose `facts`, the value of each key, (num_facts), are those of a seed."""
        task = copy.copy(self)
        task.facts = numpy_stream(seed, "data", "facts").permutation(self.facts)
        return task

    def examples(self, generator: np.random.Generator, count: int) -> Batch:
        """Returns the next `count` examples of a stream as a batch; the targets are the values in `facts`, which
        `for_seed` draws.
        """
        keys = below(generator.random((count, self.num_asked)), self.config.num_facts)
        tokens = np.full((count, self.config.seq_len), SLOT, dtype=np.int64)
        targets = np.full_like(tokens, IGNORED)
        tokens[:, ::2] = 1 + keys
        targets[:, 1::2] = self.facts[keys]
        return Batch.of(tokens, targets)
