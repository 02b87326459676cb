"""Two segments in one input: decide whether the last token of the second occurs in the first.

The input of Devlin et al. 2019 (section 3), a pair of sequences of which only the segments tell where one ends,
without their separator. An example, with the segments under its tokens:

    2  7  5  2  9  4  7      →  1, for 7 is in the first segment
    0  0  0  1  1  1  1

    2  7  5  2  9  4  9      →  0, for 9 is in the second segment alone
    0  0  0  1  1  1  1

The vocabulary of V tokens is 0 … V − 1.
"""

import numpy as np
from pydantic import Field

from ablate.base.registry import register
from ablate.core.signature import Signature
from ablate.tasks.generated import Generated, below
from ablate.tasks.task import Batch, Classification, Constants


@register("task", "segments")
class Segments(Generated, Classification):
    """Two segments in one input; the target is 1 where the last token occurs in the first segment, else 0.

    The last token was there once before: in the first segment, or earlier in the second. Both answers are equally
    likely whatever the tokens are: without the segments, no model is right more often than half of the time. From the
    segments alone about two thirds can be guessed (`without_telling_tokens_apart`), since a long first one makes 1
    likely; more below T = 6, and all at T = 3. Training may repeat an example, but never draws one that is for
    evaluation.
    """

    class Config(Generated.Config):
        vocab_size: int = Field(16, ge=2)
        "V, at least 2."
        seq_len: int = Field(8, ge=3)
        "T, the length of both segments together, at least 3."

    config: Config
    outcome = "all_or_nothing"
    recommended = {
        "task": {"vocab_size": 16, "seq_len": 8},
        "model": {"d_model": 32, "num_layers": 2, "embedding": {"segment": True}},
        "training": {"steps": 800, "batch_size": 64, "lr": 0.003, "schedule": "cosine", "warmup_steps": 20},
    }

    def __init__(self, config: Config) -> None:
        self.config = config
        self.signature = Signature(
            config.seq_len, num_outputs=2, vocab_size=config.vocab_size, readout="last", num_segments=2
        )
        self.set_metrics(num_classes=2, num_test=config.test_size, solved=0.95)
        ways = sum(len(distances) for _, distances in self._places())
        self.set_support(2 * ways * config.vocab_size * (config.vocab_size - 1) ** (config.seq_len - 2))

    def constants(self) -> Constants:
        """Returns `without_telling_tokens_apart` → `accuracy`: the expected accuracy of a model that sees only where
        the second segment begins, and gives the likelier answer for that place.
        """
        chances = np.zeros((self.config.seq_len, 2))  # Of each boundary with each target.
        for place, distances in self._places():
            chance = 1 / (2 * (self.config.seq_len - 2) * len(distances))
            for distance in distances:
                chances[place - distance, 0] += chance
                chances[place + 1 + distance, 1] += chance
        return {"without_telling_tokens_apart": {"accuracy": float(chances.max(1).sum())}}

    def _places(self) -> list[tuple[int, range]]:
        """Returns a list of (place, distances), one for each place at which the last token may occur earlier in the
        sequence.

        distances: how far from the place, 0 or more, the boundary of the segments may be on either side.
        """
        last = self.config.seq_len - 1
        return [(place, range(min(place, last - place))) for place in range(1, last)]

    def examples(self, generator: np.random.Generator, count: int) -> Batch:
        seq_len = self.config.seq_len
        vocab_size = self.config.vocab_size
        draws = generator.random((count, seq_len + 3))
        asked = below(draws[:, 0], vocab_size)
        # First the place of the earlier token, then the answer, then a boundary that makes it so: the answer does
        # not depend on the tokens. The boundary is as far away whatever the answer, so that it tells little.
        place = 1 + below(draws[:, 1], seq_len - 2)
        target = below(draws[:, 2], 2)
        distance = below(draws[:, 3], np.minimum(place, seq_len - 1 - place))
        boundary = np.where(target == 1, place + 1 + distance, place - distance)

        others = below(draws[:, 4:], vocab_size - 1)
        tokens = np.empty((count, seq_len), dtype=np.int64)
        tokens[:, :-1] = others + (others >= asked[:, None])
        tokens[np.arange(count), place] = asked
        tokens[:, -1] = asked
        segments = (np.arange(seq_len) >= boundary[:, None]).astype(np.int64)
        return Batch.of(tokens, target, segments=segments)
