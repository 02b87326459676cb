"""What the harness costs beside the training itself; `make bench` writes the figures to results/bench/.

Whole processes, as a user has them, in turn with what they are compared with, on an otherwise idle machine. A row
says a figure, its goal, and what the last committed one was.
"""

import argparse
import ctypes
import json
import os
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections import namedtuple
from collections.abc import Callable
from contextlib import closing
from functools import partial
from importlib.metadata import distributions
from pathlib import Path
from string import Template
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PUBLISHED = ROOT / "results/bench/cost.json"
ABLATE = (sys.executable, "-m", "ablate")
PEERS = {"optuna": "optuna", "mlflow": "mlflow", "hydra": "hydra-joblib-launcher"}
INSTALLED = {package.name for package in distributions()}
TOOLS = ["ablate", "loop", *(tool for tool, package in PEERS.items() if package in INSTALLED)]
STEPS = 400
NOT_EVALUATED = [f"training.eval_every={STEPS}", "task.validation_size=1", "task.test_size=1"]
Figures = dict[str, list[float]]
"""Row → what each round found."""
Cost = namedtuple("Cost", "seconds cpu gigabytes")


def cost(folder: Path, *words: object, **environment: str) -> Cost:
    """Of a process, and of what it started."""
    inherited = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    environment, began = inherited | environment, time.perf_counter()
    with (folder / "output.txt").open("w") as out:
        command = subprocess.Popen([*map(str, words)], cwd=folder, env=environment, stdout=out, stderr=out)
    _, command.returncode, used = os.wait4(command.pid, 0)
    seconds, cpu = time.perf_counter() - began, used.ru_utime + used.ru_stime
    if command.returncode:
        raise RuntimeError(f"{' '.join(map(str, words))}:\n{(folder / 'output.txt').read_text()[-2000:]}")
    try:
        while True:  # What it left behind ends too, and counts.
            cpu += sum(os.wait3(0)[2][:2])
    except ChildProcessError:
        return Cost(seconds, cpu, used.ru_maxrss / 2**20)


def fresh(parent: Path, study: str, **values: object) -> Path:
    """A folder with a study of the bench."""
    folder = Path(tempfile.mkdtemp(dir=parent))
    text = Template((HERE / f"studies/{study}.yaml").read_text())
    (folder / "study.yaml").write_text(text.substitute(values))
    return folder


def repeated(name: str, places: list[Path], *words: object, **environment: str) -> Figures:
    """Of a call of ablate, once in each of the folders."""
    costs = [cost(place, *ABLATE, *words, **environment) for place in places]
    units = {"s": "seconds", "s of CPU": "cpu", "GB": "gigabytes"}
    return {f"{name}, {unit}": [getattr(one, field) for one in costs] for unit, field in units.items()}


def sixteen_trials(tool: str, steps: int, parent: Path) -> Cost:
    folder = fresh(parent, "sixteen", steps=steps)
    if tool == "ablate":
        return cost(folder, *ABLATE, "run", "study.yaml", "--jobs", 2)
    script = [HERE / "plain_loop.py"] if tool == "loop" else [HERE / "peers.py", tool]
    return cost(folder, sys.executable, *script, steps)


def sixteen(steps: int, tools: list[str], folder: Path, rounds: int) -> Figures:
    """Beside the loop, A B C and then C B A; long ones once."""
    spent: Figures = {tool: [] for tool in tools}
    for index in range(rounds if steps < 1000 else 1):
        for tool in tools[:: -1 if index % 2 else 1]:
            spent[tool].append(sixteen_trials(tool, steps, folder).seconds)
    found, loop = {f"16 trials of {steps:,} steps, loop, s": spent["loop"]}, spent.pop("loop")
    for tool, seconds in spent.items():
        ratios = [a / b for a, b in zip(seconds, loop, strict=True)]
        found[f"16 trials of {steps:,} steps, {tool} / loop"] = ratios
    return found


def example(folder: Path, rounds: int) -> Figures:
    """CPU time of a training in this process, on one thread, here and in the loop by turns."""
    import plain_loop
    import torch
    from harness import prepare

    from ablate.training.trial import train_trial

    def timed(train: Callable[..., object], *given: object) -> float:
        began = time.process_time()
        train(*given)
        return time.process_time() - began

    torch.set_num_threads(1)
    study, found = fresh(folder, "sixteen", steps=STEPS) / "study.yaml", {}
    for case, sets, every in (("on", [], plain_loop.EVAL_EVERY), ("off", NOT_EVALUATED, STEPS + 1)):
        ours = (train_trial, prepare(study, sets).cells()[0].trial, lambda *report: False)
        loop = (plain_loop.train, torch.nn.ReLU(), 0, STEPS)
        plain_loop.EVAL_EVERY = every
        # The first warms up.
        ratios = [timed(*ours) / timed(*loop) for _ in range(1 + 4 * rounds)]
        found[f"CPU of an example, evaluation {case}, ablate / loop"] = ratios[1:]
    return found


def commands(folder: Path, rounds: int) -> Figures:
    """What does not grow with the training."""
    ones = [fresh(folder, "sixteen", steps=1) for _ in range(rounds)]
    shutil.copytree(ROOT / "results/quickstart", folder / "results/quickstart")
    quickstart = ROOT / "studies/quickstart.yaml"
    ran, here = ([place] * (2 * rounds - 1) for place in (ones[0], folder))
    return (
        repeated("run of one step", ones, "run", "study.yaml", "--jobs", 2)
        | repeated("plan of the quickstart", here, "plan", quickstart, "--results", "new")
        | repeated("cached run", ran, "run", "study.yaml", "--jobs", 2)
        | repeated("report of the quickstart", here, "report", "quickstart")
        | repeated("--help", here, "run", "--help")
    )


def plans(folder: Path, rounds: int) -> Figures:
    levels = {"expansions": [*range(5, 55)], "rates": [n / 1e4 for n in range(1, 50)]}
    wide, factorial = [fresh(folder, "wide", **levels)], [fresh(folder, "factorial")]
    found = repeated("plan of 100 variants x 1,000 seeds", wide * rounds, "plan", "study.yaml")
    return found | repeated("plan of a factorial of 243", factorial * rounds, "plan", "study.yaml")


def reports(folder: Path, rounds: int) -> Figures:
    """Over trials that ended at once."""
    effects, found = [n / 100 for n in range(1, 10)], {}
    place = fresh(folder, "toy", toy=ROOT / "tests/toy.py", seconds=0, effects=effects)
    for trials, name, asked in (("1,000", "toy@seeds=100", ["--seeds", 100]), ("10,000", "toy", [])):
        cost(place, *ABLATE, "run", "study.yaml", *asked, ABLATE_TRACKING="off")
        found |= repeated(f"report over {trials} trials", [place] * rounds, "report", name)
    return found


def tracked(trials: int, folder: Path, rounds: int) -> Figures:
    """From one step to the last trial in MLflow, by the run and then by runs that find nothing to train; once."""
    found: Figures = {}
    for tracking in ("off", "on"):
        place = fresh(
            folder, "toy", toy=ROOT / "tests/toy.py", seconds=0, effects=[n / 100 for n in range(1, 10)]
        )
        run = partial(
            cost, place, *ABLATE, "run", "study.yaml", "--seeds", trials // 10, ABLATE_TRACKING=tracking
        )
        costs = [run()]
        while tracking == "on" and (had := in_mlflow(place / "results")) < trials:
            costs.append(run())
            if in_mlflow(place / "results") <= had:
                raise RuntimeError(f"a run brought no trial into MLflow, which has {had:,} of {trials:,}")
        name = f"{trials:,} short trials, MLflow {tracking}"
        found |= {f"{name}, s": [costs[0].seconds], f"{name}, s of CPU": [costs[0].cpu]}
    store = place / "results/store"
    files = [path for path in (store / "trials").iterdir() if path.is_file()]
    return found | {
        f"{name}, further runs until it has all": [len(costs) - 1],
        f"{name}, s until it has all": [sum(one.seconds for one in costs)],
        f"{name}, MB of its database": [(store / "mlflow.db").stat().st_size / 2**20],
        f"{name}, MB of records": [sum(path.stat().st_size for path in files) / 2**20],
    }


def in_mlflow(results: Path) -> int:
    """How many trials MLflow has, each with all that is known of it."""
    sql = "SELECT count(*) FROM tags AS a JOIN tags AS b USING (run_uuid) WHERE a.key = ? AND b.key = ?"
    with closing(sqlite3.connect(results / "store/mlflow.db")) as database:
        return database.execute(sql, ("ablate.trial", "ablate.complete")).fetchone()[0]


def sleeping(folder: Path, rounds: int) -> Figures:
    """From the end of the first trial to the end of the last, by a clock that each reads."""
    import pandas as pd

    place = fresh(folder, "toy", toy=ROOT / "tests/toy.py", seconds=0.2, effects=[0.1])
    cost(place, *ABLATE, "run", "study.yaml", "--jobs", 2)
    ends = pd.read_parquet(place / "results/toy/trials.parquet")["toy_seconds"]
    least = 0.2 * (len(ends) - 2) / 2
    return {"2,000 trials of .2 s, % over the least": [100 * (ends.max() - ends.min() - least) / least]}


def clone(folder: Path, rounds: int) -> Figures:
    """Its installation included."""
    subprocess.run(["git", "clone", "--quiet", ROOT, folder / "clone"], check=True)
    return {"make run of a fresh clone, s": [cost(folder / "clone", "make", "run").seconds]}


MEASURES: dict[str, Callable[[Path, int], Figures]] = {
    **{measure.__name__: measure for measure in (commands, example, plans)},
    "sixteen-100": partial(sixteen, 100, TOOLS[:2]),
    "sixteen-400": partial(sixteen, 400, TOOLS),
    "sixteen-2000": partial(sixteen, 2000, TOOLS),
    **{measure.__name__: measure for measure in (reports, sleeping, clone)},
    "tracked-3000": partial(tracked, 3000),
    "tracked-10000": partial(tracked, 10_000),
}
SHORT = ["commands", "sixteen-100"]


def print_row(name: str, *cells: object) -> None:
    texts = [f"{cell:.3g}" if isinstance(cell, (int, float)) else str(cell) for cell in cells]
    print(f"{name:<52}" + "".join(f"{text:>9}" for text in texts), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, help="the folder for cost.json (default: none is written)")
    parser.add_argument("--rounds", type=int, default=2, help="of most measurements (default: 2)")
    parser.add_argument("--short", action="store_true", help=f"only {' and '.join(SHORT)}, once: a minute")
    parser.add_argument("--only", nargs="+", choices=MEASURES, metavar="NAME", help=", ".join(MEASURES))
    parser.add_argument("--clone", action="store_true", help="also `make run` of a fresh clone: minutes")
    options = parser.parse_args()
    from ablate.records.environment import environment

    if sys.platform == "linux":
        # PR_SET_CHILD_SUBREAPER: what a command leaves behind is a child of this one.
        ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
    usual = [name for name in MEASURES if name != "sixteen-100" and (options.clone or name != "clone")]
    goals = json.loads((HERE / "goals.json").read_text())
    last = json.loads(PUBLISHED.read_text()).get("figures", {})
    figures: dict[str, Any] = {}
    for tool in sorted(PEERS.keys() - TOOLS):
        print(f"{tool} is left out, as {PEERS[tool]} is not installed.")
    print_row("", "figure", "goal", "last")
    for name in options.only or (SHORT if options.short else usual):
        try:
            with tempfile.TemporaryDirectory() as folder:
                found = MEASURES[name](Path(folder), 1 if options.short else options.rounds)
        except RuntimeError as error:
            print(f"{name} failed: {error}")
            continue
        for row, rounds in found.items():
            figures[row] = {"median": statistics.median(rounds), "rounds": rounds}
            if row in goals:
                print_row(row, figures[row]["median"], goals[row], last.get(row, {}).get("median", "-"))
        if options.out:
            options.out.mkdir(parents=True, exist_ok=True)
            written = {"environment": environment(" ".join(sys.argv), (HERE,)), "figures": figures}
            (options.out / PUBLISHED.name).write_text(json.dumps(written, indent=1) + "\n")


if __name__ == "__main__":
    main()
