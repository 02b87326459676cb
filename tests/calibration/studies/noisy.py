"""Digits of which some training images have a label drawn at random: an effect whose sign is known."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field

from ablate import register
from ablate.base.streams import numpy_stream
from ablate.tasks.digits import NUM_CLASSES, NUM_EXAMPLES, Digits
from ablate.tasks.task import Batch


@register("task", "noisy_digits")
class NoisyDigits(Digits):
    """Digits; validation and test images keep their labels."""

    class Config(Digits.Config):
        """Parameters of noisy digits."""

        noise: Annotated[float, Field(ge=0, le=1)] = 0.0
        "The share of training images whose label is replaced by one of the ten, drawn at random."

    config: Config

    def train_batches(self, seed: int, batch_size: int, device: str) -> Iterator[Batch]:
        """Yields batches with the labels of a seed. A label that one rate replaces is the same at every higher rate."""
        return _Relabelled(self.config, seed).train_batches(seed, batch_size, device)


class _Relabelled(Digits):
    """Digits with the labels of training images as a seed draws them."""

    def __init__(self, config: NoisyDigits.Config, seed: int) -> None:
        super().__init__(config)
        draws = numpy_stream(seed, "data", "noise")
        self._is_replaced = draws.random(NUM_EXAMPLES) < config.noise
        self._labels = draws.integers(NUM_CLASSES, size=NUM_EXAMPLES)

    def examples(self, rows: NDArray[np.intp], device: str) -> Batch:
        """Returns the images of some rows with these labels."""
        clean = super().examples(rows, device)
        is_replaced = torch.from_numpy(self._is_replaced[rows]).to(device)
        labels = torch.from_numpy(self._labels[rows]).to(device)
        return replace(clean, targets=torch.where(is_replaced, labels, clean.targets))
