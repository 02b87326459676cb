"""The studies that the campaign runs: small ones, each with another way to its tables."""

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .case import Place, Shared
from .process import Done, Started
from .tables import Tables, differences, finished, tables, tracked, trained

PLUGIN = Path(__file__).with_name("ledger.py")
SHIPPED = sorted((Path(__file__).parents[2] / "studies").glob("*.yaml"))

HEAD = "workload: ledger\nplugins: [ledger.py]\ntask: {name: coin}\n"
"""Their baselines differ, so that no two studies share a trial: two that run at once would both train it."""
RUN = f"""\
name: run
{HEAD}factors:
  model.effect: [0.2]
  model.noise: [0.1, 0.3]
seeds: 3
checkpoint: final
claims: [model.effect=0.2 beats baseline on accuracy by 0.1]
"""
STATES = f"""\
name: states
{HEAD}model: {{x: 0.1}}
factors: {{model.effect: [0.2]}}
training: {{steps: 8}}
seeds: 3
save_every: 1
"""
TUNE = f"""\
name: tune
{HEAD}model: {{x: 0.2}}
variants: {{wide: {{model.kind: wide, model.effect: 0.05}}}}
tune:
  over: {{training.lr: {{float: [1e-3, 1e-1], log: true}}}}
  trials: 3
seeds: 2
"""
SWEEP = f"""\
name: sweep
{HEAD}model: {{x: 0.4}}
search:
  over:
    model.x: {{float: [-1, 1]}}
    training.lr: {{float: [1e-3, 1e-1], log: true}}
  sampler: {{name: tpe, n_startup_trials: 2}}
  trials: 5
  seeds: 1
seeds: 2
claims: [winner beats baseline on accuracy]
"""
SEQUENCE = """\
name: sequence
task: {name: recall, vocab_size: 16, seq_len: 5, num_pairs: 2, validation_size: 32, test_size: 32}
model: {d_model: 8, num_layers: 1, mixer: {num_heads: 2}, dropout: {residual: 0.1}}
training: {steps: 60, batch_size: 8, eval_every: 20}
factors: {model.norm: [batch]}
seeds: 2
save_every: 20
checkpoint: final
"""
TUNED_SEQUENCE = """\
name: mixers
question: Which mixer remembers?
task: {name: recall, vocab_size: 16, seq_len: 5, num_pairs: 2}
model: {d_model: 8, num_layers: 1, mixer: {name: attention, num_heads: 2, score: scaled_dot}}
training: {steps: 40, batch_size: 8, lr: 3e-3, schedule: cosine, warmup_steps: 4}
metric: {name: accuracy, margin: 0.05, at: last}
factors: {model.mixer: [lstm, {name: attention, num_heads: 4}], model.feedforward.activation: [gelu]}
tune: {over: {training.lr: {choice: [1e-3, 1e-2]}}, sampler: grid, seeds: 3}
match: {parameters: baseline, by: model.feedforward.expansion, within: 0.5}
seeds: 2
placebo: on
claims: [model.mixer=lstm beats baseline on accuracy by 0.02]
notes: none
"""


@dataclass(frozen=True)
class Study:
    """A study, and the command that brings it to its end."""

    name: str
    text: str
    command: str = "run"

    def write(self, folder: Path) -> str:
        """Puts the study and its plugin into a folder, unless they are there; the name of its file."""
        file = folder / f"{self.name}.yaml"
        if not (folder / PLUGIN.name).exists():
            shutil.copy(PLUGIN, folder)
        if not file.exists():
            file.write_text(self.text)
        return file.name

    def expected(self, shared: Shared, without: tuple[str, ...] = ()) -> Tables:
        """The tables of a run that nothing interrupts."""
        return tables(self.pristine(shared) / "results" / self.name, without=without)

    def seconds(self, shared: Shared) -> float:
        """The time that such a run takes, warm."""
        self.pristine(shared)
        return float((shared.path / f"whole-{self.name}" / "seconds").read_text())

    def pristine(self, shared: Shared) -> Path:
        """A folder with the study and the results of a run that nothing interrupts."""

        def make(folder: Path) -> Path:
            place = folder / "place"
            place.mkdir()
            file = self.write(place)
            done = Place(place, shared).ablate(self.command, file, "--jobs", 0)
            if done.code != 0:
                raise RuntimeError(f"{self.name} does not run undisturbed: {done.output}")
            (folder / "seconds").write_text(str(done.seconds))
            return place

        made = shared.once(f"whole-{self.name}", make)
        assert isinstance(made, Path)
        return made


STUDIES = {
    study.name: study
    for study in (
        *(Study("run", RUN), Study("states", STATES), Study("tune", TUNE), Study("sweep", SWEEP, "sweep")),
        Study("sequence", SEQUENCE),
    )
}


class Watched:
    """The results of a study in a case, watched for finished trials that are lost or trained again."""

    def __init__(self, place: Place, study: Study, results: str = "results") -> None:
        self.place = place
        self.study = study
        self.results = place.path / results
        self.ledger = place.path / "ledger.txt"
        self._finished: dict[str, tuple[int, str]] = {}
        self._begun = trained(self.ledger)

    def environment(self, pace: float = 0.0) -> dict[str, str]:
        """Of a process whose trials are noted."""
        return {"TORTURE_LEDGER": str(self.ledger), "TORTURE_PACE": f"{pace:g}"}

    def start(self, jobs: int, pace: float = 0.0, **options: Any) -> Started:
        """Starts the study, each of whose steps takes `pace` seconds."""
        options["environment"] = self.environment(pace) | options.get("environment", {})
        file = self.study.write(self.place.path)
        return self.place.start(self.study.command, file, "--jobs", jobs, **options)

    def run(self, when: str, jobs: int = 0, pace: float = 0.0, **options: Any) -> Done:
        """Runs the study to its end; a violation where that is none."""
        options["environment"] = self.environment(pace) | options.get("environment", {})
        file = self.study.write(self.place.path)
        done = self.place.ablate(self.study.command, file, "--jobs", jobs, **options)
        if done.code != 0:
            self.violation_of(done, when)
        return done

    def violation_of(self, done: Done, when: str) -> None:
        """It has ended in a way that it should not."""
        text = f"{when}, {self.study.name} ended with {done.code}: {done.output[-500:]!r}"
        self.place.violation(text)

    def look(self) -> None:
        """Compares with the last look: what was finished then is there, as it was, and has not begun again."""
        now, begun = finished(self.results / "store"), trained(self.ledger)
        for trial, was in self._finished.items():
            if trial not in now:
                self.place.violation(f"the finished trial {trial} is lost")
            elif now[trial] != was:
                self.place.violation(f"the finished trial {trial} was written again")
            if begun[trial] > self._begun[trial]:
                self.place.violation(f"the finished trial {trial} was trained again")
        self._finished, self._begun = now, begun

    def forgive(self) -> None:
        """What is there now is right as it is; the next look starts from here."""
        self._finished, self._begun = finished(self.results / "store"), trained(self.ledger)

    def complete(self, mlflow: bool = True, without: tuple[str, ...] = ()) -> None:
        """Holds the final tables, but for some columns, and MLflow to those of a run that nothing interrupts."""
        self.look()
        expected = self.study.expected(self.place.shared, without)
        try:
            found = tables(self.results / self.study.name, without=without)
        except Exception as error:
            self.place.violation(f"the final tables cannot be read: {error!r:.300}")
            return
        for line in differences(found, expected):
            self.place.violation(f"final tables: {line}")
        if mlflow and (fault := tracked(self.results / "store", self.study.name)):
            self.place.violation(f"MLflow at the end: {fault}")
