"""Tasks that ask for a class at some or all positions of a sequence."""

import math
from collections.abc import Mapping

from torch import Tensor
from torch.nn import functional

from ablate.core.metric import Metric
from ablate.tasks.task import IGNORED, Batch, Task, Topology


class Labelling(Task):
    """A task that asks for a class at some or all positions, `readout: all`: logits (B, T, num_outputs), targets
    (B, T), `IGNORED` where nothing is asked.
    """

    topologies: tuple[Topology, ...] = ("decoder", "encoder")

    def set_labels(self, *, num_classes: int, num_asked: int, num_test: int, solved: float) -> None:
        """Sets `metrics` (`accuracy`, `sequence_accuracy`, `loss`) and `chance_loss` for classes
        that are equally likely.

        num_classes: classes that a guess chooses from.
        num_asked: labels of an example, at least one; where examples differ in it, their mean.
        num_test: N, examples of the test split.
        solved: the accuracy at which the task counts as learned.
        """
        chance = 1 / num_classes
        self.chance_loss = math.log(num_classes)
        self.metrics = {
            "accuracy": Metric("max", 1 / (num_test * num_asked), floor=chance, ceiling=1.0, solved=solved),
            "sequence_accuracy": Metric("max", 1 / num_test, floor=chance**num_asked, ceiling=1.0),
            "loss": Metric("min", floor=self.chance_loss, ceiling=0.0),
        }

    def loss(self, logits: Tensor, batch: Batch) -> Tensor:
        """Returns the cross-entropy in nats, a scalar: the mean over the labels of each example, then over examples."""
        return _losses(logits, batch.targets).mean()

    def measure(self, logits: Tensor, batch: Batch) -> Mapping[str, Tensor]:
        """Returns metrics by name, each (B): `accuracy` is the share of right labels; `sequence_accuracy` is 1 where
        all labels are right, else 0; `loss` is the mean cross-entropy in nats.
        """
        is_asked = batch.targets != IGNORED
        is_right = (logits.argmax(-1) == batch.targets) & is_asked
        return {
            "accuracy": is_right.sum(1) / is_asked.sum(1),
            "sequence_accuracy": (is_right == is_asked).all(1).float(),
            "loss": _losses(logits, batch.targets),
        }


def _losses(logits_btv: Tensor, targets_bt: Tensor) -> Tensor:
    """Returns the cross-entropy of each example in nats, (B), from logits (B, T, V) and targets (B, T): the mean over
    the targets that are not `IGNORED`.
    """
    losses = functional.cross_entropy(
        logits_btv.flatten(0, 1), targets_bt.flatten(), ignore_index=IGNORED, reduction="none"
    )
    return losses.view_as(targets_bt).sum(1) / (targets_bt != IGNORED).sum(1)
