"""Selective copying: the tokens that stand among noise, in their order.

The task of Gu and Dao 2023 ("Mamba: Linear-Time Sequence Modeling with Selective State Spaces"): unlike plain copying,
what must be kept is told by its content and not by its place. An example with T = 9 and three tokens, where · is noise
and ⊢ an answer slot:

    inputs    ·  c  ·  ·  a  b  ⊢  ⊢  ⊢
    targets                     c  a  b

The vocabulary of V tokens: 0 is noise, 1 marks an answer slot, 2 … V − 1 are data.
"""

import math

import numpy as np
from pydantic import Field, PositiveInt

from ablate.base.errors import Invalid
from ablate.base.registry import register
from ablate.core.signature import Signature
from ablate.tasks.generated import WARMUP_TRAINING, Generated, below, share_of_most_frequent
from ablate.tasks.labelling import Labelling
from ablate.tasks.task import IGNORED, Batch, Constants

NOISE = 0
SLOT = 1
FIRST = 2  # The first data token.


@register("task", "selective_copy")
class SelectiveCopy(Generated, Labelling):
    """Data tokens among noise, then a slot for each; the targets at the slots are the data tokens in their order.

    All slots are answered at once, without the answers before. Tokens are uniform and independent, every choice of
    places is equally likely. The task is harder the more tokens there are, and the longer the sequence.

    Chance: 1 / (V − 2). A run that has learned which tokens there were, but not in which order, sits at
    `without_order`. Ceiling: 1. Solved: 0.95. The outcome is graded, for a run learns one slot after another.
    Recommended: eight tokens in T = 32, two layers of attention of width 32, 600 steps (three seeds: 0.997 to 1; an
    LSTM 0.60 after 1,000).
    """

    class Config(Generated.Config):
        vocab_size: int = Field(16, ge=4)
        "V: noise, the mark of a slot, and V − 2 data tokens."
        seq_len: PositiveInt = 32
        "T, at least 2 · num_tokens; the slots are its end."
        num_tokens: PositiveInt = 8
        "n, the data tokens of a sequence."

    config: Config
    outcome = "graded"
    recommended = {
        "task": {"vocab_size": 16, "seq_len": 32, "num_tokens": 8},
        "model": {"topology": "decoder", "d_model": 32, "num_layers": 2},
        "training": {"steps": 600, **WARMUP_TRAINING},
    }
    doubled = {"longer": "seq_len"}

    def __init__(self, config: Config) -> None:
        self.config = config
        self.num_symbols = config.vocab_size - FIRST
        tokens = config.num_tokens
        if config.seq_len < 2 * tokens:
            rule = f"must hold num_tokens = {tokens} twice: among noise, and in the answer slots"
            raise Invalid("seq_len", rule, config.seq_len, f"at least {2 * tokens}")
        self.signature = Signature(
            config.seq_len, num_outputs=config.vocab_size, vocab_size=config.vocab_size, readout="all"
        )
        self.set_labels(
            num_classes=self.num_symbols, num_asked=tokens, num_test=config.test_size, solved=0.95
        )
        self.set_support(self.num_symbols**tokens * math.comb(config.seq_len - tokens, tokens))

    def constants(self) -> Constants:
        """Returns `without_order` → `accuracy`: the expected accuracy of answering, in every slot, with the token that
        the sequence shows most often.
        """
        accuracy = share_of_most_frequent(self.config.num_tokens, self.num_symbols)
        return {"without_order": {"accuracy": accuracy}}

    def examples(self, generator: np.random.Generator, count: int) -> Batch:
        num_tokens = self.config.num_tokens
        context = self.config.seq_len - num_tokens
        draws = generator.random((count, self.config.seq_len))
        order = np.argsort(draws[:, :context], axis=1)
        places = np.sort(order[:, :num_tokens], axis=1)
        data = FIRST + below(draws[:, context:], self.num_symbols)

        tokens = np.full((count, self.config.seq_len), NOISE, dtype=np.int64)
        targets = np.full_like(tokens, IGNORED)
        np.put_along_axis(tokens, places, data, axis=1)
        tokens[:, context:] = SLOT
        targets[:, context:] = data
        return Batch.of(tokens, targets)
