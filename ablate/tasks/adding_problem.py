"""The adding problem: the sum of the two values of a sequence that are marked.

Hochreiter and Schmidhuber 1997, "Long Short-Term Memory", section 5.4, as later work has it: values in [0, 1] in place
of [−1, 1], markers 0 and 1, sequences of one length, and the sum itself as the target. An example with T = 5:

    value    0.31  0.74  0.08  0.95  0.52
    marker   0     1     0     0     1     →  1.26
"""

from collections.abc import Mapping
from typing import Literal

import numpy as np
from pydantic import Field
from torch import Tensor

from ablate.base.registry import register
from ablate.core.metric import Metric
from ablate.core.signature import Signature
from ablate.tasks.generated import WARMUP_TRAINING, Generated, below
from ablate.tasks.regression import Regression
from ablate.tasks.task import Batch

TOLERANCE = 0.04
VARIANCE = 1 / 6


@register("task", "adding_problem")
class AddingProblem(Generated, Regression):
    """A sequence of values, two of them marked; the target is the sum of these two.

    Each position holds a value in [0, 1] and a marker; the answer is read at the last. Values are uniform and
    independent; every pair of places at an allowed `distance` is equally likely to be marked. The task is harder the
    longer the sequences are. `accuracy` is the share of answers within 0.04 of the sum, as Hochreiter and Schmidhuber
    count them, though their sums span half as much.

    Chance: always answering 1 has mean squared error 1/6 and accuracy 0.0784; a failed run sits there, or at twice the
    mean of all values, 1/6 · (1 − 2/T). Ceiling: accuracy 1 and error 0. Solved: accuracy 0.95. The outcome is graded:
    once a run finds the markers, its answers come closer step by step. Recommended: T = 16, two layers of attention of
    width 32, 1,000 steps (three seeds: 0.993 to 0.998; an LSTM 0.980).
    """

    class Config(Generated.Config):
        seq_len: int = Field(16, ge=2)
        "T, at least 2."
        distance: Literal["any", "near", "far"] = "any"
        "Distance of the markers: any, at most a quarter of the sequence, or at least three quarters."

    config: Config
    outcome = "graded"
    recommended = {
        "task": {"seq_len": 16},
        "model": {"topology": "encoder", "d_model": 32, "num_layers": 2},
        "training": {"steps": 1000, **WARMUP_TRAINING},
    }
    changed = {"near": {"distance": "near"}, "far": {"distance": "far"}}

    def __init__(self, config: Config) -> None:
        self.config = config
        seq_len = config.seq_len
        quarter = max(1, seq_len // 4)
        allowed = {"any": (1, seq_len), "near": (1, quarter + 1), "far": (seq_len - quarter, seq_len)}
        self.distances = np.arange(*allowed[config.distance])
        self.signature = Signature(seq_len, num_outputs=1, num_features=2, readout="last")
        self.set_spread(VARIANCE)
        # The sum of two uniform values has density 1 − |s − 1| at s.
        chance = 1 - (1 - TOLERANCE) ** 2
        accuracy = Metric("max", 1 / config.test_size, floor=chance, ceiling=1.0, solved=0.95)
        self.metrics = {"accuracy": accuracy, **self.metrics}
        self.set_support(np.inf)

    def examples(self, generator: np.random.Generator, count: int) -> Batch:
        seq_len = self.config.seq_len
        draws = generator.random((count, seq_len + 2))
        # A distance d leaves T − d places to the first marker.
        num_pairs = np.cumsum(seq_len - self.distances)
        pair = below(draws[:, 0], int(num_pairs[-1]))
        distance = self.distances[np.searchsorted(num_pairs, pair, side="right")]
        first = below(draws[:, 1], seq_len - distance)
        marked = np.stack([first, first + distance], axis=1)

        inputs = np.zeros((count, seq_len, 2), dtype=np.float32)
        inputs[..., 0] = draws[:, 2:]
        inputs[np.arange(count)[:, None], marked, 1] = 1
        return Batch.of(inputs, (inputs[..., 0] * inputs[..., 1]).sum(1))

    def measure(self, logits: Tensor, batch: Batch) -> Mapping[str, Tensor]:
        """Returns metrics by name, each (B): `accuracy` is 1 where the answer is less than 0.04 from the target, else
        0; `r2` and `loss` are those of `Regression.measure`.
        """
        is_right = (logits.squeeze(-1) - batch.targets).abs() < TOLERANCE
        return {"accuracy": is_right.float(), **super().measure(logits, batch)}
