"""A workload without torch that can be timed: its calls count upwards, the longer the larger `work` and `seq_len` are.

It trains at once. `seq_len` must be even, so that some sizes are refused; a config with `breaks` cannot be timed, and
one with `waits` is slow to build, so that a measurement can be ended in its middle.
"""

import os
import time
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from ablate import Invalid, register
from ablate.base.registry import StrictModel
from ablate.base.streams import numpy_stream
from ablate.core.metric import Description, Metric
from ablate.core.record import Curve, Record
from ablate.core.speed import Operation
from ablate.core.workload import Workload


class Task(StrictModel):
    name: Literal["count", "again"] = "count"
    seq_len: Annotated[int, Field(ge=2)] = 8


class Plain(StrictModel):
    work: Annotated[int, Field(ge=1)] = 20
    effect: float = 0.0
    breaks: bool = False
    waits: float = 0.0


class Training(StrictModel):
    steps: int = 2


@register("workload", "clocked")
class Clocked(Workload):
    metrics = {"accuracy": Metric("max", resolution=0.001, floor=0.1, ceiling=1.0, solved=0.9)}

    def schema(self) -> dict[str, tuple[Any, Any]]:
        return {"task": (Task, Task()), "model": (Plain, Plain()), "training": (Training, Training())}

    def check(self, config: Any) -> None:
        if config["task"]["seq_len"] % 2:
            raise Invalid("task.seq_len", "must be even", config["task"]["seq_len"], "for instance 8")

    def describe(self, config: Any) -> Description:
        return Description(self.metrics, {"all": config["model"]["work"]}, flops=100, training_flops=300)

    def train(self, trial: Any, emit: Any) -> Record:
        draws = numpy_stream(trial.seed, "clocked", trial.stream).normal(scale=0.01, size=2)
        values = 0.8 + trial.config["model"]["effect"] + draws
        curve = Curve(np.arange(1, 3), values)
        return Record.of(trial, metrics={"accuracy": values[1]}, curves={"validation_accuracy": curve})

    def operations(self, config: Any) -> dict[str, Operation]:
        model, length = config["model"], config["task"]["seq_len"]
        time.sleep(model["waits"])
        if model["breaks"]:
            raise RuntimeError("nothing to time here")
        if log := os.environ.get("CLOCKED_LOG"):
            with open(log, "a") as file:
                file.write(f"{os.getpid()} {model['work']} {length}\n")
        counted = range(model["work"] * length)
        return {
            call: Operation(lambda times=times: sum(counted) * times, 4, 4 * length, 100 * length)
            for call, times in (("forward", 1), ("step", 3))
        }
