"""A workload without torch that has a learning rate: its loss is lowest at one, and above another a run diverges."""

import math
from typing import Any

from ablate import register
from ablate.base.registry import StrictModel
from ablate.base.streams import numpy_stream
from ablate.core.metric import Description, Metric
from ablate.core.record import Record
from ablate.core.workload import Workload


class Model(StrictModel):
    name: str = "plain"
    limit: float = 0.5
    "The learning rate above which a run diverges."
    fails_at: float = 0.0
    "The learning rate at which a run raises an error."
    effect: float = 0.0
    "Added to the accuracy."


class Training(StrictModel):
    lr: float = 0.01


@register("workload", "rated")
class Rated(Workload):
    rate_path = "training.lr"
    metrics = {"accuracy": Metric("max", resolution=0.001, floor=0.0, ceiling=1.0)}

    def schema(self) -> dict[str, tuple[Any, Any]]:
        return {"model": (Model, Model()), "training": (Training, Training())}

    def describe(self, config: Any) -> Description:
        return Description(self.metrics, stability={"test_loss": Metric("min", floor=2.0)})

    def train(self, trial: Any, emit: Any) -> Record:
        model, lr = trial.config["model"], trial.config["training"]["lr"]
        if lr == model["fails_at"]:
            raise RuntimeError("no such rate")
        noise = numpy_stream(trial.seed, "rated", trial.stream).normal(scale=0.01)
        loss = 0.1 * math.log10(lr / 0.01) ** 2 + noise + 0.5
        if lr > model["limit"]:
            metrics: dict[str, float | None] = {"initial_loss": 2.0, "test_loss": None, "accuracy": None}
            return Record.of(trial, "diverged", metrics=metrics, reason="diverged: too fast")
        return Record.of(
            trial, metrics={"initial_loss": 2.0, "test_loss": loss, "accuracy": 1 - loss + model["effect"]}
        )
