"""A workload without torch, for tests of the harness whose subject is not training itself.

Each trial draws its result from its seed; settings make it slow, loud, diverging or faulty.
"""

import os
import sys
import time
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from ablate import Invalid, register
from ablate.base.registry import StrictModel
from ablate.base.streams import numpy_stream
from ablate.core.metric import Description, Metric
from ablate.core.record import Curve, Record, Status
from ablate.core.speed import Operation
from ablate.core.workload import Workload


class Model(StrictModel):
    effect: float = 0.0
    noise: float = 0.1
    width: Annotated[int, Field(ge=1)] = 4
    inert: int = 0


class Training(StrictModel):
    steps: int = 3
    seconds: float = 0.0
    fault: Literal["none", "raise", "exit", "kill", "diverge", "hang", "kill_once", "memory"] = "none"
    fault_seed: int = 0
    note: str = ""


class Task(StrictModel):
    name: Literal["coin", "die"] = "coin"


@register("workload", "toy")
class Toy(Workload):
    metrics = {"accuracy": Metric("max", resolution=0.001, floor=0.0, solved=0.5), "loss": Metric("min")}

    def schema(self) -> dict[str, tuple[Any, Any]]:
        return {"task": (Task, ...), "model": (Model, Model()), "training": (Training, Training())}

    def check(self, config: Any) -> None:
        if config["model"]["width"] == 13:
            raise Invalid("model.width", "must not be unlucky", 13, "any other width")

    def describe(self, config: Any) -> Description:
        return Description(self.metrics, {"all": config["model"]["width"]}, flops=100)

    def fingerprint(self, config: Any) -> str:
        return str({key: value for key, value in config["model"].items() if key != "inert"})

    def irrelevant(self) -> tuple[str, ...]:
        return ("training.note",)

    def operations(self, config: Any) -> dict[str, Operation]:
        self.check(config)
        width, training = config["model"]["width"], config["training"]

        def call() -> None:
            sum(range(100 * width))
            time.sleep(training["seconds"])
            if training["fault"] == "raise":
                raise RuntimeError("the toy broke")
            if training["fault"] == "kill":
                os.kill(os.getpid(), 9)

        return {"forward": Operation(call, 4, 20, lambda: 400), "step": Operation(call, 4, 20)}

    def train(self, trial: Any, emit: Any) -> Record:
        model, training = trial.config["model"], trial.config["training"]
        draws = numpy_stream(trial.seed, "toy", trial.stream).normal(size=training["steps"])
        print(f"training under seed {trial.seed}")
        faulty = training["fault"] if trial.seed == training["fault_seed"] else "none"
        status: Status = "completed"
        reason = ""
        for step in range(training["steps"]):
            time.sleep(training["seconds"] / training["steps"])
            if faulty == "raise":
                raise RuntimeError("the toy broke")
            if faulty == "memory":
                np.ones(1 << 46)
            if faulty == "exit":
                os._exit(3)
            if faulty == "kill" or (faulty == "kill_once" and not os.path.exists(training["note"])):
                if faulty == "kill_once":
                    open(training["note"], "w").close()
                os.kill(os.getpid(), 9)
            if faulty == "hang":
                time.sleep(3600)
            if emit(step + 1, {"accuracy": float(draws[step])}):
                status, reason = "pruned", "asked to stop"
                break
        if faulty == "diverge":
            status, reason = "diverged", "the toy diverged"
        value = 0.8 + model["effect"] + model["noise"] * float(np.mean(draws))
        metrics = {"accuracy": value, "loss": 1 - value, "toy_seconds": time.perf_counter()}
        if status != "completed":
            metrics = dict.fromkeys(metrics)
        steps = np.arange(1, step + 2)
        curves = {
            "validation_accuracy": Curve(steps, 0.8 + 0.01 * steps + draws[: len(steps)]),
            "train_loss": Curve(steps, draws[: len(steps)]),
        }
        sys.stderr.write("done\n")
        return Record.of(trial, status, metrics=metrics, curves=curves, reason=reason)
