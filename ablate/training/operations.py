"""What can be timed of a sequence model: a forward pass, a training step, generation, on one fixed batch."""

from collections.abc import Callable

import torch

from ablate.base.streams import stream_seed
from ablate.core.metric import Description
from ablate.core.speed import Operation
from ablate.models.build import build_model
from ablate.models.model import Model, decay_groups
from ablate.tasks.task import Batch, Task
from ablate.training.optimizers import Optimizer, WeightDecay, clip_gradients
from ablate.training.section import TrainingSection
from ablate.training.trial import TrialConfig, isolated, resolve_device

# The learning rate of a step that is repeated: it costs what another does, and thousands of steps leave the weights
# where they began, so that none of them meets numbers that a training does not (NaN, or gradients near zero, with
# which processors are slow).
STILL = 1e-9
SEED = 0


def operations_of(
    config: TrialConfig, describe: Callable[[], Description], threads: int
) -> dict[str, Operation]:
    """The operations of one model, with the initial values and the first training batch of seed `SEED`.

    `describe` counts FLOPs. Generation is left out where the model is not causal. On CUDA, torch's kernels are
    repeatable from now on, as training has them.
    """
    task = config.built_task()
    device = resolve_device(config.training.device)
    with isolated(device, stream_seed(SEED, "global"), threads):
        model = build_model(config.model, task.signature, seed=SEED, device=device)
        # By itself: tasks cut batches from blocks that may be larger than all that a step takes.
        batch = next(task.train_batches(SEED, config.training.batch_size, device)).each(torch.clone)
    if device == "cuda":
        torch.use_deterministic_algorithms(True)
    repeated = Repeated(model, task, config.training, batch)
    examples, length = len(batch), task.signature.seq_len

    def operation(name: str, cost: str = "") -> Operation:
        def flops() -> int | None:
            of_one: int | None = getattr(describe(), cost) if cost else None
            return None if of_one is None else of_one * examples

        return Operation(getattr(repeated, name), examples, examples * length, flops, device)

    found = {"forward": operation("forward", "flops"), "step": operation("step", "training_flops")}
    return found | ({"generation": operation("generation")} if repeated.generates else {})


class Repeated:
    """A model and a batch, on which each method does the same whenever it is called."""

    def __init__(
        self, model: Model, task: Task, training: TrainingSection, batch: Batch, lr: float = STILL
    ) -> None:
        self.model, self.task, self.batch, self.lr = model, task, batch, lr
        self.parameters = [p for p in model.parameters() if p.requires_grad]
        self.optimizer: Optimizer = training.optimizer.build(self.parameters)
        self.decay = WeightDecay(training.decay, training.weight_decay, decay_groups(model)[0])
        self.clip_norm = training.clip_norm
        self.steps = 0

    @property
    def generates(self) -> bool:
        """Whether the model can read a sequence position by position."""
        return self.model.stack.causal and self.model.segment_embedding is None

    def _in_mode(self, training: bool) -> None:
        # Only where it changes: in a small model, telling every module takes a tenth of a pass.
        if self.model.training != training:
            self.model.train(training)

    @torch.inference_mode()
    def forward(self) -> None:
        """A pass in evaluation mode, without gradients."""
        self._in_mode(False)
        self.model(**self.batch.model_inputs())

    def step(self) -> None:
        """A training step, as `ablate.training.loop.train` takes it."""
        self._in_mode(True)
        self.model.start_step(self.steps)
        loss = self.task.loss(self.model(**self.batch.model_inputs()), self.batch)
        for parameter in self.parameters:
            parameter.grad = None
        loss.backward()
        self.decay.add_gradient()
        clip_gradients(self.parameters, self.clip_norm)
        self.decay.shrink(self.lr)
        self.optimizer.step(self.lr)
        self.steps += 1

    @torch.inference_mode()
    def generation(self) -> None:
        """A sequence position by position, each with the likeliest output: what greedy decoding costs.

        The tokens are those of the batch, so that models whose outputs are no inputs can be timed as well.
        """
        self._in_mode(False)
        model, batch, state = self.model, self.batch, None
        memory = None if model.source_embedding is None else model.encode(batch.source, batch.source_mask)
        for place in range(batch.inputs.shape[1]):
            logits, state = model.step(batch.inputs[:, place : place + 1], place, state, memory)
            logits.argmax(-1)
