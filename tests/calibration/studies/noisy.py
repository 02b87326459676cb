"""Digits of which some training images have a label drawn at random: an effect whose sign is known."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated

import torch
from pydantic import Field

from ablate import register
from ablate.base.streams import numpy_stream
from ablate.tasks.digits import NUM_CLASSES, NUM_EXAMPLES, Digits
from ablate.tasks.task import Batch, example_stream


@register("task", "noisy_digits")
class NoisyDigits(Digits):
    """Digits; validation and test images keep their labels."""

    class Config(Digits.Config):
        """Parameters of noisy digits."""

        noise: Annotated[float, Field(ge=0, le=1)] = 0.0
        "The share of training images whose label is replaced by one of the ten, drawn at random."

    config: Config

    def train_batches(self, seed: int, batch_size: int, device: str) -> Iterator[Batch]:
        """As of digits. A label that one rate replaces is replaced by the same at every higher rate."""
        index = self.indices(seed)["train"]
        examples = self._examples(index, device)
        draws = numpy_stream(seed, "data", "noise")
        hit = draws.random(NUM_EXAMPLES)[index] < self.config.noise
        labels = draws.integers(NUM_CLASSES, size=NUM_EXAMPLES)[index]
        targets = torch.where(torch.from_numpy(hit), torch.from_numpy(labels), examples.targets.cpu()).to(
            device
        )
        return example_stream(self._epochs(seed, replace(examples, targets=targets)), batch_size)
