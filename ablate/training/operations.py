"""What can be timed of a sequence model: a forward pass, a training step, generation, on one fixed batch."""

from collections.abc import Callable

import torch

from ablate.base.streams import stream_seed
from ablate.core.metric import Description
from ablate.core.speed import Operation
from ablate.models.build import build_model
from ablate.models.model import Model
from ablate.tasks.task import Batch, Task
from ablate.training.section import TrainingSection
from ablate.training.step import TrainingStep
from ablate.training.trial import TrialConfig, isolated, resolve_device

# The learning rate of a step that is repeated: it costs what another does, and thousands of steps leave the weights
# where they began, so that none of them meets numbers that a training does not (NaN, or gradients near zero, with
# which processors are slow).
STILL = 1e-9
SEED = 0


def operations_of(
    config: TrialConfig, describe: Callable[[], Description], threads: int
) -> dict[str, Operation]:
    """Returns name → operation that can be timed, on a model with the initial values and the first training batch of
    seed `SEED`: `forward`, `step` and, for a model that reads position by position, `generation`.

    `describe` counts FLOPs. On CUDA, torch's kernels are repeatable from now on, as training has them.
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
    examples = len(batch)
    tokens = examples * task.signature.seq_len

    def forward_flops() -> int | None:
        return _times(describe().flops, examples)

    def step_flops() -> int | None:
        return _times(describe().training_flops, examples)

    operations = {
        "forward": Operation(repeated.forward, examples, tokens, flops=forward_flops, device=device),
        "step": Operation(repeated.step, examples, tokens, flops=step_flops, device=device),
    }
    if repeated.generates:
        operations["generation"] = Operation(repeated.generation, examples, tokens, device=device)
    return operations


def _times(flops: int | None, examples: int) -> int | None:
    """Returns the FLOPs of several examples from `flops`, the FLOPs of one example; None where `flops` is None."""
    return None if flops is None else flops * examples


class Repeated:
    """A model and a batch, for timing: all calls of one method cost the same, and `step` leaves the weights nearly
    unchanged.
    """

    def __init__(
        self, model: Model, task: Task, training: TrainingSection, batch: Batch, lr: float = STILL
    ) -> None:
        self.model = model
        self.batch = batch
        self.lr = lr
        self._training_step = TrainingStep(model, task, training)
        self._steps = 0

    @property
    def generates(self) -> bool:
        """True where the model can read a sequence position by position: it is causal, and embeds no segments."""
        return self.model.stack.causal and self.model.segment_embedding is None

    def _set_mode(self, *, training: bool) -> None:
        """Puts the model into training mode or, where `training` is False, into evaluation mode; leaves a model that is
        already in this mode as it is.
        """
        # Only where it changes: in a small model, telling every module takes a tenth of a pass.
        if self.model.training != training:
            self.model.train(training)

    @torch.inference_mode()
    def forward(self) -> None:
        """Computes the logits of the batch in evaluation mode, without gradients, and drops them."""
        self._set_mode(training=False)
        self.model(**self.batch.model_inputs())

    def step(self) -> None:
        """Takes one training step on the batch, as `ablate.training.loop.train` does, at the learning rate `lr`."""
        self._set_mode(training=True)
        self._training_step.take(self._steps, self.batch, self.lr)
        self._steps += 1

    @torch.inference_mode()
    def generation(self) -> None:
        """Reads the batch's own tokens position by position in evaluation mode, and computes and drops the likeliest
        output at each position: the cost of greedy decoding.

        The outputs are not read again, so that models whose outputs are no inputs can be timed as well.
        """
        self._set_mode(training=False)
        memory = None
        if self.model.source_embedding is not None:
            memory = self.model.encode(self.batch.source, self.batch.source_mask)
        state = None
        for place in range(self.batch.inputs.shape[1]):
            token_b1 = self.batch.inputs[:, place : place + 1]
            logits, state = self.model.step(token_b1, place, state, memory)
            logits.argmax(-1)
