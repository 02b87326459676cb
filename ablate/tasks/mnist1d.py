"""MNIST-1D: which digit does a signal of 40 points show?

Greydanus and Kobak 2020, "Scaling Down Deep Learning with MNIST-1D" (arXiv 2011.14439); the recipe is in
`mnist1d_signals`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np
import torch
from pydantic import PositiveInt

from ablate.base.registry import OnOff, register
from ablate.base.streams import numpy_stream
from ablate.core.signature import Signature
from ablate.tasks.generated import WARMUP_TRAINING, Generated
from ablate.tasks.mnist1d_signals import LENGTH, NUM_DIGITS, mnist1d
from ablate.tasks.task import Batch, Classification, Split, digest, example_stream


@register("task", "mnist1d")
class MNIST1D(Generated, Classification):
    """A noisy curve of 40 points, one at each position; the target is the digit that the curve shows, at any offset.

    All digits are equally likely; each is a curve of 12 points that is padded, stretched, scaled, moved, sheared and
    made noisy, by the authors' recipe. They published one set of 5,000 examples; here every seed draws its own. In
    `shuffled` order, points that are neighbours have nothing in common that a model could know in advance. Chance: 0.1.
    Ceiling: 1; a human had 0.96 on 500 examples. The authors' models, trained on 4,000: logistic regression 0.32, MLP
    0.65, GRU 0.91, CNN 0.92; shuffled 0.32, 0.66, 0.53, 0.59 (`studies/mnist1d.yaml` trains them). Solved: 0.9.
    Recommended: three convolutions with batch norm, 1,000 steps (three seeds: 0.986 to 0.987). Two layers of attention
    of width 32 reach 0.58 in as many steps.
    """

    class Config(Generated.Config):
        train_size: PositiveInt | None = 4000
        """Number of training examples, which every seed draws anew; `null`: every batch is new. A smaller set is the
        beginning of a larger one."""
        shuffled: OnOff = False
        "Whether the points of all signals are in one random order, which every seed draws anew."

    config: Config
    outcome = "graded"
    recommended = {
        "task": {"train_size": 4000},
        "model": {
            "topology": "encoder",
            "d_model": 32,
            "num_layers": 3,
            "mixer": {"name": "conv", "kernel_size": 5},
            "position": "none",
            "norm": "batch",
        },
        "training": {"steps": 1000, **WARMUP_TRAINING, "lr": 0.01},
    }

    def __init__(self, config: Config) -> None:
        self.config = config
        self.signature = Signature(LENGTH, num_outputs=NUM_DIGITS, num_features=1, readout="mean")
        self.set_metrics(num_classes=NUM_DIGITS, num_test=config.test_size, solved=0.9)
        self.set_support(np.inf)
        self.sampling = replace(self.sampling, train=config.train_size)

    def examples(self, generator: np.random.Generator, count: int) -> Batch:
        """Returns the next `count` examples of a stream as a batch:
        signals (B, 40, 1), their points in order, and digits (B).
        """
        signals, digits = mnist1d(generator, count)
        return Batch.of(signals[:, :, None], digits)

    def train_batches(self, seed: int, batch_size: int, device: str) -> Iterator[Batch]:
        """Returns endless batches on `device`: of the training set, each example once an epoch, or of new examples
        where `train_size` is None.
        """
        train_size = self.config.train_size
        if train_size is not None:
            return example_stream(self._epochs(seed, train_size, device), batch_size)
        batches = super().train_batches(seed, batch_size, device)
        return (self._placed(batch, seed) for batch in batches)

    def split(self, seed: int, name: Split, device: str) -> Batch:
        """Returns the validation or test examples of a seed as one batch on `device`;
        with `shuffled`, points are in the seed's order.
        """
        return self._placed(super().split(seed, name, device), seed)

    def digests(self, seed: int) -> Mapping[str, str]:
        """Returns digests by name: of `validation`, `test` and, where `train_size` is given, `train`."""
        digests = dict(super().digests(seed))
        train_size = self.config.train_size
        if train_size is not None:
            digests["train"] = digest(self._training_set(seed, train_size, "cpu"))
        return digests

    def _training_set(self, seed: int, train_size: int, device: str) -> Batch:
        """Returns the first `train_size` training examples of a seed as one batch on `device`."""
        return self._placed(next(super().train_batches(seed, train_size, device)), seed)

    def _epochs(self, seed: int, train_size: int, device: str) -> Iterator[Batch]:
        """Yields the whole training set as one batch, without end,
        each time in a new random order that the seed decides.
        """
        examples = self._training_set(seed, train_size, device)
        generator = numpy_stream(seed, "data", "order")
        while True:
            yield examples[torch.from_numpy(generator.permutation(len(examples)))]

    def _placed(self, batch: Batch, seed: int) -> Batch:
        """Returns a batch with the points of every signal in one order, which the seed decides; unchanged where
        `shuffled` is off.
        """
        if not self.config.shuffled:
            return batch
        order = numpy_stream(seed, "data", "positions").permutation(LENGTH)
        return replace(batch, inputs=batch.inputs[:, torch.from_numpy(order)])
