"""Every recording: its name, and the function that makes its lines from what the package does now."""

import csv
import functools
import hashlib
import inspect
import io
import json
import os
import re
import shlex
import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from harness import FREE, TOY_CLAIMED, ablate_here, with_database

from . import today
from .cases import cases

ROOT = Path(__file__).parents[2]
STUDIES = sorted((ROOT / "studies").glob("*.yaml"))
PUBLISHED = sorted(
    path.parent for path in (ROOT / "results").glob("**/trials.parquet") if "@" not in path.parent.name
)
RECORDINGS: dict[str, Callable[[], list[str]]] = {}
SLOW: set[str] = set()
"""Those that take more than a few seconds."""
LONG = "n" * 300
FOLDERS: list[tempfile.TemporaryDirectory[str]] = []
os.environ.setdefault("COLUMNS", "100")


def recording(name: str, *arguments: Any, slow: bool = False) -> Callable[[Any], Any]:
    """Registers a function, called with `arguments`, under the name of its file."""

    def register(make: Callable[..., Iterable[str]]) -> Callable[..., Iterable[str]]:
        RECORDINGS[name] = lambda: list(make(*arguments))
        SLOW.update({name} if slow else ())
        return make

    return register


def path_of(name: str) -> Path:
    """The file of a recording."""
    return Path(__file__).parent / "recorded" / f"{name}.txt"


def temporary() -> Path:
    """A folder that is gone with this process."""
    FOLDERS.append(tempfile.TemporaryDirectory(prefix="ablate-freeze-"))
    return Path(FOLDERS[-1].name)


def text(value: Any) -> str:
    """A value with 12 significant digits, where it is a number."""
    if isinstance(value, (float, np.floating)):
        return "" if np.isnan(value) else f"{value:.12g}"
    return "" if value is None else " ".join(str(value).split())


def rows(columns: Iterable[str], found: Iterable[Mapping[str, Any]]) -> list[str]:
    """Lines of CSV under their head, sorted."""
    out, columns = io.StringIO(), list(columns)
    csv.writer(out, lineterminator="\n").writerows(
        [columns, *([text(row[c]) for c in columns] for row in found)]
    )
    head, *lines = out.getvalue().splitlines()
    return [head, *sorted(lines)]


def exact(frame: pd.DataFrame, *keys: str) -> list[str]:
    """Every number of a frame to the bit, one a line."""
    return sorted(
        f"{' '.join(str(row[key]) for key in keys)} {name}: {float(value).hex()}"
        for row in frame.to_dict("records")
        for name, value in row.items()
        if isinstance(value, float) and name not in keys and not str(name).endswith(FREE)
    )


def digest(content: str, length: int) -> str:
    return hashlib.sha256(content.encode()).hexdigest()[:length]


# Published studies, judged again from what is committed

COLUMNS = {
    name: columns.split()
    for name, columns in {
        "comparisons": "study variant baseline task metric exploratory n mean_variant mean_baseline diff se df level p"
        " verdict code",
        "claims": "study claim hash metric task exploratory n diff ci_low ci_high verdict code",
        "stability": "study variant task metric n mean_variant mean_baseline diff code",
        "speed": "study variant task size metric n ratio noise_floor slack",
        "scaling": "study variant task metric n slope ci_low ci_high",
        "noise": "study task metric n diverged sd test_share placebo_diff",
    }.items()
}


@functools.cache
def _published() -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in COLUMNS}
    for path in PUBLISHED:
        frames = today.judged_folder(path)
        if len(frames["comparisons"]):
            frames["comparisons"] = with_errors(frames["comparisons"], today.evidence_of(path))
        for name, frame in frames.items():
            found[name] += [{"study": path.name} | row for row in with_codes(frame).to_dict("records")]
    return found


def with_errors(comparisons: pd.DataFrame, evidence: Any) -> pd.DataFrame:
    """The comparisons with standard errors and degrees of freedom of their differences."""
    place = ["variant", "baseline", "task", "metric"]
    known = pd.DataFrame(today.errors(evidence), columns=[*place, "se", "df"])
    return comparisons.merge(known, on=place, how="left")


def with_codes(frame: pd.DataFrame) -> pd.DataFrame:
    """A table with the code of its reasons, where it has any."""
    if "reason" not in frame:
        return frame
    return frame.assign(code=[str(reason).partition(" ")[0] for reason in frame["reason"].fillna("")])


def _rows_of(name: str) -> list[str]:
    return rows(COLUMNS[name], _published()[name])


for _name in COLUMNS:
    recording(f"published-{_name}", _name)(_rows_of)


@recording("judge")
def _judge() -> Iterator[str]:
    """Every verdict and every reason, of the evidence in `cases.py`."""
    for case, (evidence, shown) in cases().items():
        frames = today.judged(evidence)
        frames["comparisons"] = with_errors(frames["comparisons"], evidence)
        for name in shown:
            columns = COLUMNS[name][1:] + ["mde"] * (name == "comparisons")
            head, *found = rows(columns, with_codes(frames[name]).to_dict("records"))
            yield from [f"# {case}: {name}: {head}", *found]


# Trial ids


@recording("trial-ids", [path for path in STUDIES if path.stem in ("quickstart", "stability")], False)
@recording("trial-ids-all", STUDIES, True, slow=True)
def _ids(studies: Iterable[Path], tried: bool) -> Iterator[str]:
    """Of each kind of trial the number of ids, their hash, and three with names of cells.

    With `tried`: of every setting that was searched too, and how many committed ids are not among them.
    """
    for study in studies:
        results, known = ROOT / "results" / study.stem, set()
        for kind, cells in sorted(today.trial_ids(study, results, tried=tried).items()):
            found = sorted({trial_id for _, trial_id in cells})
            known |= set(found)
            counts = f"{len(cells)} cells, {len(found)} ids, {digest(chr(10).join(found), 16)}"
            yield f"{study.stem} {kind}: {counts}"
            for i in sorted({0, len(cells) // 2, len(cells) - 1}):
                yield f"{study.stem} {kind}: {cells[i][1]} {cells[i][0]}"
        if tried:
            published = published_ids(results)
            yield f"{study.stem} published: {len(published)} ids, {len(published - known)} of them unknown here"


def published_ids(results: Path) -> set[str]:
    """Those in the committed tables of a study: of its trials, its stress grid and the settings that were tried."""
    found: set[str] = set()
    for name in ("trials", "stress", "sweep", "tuning", "search"):
        if (path := results / f"{name}.parquet").is_file():
            frame = pd.read_parquet(path)
            found |= set(frame["id"] if "id" in frame else map(str, chain.from_iterable(frame["ids"])))
    return found


# The toy study, run once a process

TOY_STUDY = TOY_CLAIMED.replace("name: toy", "name: frozen", 1).replace("seeds: 3", "seeds: 4")
TOY_STUDY += "question: Which part of the toy matters?\n"
TOY_STUDY += "variants: {wild: {training.fault: diverge, training.fault_seed: 1}}\n"


@functools.cache
def toy_folder() -> Path:
    """A folder with the toy study and its results."""
    folder = temporary()
    (folder / "study.yaml").write_text(TOY_STUDY)
    with_database(folder / "results" / "store")
    done = ablate_here("run", "study.yaml", "--jobs", "0", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder


@recording("toy-metrics")
def _toy_metrics() -> list[str]:
    """Metrics and curves of the toy study, bit by bit."""
    import ablate

    found = ablate.load(toy_folder() / "results" / "frozen")
    names = {row["id"]: f"{row['variant']} {row['seed']}" for row in found.trials.to_dict("records")}
    curves = found.curves.assign(id=found.curves["id"].map(names))
    return [*exact(found.trials, "variant", "seed", "status"), *exact(curves, "id", "metric", "step")]


@recording("quickstart-metrics")
def _quickstart() -> list[str]:
    """Metrics of the published quickstart, bit by bit, as they were trained on another machine."""
    trials = pd.read_parquet(ROOT / "results" / "quickstart" / "trials.parquet")
    keys = ["variant", "seed", "status"]
    return exact(trials[[*keys, "accuracy", "loss", "validation_accuracy", "train_loss"]], *keys)


@recording("quickstart-trained", slow=True)
def _quickstart_trained() -> list[str]:
    """Two of its trials, at the rate that was chosen for both, trained here: their bits are those of the machine."""
    results = temporary()
    given = f"--only model.feedforward.activation=gelu --seed 3 --jobs 1 --results {results}"
    words = given.split()
    words += [word for each in ("training.lr=0.02", "tune=null", "speed=off") for word in ("--set", each)]
    assert ablate_here("run", "studies/quickstart.yaml", *words, cwd=ROOT).returncode == 0
    (table,) = results.glob("*/trials.parquet")
    return [machine(), *exact(pd.read_parquet(table), "id", "variant", "seed", "status")]


def machine() -> str:
    """What decides the bits of a training, as the first line of recordings that hold on such a machine alone."""
    import torch

    names = re.findall(r"model name\s*:\s*(.*)", Path("/proc/cpuinfo").read_text())
    return f"# on {torch.backends.cpu.get_cpu_capability()}, {names[0] if names else 'unknown'}"


@recording("events")
def _events() -> Iterator[str]:
    """What driver and engine tell, in order: of trials that end well, fail and diverge, and of those in the store."""
    for sets in ([], ["training.fault=raise"], ["training.fault=diverge", "seeds=2"]):
        yield f"# {' '.join(sets) or 'as it is'}"
        yield from today.driven(toy_folder() / "study.yaml", temporary(), sets)


@recording("mlflow")
def _mlflow() -> list[str]:
    """Experiments and runs with parameters, metrics and keys of tags; files are not in it."""
    from mlflow.tracking import MlflowClient

    today.brought_up_to_date(toy_folder() / "results")  # the run may have left it to this
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        client = MlflowClient(f"sqlite:///{toy_folder()}/results/store/mlflow.db")
        experiments = client.search_experiments()
        lines = [f"experiment {one.name}: tags {' '.join(sorted(one.tags))}" for one in experiments]
        for run in client.search_runs([one.experiment_id for one in experiments], max_results=1000):
            name, data = f"run {run.info.run_name}", run.data
            lines.append(f"{name}: {run.info.status}, tags {' '.join(sorted(data.tags))}")
            for key, value in data.params.items():
                lines.append(f"{name}: param {key} = {'PATH' if '/' in value else value}")
            for key, value in data.metrics.items():
                free = key.endswith(FREE) or "second" in key
                lines.append(f"{name}: metric {key}{'' if free else f' = {text(value)}'}")
    return sorted(lines)


# The surface: commands, options, JSON


@recording("help")
def _help() -> Iterator[str]:
    """`--help` of every command."""
    import click

    from ablate.cli import main

    for words in (["--help"], *([name, "--help"] for name in main.list_commands(click.Context(main)))):
        yield f"# ablate {' '.join(words)}"
        yield from map(str.rstrip, ablate_here(*words, cwd=ROOT).stdout.splitlines())


@recording("refused-calls")
def _calls() -> Iterator[str]:
    """Of each call of `calls.jsonl` its exit code, what it said if it was refused, and the files that it made."""
    for line in Path(__file__).with_name("calls.jsonl").read_text().splitlines():
        case = json.loads(line.replace("{TESTS}", str(ROOT / "tests")).replace("{LONG}", LONG))
        folder = Path(shutil.copytree(toy_folder(), temporary() / "toy")) if "toy" in case else temporary()
        write_files(folder, case.get("files", {}))
        yield f"# {case['test']}"
        for words in case["calls"]:
            before = {*folder.rglob("*")}
            done = ablate_here(*shlex.split(words), cwd=folder)
            yield f"$ {cleaned(words, folder)}: {done.returncode}"
            said = filter(str.strip, done.stderr.splitlines())
            yield from (cleaned(part, folder) for part in said if done.returncode)
            made = {*folder.rglob("*")} - before if "toy" not in case else ()
            yield from sorted(f"made {path.relative_to(folder)}" for path in made)


@recording("exit-codes-failed", slow=True)
def _codes_failed() -> Iterator[str]:
    """The exit codes of runs with trials that fail, and with a claim that is refuted."""
    folder, run = temporary(), "run study.yaml --jobs 0"
    claims = ("model.effect=0.2 beats baseline", "baseline beats model.effect=0.2")
    (folder / "study.yaml").write_text(TOY_STUDY.replace(*claims))
    for more in (
        "fault=raise",
        "fault=raise --strict",
        "fault=raise --fail-fast",
        "steps=4 --seeds 6 --gate",
        "steps=4 --seeds 6 --strict",
    ):
        words = f"{run} --set training.{more}"
        yield f"{words}: {ablate_here(*words.split(), cwd=folder).returncode}"


def _keys(found: Any, at: str) -> set[str]:
    if isinstance(found, dict):
        return {line for key, value in found.items() for line in _keys(value, f"{at}.{key}")} or {
            f"{at} {{}}"
        }
    if isinstance(found, list):
        return {line for value in found for line in _keys(value, f"{at}[]")} or {f"{at} []"}
    number = isinstance(found, (int, float)) and not isinstance(found, bool)
    return {f"{at}: {'number' if number else type(found).__name__}"}


@recording("json-keys")
def _json() -> list[str]:
    """Keys and types of the objects that `--json` prints."""
    lines: set[str] = set()
    for words in ("run study.yaml", "report frozen", "plan study.yaml", "run nowhere.yaml"):
        found = json.loads(ablate_here(*words.split(), "--json", cwd=toy_folder()).stdout)
        lines |= _keys(found, f"{words.split()[0]}{' refused' if 'nowhere' in words else ''}")
    return sorted(lines)


@recording("json-schema")
def _schema() -> list[str]:
    """Of each object of the JSON Schema its keys, and a hash of the whole without its descriptions."""

    def plain(found: Any) -> Any:
        if isinstance(found, dict):
            words = ("description", "title", "markdownDescription")
            return {k: plain(v) for k, v in found.items() if k not in words or isinstance(v, dict)}
        return [plain(value) for value in found] if isinstance(found, list) else found

    def lines(found: Any, at: str) -> Iterator[str]:
        if isinstance(found, dict) and isinstance(found.get("properties"), dict):
            whole = digest(json.dumps(plain(found), sort_keys=True), 12)
            yield f"{at or '/'}: {whole} {' '.join(sorted(found['properties']))}"
        inside = (
            found.items() if isinstance(found, dict) else enumerate(found) if isinstance(found, list) else ()
        )
        for key, value in inside:
            yield from lines(value, f"{at}/{key}")

    return sorted(lines(json.loads(ablate_here("schema", cwd=ROOT).stdout), ""))


@recording("python-api")
def _api() -> list[str]:
    """What `ablate` offers, with signatures."""
    import ablate

    found = [f"ablate.{name}" for name in ablate.__all__]
    for function in ("load", "run"):
        for name, parameter in inspect.signature(getattr(ablate, function)).parameters.items():
            found.append(f"ablate.{function}({name}: {re.sub(r'<[^>]*>', '', str(parameter.default))})")
    return sorted([*found, *(f"ablate.Results.{name}" for name in vars(ablate.Results) if name[0] != "_")])


# Studies that are refused


@recording("refused", False)
@recording("refused-models", True, slow=True)
def _refused(models: bool) -> Iterator[str]:
    """Of each study of `refused.jsonl` every problem: line or option, path and rule; those with `models` build some.

    A case is found by its number, that of its line in the file.
    """
    for number, line in enumerate(Path(__file__).with_name("refused.jsonl").read_text().splitlines(), 1):
        case = json.loads(line.replace("{TESTS}", str(ROOT / "tests")))
        if models == ("workload:" in case["files"][case["study"]]):
            continue
        folder = temporary()
        write_files(folder, case["files"])
        options = case.get("sets", []), case.get("seeds"), case.get("confirm", False)
        found = today.problems(folder / case["study"], *options)
        yield f"# {number} {case['test']}"
        yield from sorted(cleaned(problem, folder) for problem in found) or ["not refused"]


def write_files(folder: Path, files: Mapping[str, str]) -> None:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content.encode("latin-1"))


def cleaned(message: object, folder: Path) -> str:
    """A message in one line, without where it was said: path, rule, what was given, what is allowed, the hint."""
    said = str(message).replace(str(folder), "FOLDER").replace(str(ROOT), "ROOT").replace(LONG, "{LONG}")
    return " ".join(said.split())[:500].encode("ascii", "backslashreplace").decode()
