"""A workload of a plugin that has all that a user's own code has: a program, which runs apart."""

import re
import subprocess
import sys
from functools import cached_property

from ablate import Invalid, register
from ablate.base.errors import Problem
from ablate.base.registry import StrictModel
from ablate.base.streams import stream_seed
from ablate.core.data_statement import DataStatement
from ablate.core.metric import Metric
from ablate.core.record import Record
from ablate.core.untold import Untold
from ablate.core.workload import Workload


class Settings(StrictModel):
    rate: float = 0.5
    dead: int = 0
    "What the program is not told."


@register("workload", "apart")
class Apart(Workload):
    metrics = {"val_loss": Metric("min")}
    runs_apart = True

    @cached_property
    def program(self):
        return (self.folder / "walk.py").read_text()

    def schema(self):
        return {"settings": (Settings, Settings())}

    def files(self, config):
        return {"program": str(self.folder / "walk.py")}

    def train(self, trial, emit):
        words = self.command_line(trial.config, stream_seed(trial.seed, "seed", trial.stream))
        done = subprocess.run(words, cwd=self.folder, capture_output=True, text=True, check=True)
        for step, loss in enumerate(re.findall(r"val loss (\S+)", done.stdout)):
            metrics = {"val_loss": float(loss)}
            if emit(step, metrics):
                return Record.of(trial, "pruned", reason="asked to stop")
        return Record.of(trial, metrics=metrics, environment={"first_line": self.program.split("\n")[0]})

    def command_line(self, config, seed):
        rate = config["settings"]["rate"]
        return [sys.executable, "-c", self.program, f"--rate={rate}", f"--seed={seed}"]

    def freeze(self):
        assert self.program

    def pack(self):
        return self.program.encode()

    def unpack(self, packed):
        self.program = packed.decode()

    def inputs(self, trial):
        return "none beside the program"

    def code_change(self, record, config):
        return f"-{record.environment['first_line']}\n+{self.program.splitlines()[0]}"

    def more_at_once(self, config, cores):
        return "99 with wider doors"

    def advice(self, config):
        return ["walks too slowly"] if config["settings"]["rate"] < 0.5 else []

    def untold(self, configs, paths, varied):
        baseline = next(iter(configs))
        rates = {name: config["settings"]["rate"] for name, config in configs.items()}
        twins = [name for name in configs if name != baseline and rates[name] == rates[baseline]]
        keys = [key for key, paths in varied.items() if "settings.dead" in paths]
        untold = [Untold(Problem("walks as it does"), True, (name, baseline)) for name in twins]
        return untold + [Untold(Problem("varies what nothing hears", (key,)), True) for key in keys]

    def stated(self, config, judged):
        return DataStatement(test="held_out")

    def check_best_validation(self, judged, metrics):
        raise Invalid("", f"is not known of {judged}", "best_validation", "last")
