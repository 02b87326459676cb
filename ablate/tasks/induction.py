"""Induction: the token that followed a marker, when the marker comes again.

The induction heads task of Gu and Dao 2023 ("Mamba", section 4.1.2), after Olsson et al. 2022: among random tokens the
marker stands once, and again at the end. An example:

    5 2 ⊢ 7 1 4 4 3 ⊢   →  7

The vocabulary of V tokens: 0 is the marker (⊢); 1 … V − 1 are the others.
"""

from typing import Literal

import numpy as np
from pydantic import Field

from ablate.base.registry import register
from ablate.core.signature import Signature
from ablate.tasks.generated import Generated, below, share_of_most_frequent
from ablate.tasks.task import Batch, Classification, Constants

MARKER = 0


@register("task", "induction")
class Induction(Generated, Classification):
    """Random tokens, a marker among them and again at the end; the target is the token after the first marker.

    It is also a needle in a haystack, since the rest of the sequence says nothing. The marker's place is uniform among
    all that leave room for the answer, tokens are uniform and independent. The task is harder with longer sequences and
    more tokens.

    Chance: 1 / (V − 1); a failed run sits between it and `without_order`, the token that the sequence shows most often
    (0.16 at the defaults). Ceiling: 1. Solved: 0.95. Recommended: the defaults, two layers of causal attention,
    d_model 32: 500 steps (three seeds reached 0.95 by step 300). Two layers of LSTM learn it in as many: at this length
    it does not tell the two apart.
    """

    class Config(Generated.Config):
        vocab_size: int = Field(16, ge=3)
        "V: one marker, V − 1 others."
        seq_len: int = Field(32, ge=3)
        "T, both markers included."
        distance: Literal["any", "near", "far"] = "any"
        "Place of the first marker: any, one in the last quarter of its places, or one in the first quarter."

    config: Config
    outcome = "all_or_nothing"
    recommended = {
        "task": {"vocab_size": 16, "seq_len": 32},
        "model": {"topology": "decoder", "d_model": 32, "num_layers": 2},
        "training": {"steps": 500, "batch_size": 64, "lr": 0.003},
    }
    changed = {"near": {"distance": "near"}, "far": {"distance": "far"}}
    doubled = {"longer": "seq_len"}

    def __init__(self, config: Config) -> None:
        self.config = config
        self.signature = Signature(
            config.seq_len, num_outputs=config.vocab_size, vocab_size=config.vocab_size, readout="last"
        )
        self.set_metrics(num_classes=config.vocab_size - 1, num_test=config.test_size, solved=0.95)
        places = config.seq_len - 2
        quarter = max(1, places // 4)
        allowed = {"any": range(places), "near": range(places - quarter, places), "far": range(quarter)}
        self.places = allowed[config.distance]
        self.set_support(len(self.places) * (config.vocab_size - 1) ** places)

    def constants(self) -> Constants:
        """Returns `without_order` → `accuracy`: the expected accuracy of answering with the token
        that the sequence shows most often.
        """
        accuracy = share_of_most_frequent(self.config.seq_len - 2, self.config.vocab_size - 1)
        return {"without_order": {"accuracy": accuracy}}

    def examples(self, generator: np.random.Generator, count: int) -> Batch:
        draws = generator.random((count, self.config.seq_len))
        tokens = 1 + below(draws, self.config.vocab_size - 1)
        place = self.places.start + below(draws[:, -1], len(self.places))
        rows = np.arange(count)
        tokens[rows, place] = MARKER
        tokens[:, -1] = MARKER
        return Batch.of(tokens, tokens[rows, place + 1])
