"""A training run between two steps as bytes, from which it continues to the same result; weights in safetensors.

Data and dropout are functions of the seed and the step, and need no state: batches are drawn again, up to the
step that the run has reached.
"""

import io
import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import torch
from safetensors.torch import load, save
from torch import Tensor, nn

from ablate.models.build import tensors_of
from ablate.models.model import Model
from ablate.tasks.task import Batch
from ablate.training.history import Best, History
from ablate.training.optimizers import Optimizer


@dataclass
class TrainingState:
    """Everything that changes while a model trains; `to_bytes` and `load` carry it from one attempt to the next."""

    model: Model
    optimizer: Optimizer
    history: History
    best: Best
    metrics: dict[str, float | None]
    started: float  # When this attempt began, by `time.perf_counter`.
    # Loss and gradient norm, one after the other, of the steps that `history` does not have yet.
    unread: list[Tensor] = field(default_factory=list)
    done: int = 0  # Steps made.
    earlier_seconds: float = 0.0  # Spent by earlier attempts.

    @property
    def seconds(self) -> float:
        """The wall-clock seconds of training so far, those of earlier attempts included."""
        return self.earlier_seconds + time.perf_counter() - self.started

    def to_bytes(self) -> bytes:
        """Returns the state as bytes for `load`, with torch's global random state on CPU and, where the model is on a
        GPU, on the GPU too.

        A plugin may draw from torch's global generators.
        """
        cuda = self.model.device.type == "cuda"
        content = {
            "model": tensors_of(self.model),
            "optimizer": self.optimizer.state(),
            "history": self.history.state(),
            "best": self.best.state(),
            "metrics": self.metrics,
            "unread": self.unread,
            "done": self.done,
            "seconds": self.seconds,
            "generator": torch.get_rng_state(),
            "cuda_generator": torch.cuda.get_rng_state() if cuda else None,
        }
        buffer = io.BytesIO()
        torch.save(content, buffer)
        return buffer.getvalue()

    def load(self, state: bytes, batches: Iterator[Batch]) -> None:
        """Restores in place all that `to_bytes` put into `state`, torch's global random state included, and draws one
        batch from `batches` for each step already made.
        """
        content = torch.load(io.BytesIO(state), map_location=self.model.device, weights_only=True)
        with torch.no_grad():
            for name, tensor in tensors_of(self.model).items():
                tensor.copy_(content["model"][name])
        self.optimizer.load(content["optimizer"])
        self.history.load(content["history"])
        self.best.load(content["best"])
        self.metrics |= content["metrics"]
        self.unread += content["unread"]
        self.done = content["done"]
        self.earlier_seconds = content["seconds"]
        for _ in range(self.done):
            next(batches)
        torch.set_rng_state(content["generator"].cpu())
        if content["cuda_generator"] is not None:
            torch.cuda.set_rng_state(content["cuda_generator"].cpu())


def packed(model: nn.Module) -> bytes:
    """Returns a model's parameters and persistent buffers, path → values, as bytes in the safetensors format. A tensor
    that several paths share is stored once, under the first path.

    The metadata's `shared` gives, in JSON, that path for each of the others. One entry, since the format writes
    several in no fixed order.
    """
    tensors: dict[str, Tensor] = {}
    paths: dict[tuple[int, int, torch.Size], str] = {}
    shared: dict[str, str] = {}
    for path, tensor in model.state_dict().items():
        place = (tensor.data_ptr(), tensor.storage_offset(), tensor.shape)
        first = paths.setdefault(place, path) if tensor.numel() else path
        if first == path:
            tensors[path] = tensor.detach().cpu().contiguous()
        else:
            shared[path] = first
    return save(tensors, metadata={"shared": json.dumps(shared)})


def unpack(content: bytes, model: nn.Module) -> None:
    """Copies what `packed` returned into a model of the same config, in place. Raises `ValueError` where paths are
    missing or unknown, after copying the others, and `RuntimeError` for other shapes.
    """
    weights: Mapping[str, Tensor] = load(content)
    missing, unexpected = model.load_state_dict(weights, strict=False)
    # A shared tensor is kept under one of its paths.
    tensors = model.state_dict(keep_vars=True)
    loaded = {id(tensors[path]) for path in weights if path in tensors}
    missing = [path for path in missing if id(tensors[path]) not in loaded]
    if missing or unexpected:
        raise ValueError(f"these are another model's weights; missing: {missing}, unexpected: {unexpected}")
