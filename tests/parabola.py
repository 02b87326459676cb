"""A workload that only trains, in twenty lines: gradient descent on x², from a start drawn by the seed."""

from ablate import register
from ablate.base.registry import StrictModel
from ablate.base.streams import numpy_stream
from ablate.core.metric import Metric
from ablate.core.record import Record
from ablate.core.workload import Workload


class Training(StrictModel):
    steps: int = 5
    lr: float = 0.1


@register("workload", "parabola")
class Parabola(Workload):
    metrics = {"loss": Metric("min", ceiling=0.0)}

    def schema(self):
        return {"training": (Training, Training())}

    def train(self, trial, emit):
        training = trial.config["training"]
        x = numpy_stream(trial.seed, "start", trial.stream).normal()
        for step in range(1, training["steps"] + 1):
            x -= training["lr"] * 2 * x
            if emit(step, {"loss": x * x}):
                return Record.of(trial, "pruned", reason="asked to stop")
        return Record.of(trial, metrics={"loss": x * x})
