"""A workload whose results depend on files: one that its task names, and one that its class declares."""

from pathlib import Path
from typing import Any

import numpy as np

from ablate import DataFile, register
from ablate.base.registry import StrictModel
from ablate.base.streams import numpy_stream
from ablate.core.metric import Metric
from ablate.core.record import Record
from ablate.core.workload import Workload


class Task(StrictModel):
    name: str = "table"
    numbers: DataFile


class Model(StrictModel):
    effect: float = 0.0


@register("workload", "reader")
class Reader(Workload):
    metrics = {"accuracy": Metric("max")}
    data_files = ("offset.txt",)

    def schema(self) -> dict[str, tuple[Any, Any]]:
        return {"task": (Task, ...), "model": (Model, Model())}

    def train(self, trial: Any, emit: Any) -> Record:
        numbers = np.loadtxt(trial.config["task"]["numbers"])
        offset = float((Path(__file__).parent / "offset.txt").read_text())
        noise = numpy_stream(trial.seed, "reader").normal()
        value = float(numbers.mean()) + offset + trial.config["model"]["effect"] + 0.01 * noise
        return Record.of(trial, metrics={"accuracy": value}, data={"train": str(numbers.tolist())})
