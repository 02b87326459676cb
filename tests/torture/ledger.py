"""A workload without torch that costs no time, saves states, keeps weights, and notes in a file what it trains.

Loaded as a plugin. `TORTURE_LEDGER` names the file, a line for each beginning of a trial: its id and its first step.
`TORTURE_PACE` is the number of seconds that each step takes; it is no part of the study, so that ids stay as they are.
"""

import json
import os
import time
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from ablate import register
from ablate.base.registry import StrictModel
from ablate.base.streams import numpy_stream
from ablate.core.metric import Description, Metric
from ablate.core.record import Curve, Record
from ablate.core.workload import Evaluation, Workload


class Model(StrictModel):
    effect: float = 0.0
    noise: Annotated[float, Field(ge=0)] = 0.1
    kind: Literal["plain", "wide"] = "plain"
    x: float = 0.0


class Training(StrictModel):
    steps: Annotated[int, Field(ge=1, le=1000)] = 4
    lr: Annotated[float, Field(gt=0)] = 0.01


class Task(StrictModel):
    name: Literal["coin", "die"] = "coin"
    sides: Annotated[int, Field(ge=2)] = 2


@register("workload", "ledger")
class Ledger(Workload):
    metrics = {"accuracy": Metric("max", resolution=0.001, floor=-1e6, solved=0.5), "loss": Metric("min")}
    keeps_weights = True
    resumes = True

    def schema(self) -> dict[str, tuple[Any, Any]]:
        return {"task": (Task, ...), "model": (Model, Model()), "training": (Training, Training())}

    def describe(self, config: Any) -> Description:
        steps = config["training"]["steps"]
        size = 10 if config["model"]["kind"] == "plain" else 20
        return Description(self.metrics, {"all": size}, flops=2 * size, reports=range(1, steps + 1))

    def train(self, trial: Any, emit: Any) -> Record:
        from safetensors.numpy import save

        model, training = trial.config["model"], trial.config["training"]
        values = json.loads(trial.state)["values"] if trial.state else []
        if path := os.environ.get("TORTURE_LEDGER"):
            with open(path, "a") as file:
                file.write(f"{trial.id} {len(values)}\n")
        draws = numpy_stream(trial.seed, "ledger", trial.stream).normal(size=training["steps"])
        top = 0.7 + model["effect"] - (model["x"] - 0.3) ** 2 - (training["lr"] - 0.03) ** 2
        pace = float(os.environ.get("TORTURE_PACE", "0"))
        for step in range(len(values) + 1, training["steps"] + 1):
            time.sleep(pace)
            values.append(top + model["noise"] * float(draws[:step].mean()))
            saves = trial.save_every is not None and step % trial.save_every == 0
            state = json.dumps({"values": values}).encode() if saves else None
            reports = {"validation_accuracy": values[-1], "validation_loss": -values[-1]}
            if emit(step, reports, state=state):
                return Record.of(trial, "pruned", metrics={}, reason="asked to stop")
        last = values[-1]
        steps = np.arange(1, len(values) + 1)
        keeps = trial.checkpoint != "none"
        return Record.of(
            trial,
            metrics={
                "accuracy": last,
                "loss": -last,
                "validation_accuracy": last,
                "validation_loss": -last,
                "train_seconds": time.perf_counter(),
            },
            curves={"validation_accuracy": Curve(steps, np.array(values))},
            arrays={"draws": draws},
            data={"test": f"{trial.seed:032x}"},
            kept=[trial.checkpoint] if keeps else [],
            weights=save({"top": np.array([last])}) if keeps else None,
        )

    def evaluate(self, trial: Any, weights: bytes, task: Any) -> Evaluation:
        from safetensors.numpy import load

        return Evaluation({"accuracy": float(load(weights)["top"][0])})
