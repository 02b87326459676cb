"""Associative recall: find the value beside a key.

The task of Ba et al. 2016 ("Using Fast Weights to Attend to the Recent Past"), in which pairs may be
apart. An example with two pairs and two fillers:

    k3 v1  ·  k1 v7  ·  k3   →  v1

The vocabulary of V tokens: 0 is the filler; 1 … K, with K = (V − 1) // 2, are keys; K + 1 … V − 1 are values,
as many or one more.
"""

import math

import numpy as np
from pydantic import PositiveInt

from ablate.base.errors import Gather
from ablate.base.registry import register
from ablate.core.signature import Signature
from ablate.tasks.generated import Generated, below, distinct, share_of_most_frequent
from ablate.tasks.task import Batch, Classification, Constants

FILLER = 0


@register("task", "recall")
class Recall(Generated, Classification):
    """Pairs of a key and a value, then one key again; the target is its value.

    Pairs stand in a random order and at random places, with fillers between them. Keys are distinct within a sequence,
    values are drawn independently. Where few sequences are possible, training repeats them, but never draws one that is
    for evaluation: 16 tokens, two pairs and no filler give 5,376, of which five eighths are for training; the defaults
    give 322,560.

    Accuracy of guessing: 1 / number of values; of guessing among the values that the sequence shows: about
    1 / num_pairs (`without_matching_the_key`).
    """

    class Config(Generated.Config):
        vocab_size: PositiveInt = 32
        "V: one filler, (V − 1) // 2 keys, the rest values."
        seq_len: PositiveInt = 6
        "T, at least 2 · num_pairs + 1; fillers take the places that are left."
        num_pairs: PositiveInt = 2
        "Pairs in a sequence, at most as many as there are keys."

    config: Config
    outcome = "all_or_nothing"
    recommended = {
        "task": {"vocab_size": 16, "seq_len": 5, "num_pairs": 2},
        "model": {"d_model": 32, "num_layers": 2},
        "training": {"steps": 600, "batch_size": 64, "lr": 0.003},
    }

    def __init__(self, config: Config) -> None:
        self.config = config
        self.num_keys = (config.vocab_size - 1) // 2
        self.num_values = config.vocab_size - 1 - self.num_keys
        pairs = f"num_pairs = {config.num_pairs} pairs"
        # As many tokens of a sequence as entries of the vocabulary.
        needed = 2 * config.num_pairs + 1
        with Gather() as at:
            at.refuse(
                config.seq_len < needed,
                "seq_len",
                f"must hold {pairs} and the query",
                given=config.seq_len,
                allowed=f"at least {needed}",
            )
            at.refuse(
                self.num_keys < config.num_pairs,
                "vocab_size",
                f"must have a distinct key for each of {pairs}",
                given=config.vocab_size,
                allowed=f"at least {needed}",
            )
        self.signature = Signature(
            config.seq_len, num_outputs=config.vocab_size, vocab_size=config.vocab_size, readout="last"
        )
        self.set_metrics(num_classes=self.num_values, num_test=config.test_size, solved=0.95)
        filled = math.perm(self.num_keys, config.num_pairs) * self.num_values**config.num_pairs
        places = math.comb(config.seq_len - 1 - config.num_pairs, config.num_pairs)
        self.set_support(filled * places * config.num_pairs)

    def constants(self) -> Constants:
        """Returns `without_matching_the_key` → `accuracy`: the expected accuracy of answering with the value
        that the sequence shows most often.
        """
        accuracy = share_of_most_frequent(self.config.num_pairs, self.num_values)
        return {"without_matching_the_key": {"accuracy": accuracy}}

    def examples(self, generator: np.random.Generator, count: int) -> Batch:
        pairs = self.config.num_pairs
        num_slots = self.config.seq_len - 1 - pairs
        draws = generator.random((count, 3 * pairs + 1))
        keys = 1 + distinct(draws[:, :pairs], self.num_keys)
        values = 1 + self.num_keys + below(draws[:, pairs : 2 * pairs], self.num_values)
        query = below(draws[:, 2 * pairs], pairs)
        # Each pair fills one of the slots that remain when a pair counts as one token.
        places = np.sort(distinct(draws[:, 2 * pairs + 1 :], num_slots), axis=1) + np.arange(pairs)

        rows = np.arange(count)
        tokens = np.full((count, self.config.seq_len), FILLER, dtype=np.int64)
        tokens[rows[:, None], places] = keys
        tokens[rows[:, None], places + 1] = values
        tokens[:, -1] = keys[rows, query]
        return Batch.of(tokens, values[rows, query])
