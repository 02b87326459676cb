"""A training step: the gradients of one batch, and the update of the parameters by them."""

from torch import Tensor

from ablate.models.model import Model, decay_groups
from ablate.tasks.task import Batch, Task
from ablate.training.optimizers import Optimizer, WeightDecay, clip_gradients
from ablate.training.section import TrainingSection


class TrainingStep:
    """The training step of one model on one task; it holds the optimizer, whose state changes at each call
    of `take`.
    """

    def __init__(self, model: Model, task: Task, training: TrainingSection) -> None:
        self.model = model
        self.task = task
        self.parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
        self.optimizer: Optimizer = training.optimizer.build(self.parameters)
        decayed = decay_groups(model)[0]
        self.decay = WeightDecay(training.decay, training.weight_decay, decayed)
        self.clip_norm = training.clip_norm

    def take(self, step: int, batch: Batch, lr: float) -> tuple[Tensor, Tensor]:
        """Updates the model's parameters in place by one batch, at learning rate `lr` and with the dropout masks of
        `step`. Returns the task's loss before the update and the joint norm of the gradients before clipping, scalar
        tensors on the device.

        step: the number of steps before this one. The loss is without l2 decay, the norm with it.
        """
        self.model.start_step(step)
        loss = self.task.loss(self.model(**batch.model_inputs()), batch)
        for parameter in self.parameters:
            parameter.grad = None
        loss.backward()
        self.decay.add_gradient()
        norm = clip_gradients(self.parameters, self.clip_norm)
        self.decay.shrink(lr)
        self.optimizer.step(lr)
        return loss.detach(), norm
