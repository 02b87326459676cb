"""Multi-query associative recall: the value of each key that comes again.

The task of Arora et al. 2023 ("Zoology: Measuring and Improving Recall in Efficient Language Models") by their own
generator: pairs first, then each key once more, at an even distance. An example with two pairs:

    inputs   k3 v1 k1 v7  ·  · k1  · k3  ·
    targets   ·  ·  ·  ·  ·  · v7  · v1  ·

The vocabulary of V tokens: 0 is the filler; 1 … V/2 − 1 are keys; V/2 … V − 1 are values.
"""

import math
from typing import Literal

import numpy as np
from pydantic import Field, NonNegativeInt, PositiveInt

from ablate.base.errors import Gather
from ablate.base.registry import register
from ablate.core.signature import Signature
from ablate.tasks.generated import Generated, below, distinct
from ablate.tasks.labelling import Labelling
from ablate.tasks.task import IGNORED, Batch, Constants

FILLER = 0
NOISE = 16  # Kinds of noise tokens, as in the code of Poli et al. 2024.


@register("task", "mqar")
class MQAR(Generated, Labelling):
    """Pairs of a key and a value, then each key again; the target at a repeated key is the key's value.

    There are K pairs. Keys are distinct, and so are values; nothing is asked elsewhere. Query after query, the g-th
    even place after the pairs is drawn with p(g) ∝ g^(a − 1) from the places that are still free. The task is harder
    with more pairs, more tokens, longer sequences, random fillers, and noise.

    Chance: 1 / number of values; a failed run sits at 1 / K (`guessing_among_the_pairs`) or a little above, for in this
    generator the first pairs come again sooner: without matching a key, 0.57 can be had at the defaults, 0.31 at V = T
    = 32 and K = 4. Ceiling: 1. Solved: 0.95. Recommended: the defaults, two layers of causal attention, d_model 32: 400
    steps (three seeds reached 0.99 by step 150, one with a single layer 0.53 after 600). Two layers of LSTM: 0.52 after
    as many, 0.99 after 1,500.
    """

    class Config(Generated.Config):
        vocab_size: PositiveInt = 16
        "V; half are values, the others keys and one filler."
        seq_len: PositiveInt = 16
        "T, even, at least 4 · num_pairs + noise."
        num_pairs: PositiveInt = 2
        "K, less than V/2."
        power: float = Field(0.01, gt=0, le=1)
        "a: the smaller, the sooner a key comes again; with 1, queries are anywhere."
        filler: Literal["zero", "random"] = "zero"
        "Tokens between queries: token 0, or any of the V tokens, keys of the sequence included."
        noise: NonNegativeInt = 0
        "Noise tokens of 16 kinds of their own that stand among the pairs (Poli et al. 2024)."

    config: Config
    outcome = "all_or_nothing"
    recommended = {
        "task": {"vocab_size": 16, "seq_len": 16, "num_pairs": 2},
        "model": {"topology": "decoder", "d_model": 32, "num_layers": 2},
        "training": {"steps": 400, "batch_size": 64, "lr": 0.003},
    }
    changed = {"far": {"power": 1.0}}
    doubled = {"more_pairs": "num_pairs", "noisier": "noise", "longer": "seq_len"}

    def __init__(self, config: Config) -> None:
        self.config = config
        self._check_sizes()
        pairs = config.num_pairs
        self.first_value = config.vocab_size // 2
        self.num_values = config.vocab_size - self.first_value
        self.first_query = 2 * pairs + config.noise
        self.num_gaps = (config.seq_len - self.first_query) // 2
        self.signature = Signature(
            config.seq_len,
            num_outputs=config.vocab_size,
            vocab_size=config.vocab_size + NOISE * bool(config.noise),
            readout="all",
        )
        self.set_labels(num_classes=self.num_values, num_asked=pairs, num_test=config.test_size, solved=0.95)
        # Random fillers make even more distinct examples.
        contents = math.perm(self.first_value - 1, pairs) * math.perm(self.num_values, pairs)
        with_noise = math.comb(pairs + config.noise, pairs) * NOISE**config.noise
        self.set_support(contents * math.perm(self.num_gaps, pairs) * with_noise)

    def _check_sizes(self) -> None:
        """Raises `Invalid` where `seq_len` is odd or too short for pairs, queries and noise,
        or the keys are fewer than the pairs.
        """
        config = self.config
        pairs = config.num_pairs
        needed = 4 * pairs + config.noise
        half = config.vocab_size // 2
        with Gather() as at:
            rule = (
                f"must hold 4 tokens for each of num_pairs = {pairs} pairs and noise = {config.noise} others"
            )
            at.refuse(config.seq_len < needed, "seq_len", rule, config.seq_len, allowed=f"at least {needed}")
            rule = "must be even"
            at.refuse(config.seq_len % 2, "seq_len", rule, config.seq_len, allowed="an even number")
            rule = f"must have a distinct key below V/2 = {half} for each of num_pairs = {pairs} pairs"
            least = 2 * pairs + 2
            at.refuse(half <= pairs, "vocab_size", rule, config.vocab_size, allowed=f"at least {least}")

    def constants(self) -> Constants:
        """Returns `guessing_among_the_pairs` → `accuracy`: the expected accuracy of answering with any value of the
        sequence, 1 / num_pairs.
        """
        return {"guessing_among_the_pairs": {"accuracy": 1 / self.config.num_pairs}}

    def examples(self, generator: np.random.Generator, count: int) -> Batch:
        config = self.config
        pairs = config.num_pairs
        widths = (pairs, pairs, pairs, self.num_gaps, config.seq_len)
        draws = generator.random((count, sum(widths)))
        key_draws, value_draws, slot_draws, gap_draws, filler_draws = np.split(
            draws, np.cumsum(widths)[:-1], axis=1
        )
        keys = 1 + distinct(key_draws, self.first_value - 1)
        values = self.first_value + distinct(value_draws, self.num_values)
        # Each pair fills one of the slots that remain when a pair counts as one token.
        slots = np.sort(distinct(slot_draws, pairs + config.noise), axis=1) + np.arange(pairs)
        # Distinct gaps, drawn in turn with p(g) ∝ g^(a − 1), are the first arrivals at such rates.
        rates = np.arange(1, self.num_gaps + 1) ** (config.power - 1)
        gaps = np.argsort(-np.log1p(-gap_draws) / rates, axis=1)[:, :pairs]
        queries = self.first_query + 2 * gaps

        rows = np.arange(count)[:, None]
        tokens = np.where(config.filler == "random", below(filler_draws, config.vocab_size), FILLER)
        tokens[:, : self.first_query] = config.vocab_size + below(filler_draws[:, : self.first_query], NOISE)
        tokens[rows, slots] = keys
        tokens[rows, queries] = keys
        tokens[rows, slots + 1] = values
        targets = np.full_like(tokens, IGNORED)
        targets[rows, queries] = values
        return Batch.of(tokens, targets)
