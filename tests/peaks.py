"""A workload whose best setting is known: a peak at lr = 1e-3, x = 0.3, which costs no time to train."""

import math
import os
import time
from typing import Any, Literal

import numpy as np

from ablate import Invalid, register
from ablate.base.registry import StrictModel
from ablate.base.streams import numpy_stream
from ablate.core.metric import Description, Metric
from ablate.core.record import Curve, Record, Status
from ablate.core.workload import Workload

STEPS = 4


class Model(StrictModel):
    kind: Literal["plain", "wide"] = "plain"
    x: float = 0.0
    heads: int = 1
    twin: int = 0
    "Changes which noise is drawn, and nothing else."


class Training(StrictModel):
    lr: float = 1e-1
    noise: float = 0.01
    seconds: float = 0.0
    reports: int = STEPS
    fault: Literal["none", "raise", "diverge"] = "none"
    above: float = 1e9
    "Values of x from which the fault strikes."
    fault_seed: int = -1
    "Under this seed alone; -1: under every one."
    until: str = ""
    "A file that ends the fault."


class Task(StrictModel):
    name: Literal["peak", "valley"] = "peak"


def height(config: Any) -> float:
    """The metric without noise: 0 at the peak."""
    model = config["model"]
    value = -((math.log10(config["training"]["lr"]) + 3) ** 2) - (model["x"] - 0.3) ** 2
    return value - (0.05 * abs(model["heads"] - 3) if model["kind"] == "wide" else 0.2)


@register("workload", "peaks")
class Peaks(Workload):
    def schema(self) -> dict[str, tuple[Any, Any]]:
        return {"task": (Task, ...), "model": (Model, Model()), "training": (Training, Training())}

    def check(self, config: Any) -> None:
        if config["model"]["heads"] == 7:
            raise Invalid("model.heads", "must not be seven", 7, "any other number")

    def describe(self, config: Any) -> Description:
        # Guessing is worth -9 where the metric says so.
        metrics = {"score": Metric("max", floor=-9.0), "loss": Metric("min")}
        cost = 10 * config["model"]["heads"] + round(100 * config["model"]["x"]) + 1000
        reports = range(1, config["training"]["reports"] + 1)
        return Description(metrics, {"all": cost}, flops=2 * cost, reports=reports)

    def fingerprint(self, config: Any) -> str:
        return str(config["model"])

    def irrelevant(self) -> tuple[str, ...]:
        return ("training.seconds", "training.until")

    def sources(self, config: Any) -> list[Any]:
        return [Peaks.train, height]

    def train(self, trial: Any, emit: Any) -> Record:
        training, model = trial.config["training"], trial.config["model"]
        noise = numpy_stream(trial.seed, "peaks", trial.stream, model["twin"]).normal(size=2)
        top = height(trial.config)
        strikes = model["x"] >= training["above"] and training["fault_seed"] in (-1, trial.seed)
        if strikes and training["fault"] == "raise" and not os.path.exists(training["until"]):
            raise RuntimeError("the peak gave way")
        status: Status = "completed"
        reason, values = "", []
        for step in range(1, training["reports"] + 1):
            time.sleep(training["seconds"] / training["reports"])
            values.append(top - 1.0 + step / training["reports"] + training["noise"] * noise[0])
            if emit(step, {"validation_score": values[-1]}):
                status, reason = "pruned", "asked to stop"
                break
        if strikes and training["fault"] == "diverge":
            status, reason = "diverged", "the peak left the numbers"
        # What is judged has noise of its own, as a test split has.
        metrics: dict[str, float | None] = {"validation_score": values[-1], "validation_loss": -values[-1]}
        metrics |= {"score": top + training["noise"] * noise[1], "train_seconds": time.perf_counter()}
        metrics["loss"] = -metrics["score"]  # type: ignore[operator]
        if status != "completed":
            metrics = dict.fromkeys(metrics)
        curve = Curve(np.arange(1, len(values) + 1), np.array(values))
        return Record.of(trial, status, metrics=metrics, curves={"validation_score": curve}, reason=reason)
