"""Every recording: its name, and the function that makes its lines from what the package does now."""

import csv
import functools
import hashlib
import inspect
import io
import json
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from . import today

ROOT = Path(__file__).parents[2]
TOY = ROOT / "tests" / "toy.py"
STUDIES = sorted((ROOT / "studies").glob("*.yaml"))
PUBLISHED = sorted(path for path in (ROOT / "results").iterdir() if (path / "trials.parquet").is_file())
RECORDINGS: dict[str, Callable[[], list[str]]] = {}
SLOW: set[str] = set()
"""Those that take more than a few seconds."""
EXACT = ("_seconds", "_per_second", "_memory")
"""Ends of the names of metrics that may differ between repeats."""


def recording(
    name: str, *, slow: bool = False
) -> Callable[[Callable[[], Iterable[str]]], Callable[[], list[str]]]:
    """Registers a function under the name of its file."""

    def register(make: Callable[[], Iterable[str]]) -> Callable[[], list[str]]:
        RECORDINGS[name] = lambda: list(make())
        SLOW.update({name} if slow else ())
        return RECORDINGS[name]

    return register


def path_of(name: str) -> Path:
    """The file of a recording."""
    found = [*(Path(__file__).parent / "recorded").glob(f"{name}.*")]
    return found[0] if found else Path(__file__).parent / "recorded" / f"{name}.txt"


def text(value: Any) -> str:
    """A value with 12 significant digits, where it is a number."""
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value))
    if isinstance(value, (float, np.floating)):
        return "" if np.isnan(value) else f"{value:.12g}"
    return "" if value is None else " ".join(str(value).split())


def rows(columns: Iterable[str], found: Iterable[Mapping[str, Any]]) -> list[str]:
    """Lines of CSV under their head, sorted."""
    columns = list(columns)

    def line(values: Iterable[object]) -> str:
        out = io.StringIO()
        csv.writer(out, lineterminator="").writerow(values)
        return out.getvalue()

    return [line(columns), *sorted(line([text(row[name]) for name in columns]) for row in found)]


# Published studies, judged again from what is committed.

COLUMNS = {
    "comparisons": (
        *(
            "study",
            "variant",
            "baseline",
            "task",
            "metric",
            "exploratory",
            "n",
            "mean_variant",
            "mean_baseline",
        ),
        *("diff", "se", "df", "level", "p", "verdict", "code"),
    ),
    "claims": (
        *(
            "study",
            "claim",
            "hash",
            "metric",
            "task",
            "exploratory",
            "n",
            "diff",
            "ci_low",
            "ci_high",
            "verdict",
        ),
        "code",
    ),
    "stability": ("study", "variant", "task", "metric", "n", "mean_variant", "mean_baseline", "diff", "code"),
    "speed": ("study", "variant", "task", "size", "metric", "n", "ratio", "noise_floor", "slack"),
    "scaling": ("study", "variant", "task", "metric", "n", "slope", "ci_low", "ci_high"),
    "noise": ("study", "task", "metric", "n", "diverged", "sd", "test_share", "placebo_diff"),
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


for _name, _columns in COLUMNS.items():
    RECORDINGS[f"published-{_name}"] = lambda name=_name, columns=_columns: rows(columns, _published()[name])


# Trial ids.


@recording("trial-ids")
def _ids() -> list[str]:
    """Of each kind of trial of some studies the number of ids, their hash, and three of them with names of cells."""
    return ids(
        [study for study in STUDIES if study.stem in ("mixers", "quickstart", "stability")], tried=False
    )


@recording("trial-ids-all", slow=True)
def _ids_all() -> list[str]:
    """The same of all studies, with every setting that was searched, and how many committed ids are among them."""
    return ids(STUDIES, tried=True)


def ids(studies: Iterable[Path], *, tried: bool) -> list[str]:
    """The lines of both."""
    lines = []
    for study in studies:
        results, known = ROOT / "results" / study.stem, set()
        for kind, cells in sorted(today.trial_ids(study, results, tried=tried).items()):
            found = sorted({trial_id for _, trial_id in cells})
            known |= set(found)
            digest = hashlib.sha256("\n".join(found).encode()).hexdigest()[:16]
            lines.append(f"{study.stem} {kind}: {len(cells)} cells, {len(found)} ids, {digest}")
            some = sorted({0, len(cells) // 2, len(cells) - 1})
            lines += [f"{study.stem} {kind}: {cells[i][1]} {cells[i][0]}" for i in some]
        if tried:
            published = published_ids(results)
            lines.append(
                f"{study.stem} published: {len(published)} ids, {len(published - known)} of them unknown here"
            )
    return lines


def published_ids(results: Path) -> set[str]:
    """Those in the committed tables of a study: of its trials, its stress grid and the settings that were tried."""
    found: set[str] = set()
    for name in ("trials", "stress", "sweep", "tuning", "search"):
        if (path := results / f"{name}.parquet").is_file():
            frame = pd.read_parquet(path)
            found |= set(frame["id"] if "id" in frame else map(str, chain.from_iterable(frame["ids"])))
    return found


# The toy study, run once a process.

TOY_STUDY = """\
name: frozen
question: Which part of the toy matters?
workload: toy
plugins: [{toy}]
task: {{name: coin}}
factors:
  model.effect: [0.2]
  model.noise: [0.1, 0.3]
variants: {{wild: {{training.fault: diverge, training.fault_seed: 1}}}}
metric: {{name: accuracy, margin: 0.05}}
placebo: on
seeds: 4
claims:
  - model.effect=0.2 beats baseline on accuracy
  - model.noise=0.3 beats baseline on accuracy
"""


@functools.cache
def toy_folder() -> Path:
    """A folder with the toy study and its results."""
    from harness import with_database

    folder = Path(_temporary("toy"))
    (folder / "study.yaml").write_text(TOY_STUDY.format(toy=TOY))
    with_database(folder / "results" / "store")
    done = call("run", "study.yaml", "--jobs", "0", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder


@functools.cache
def _folders() -> list[tempfile.TemporaryDirectory[str]]:
    return []


def _temporary(name: str) -> str:
    """A folder that is gone with this process."""
    _folders().append(tempfile.TemporaryDirectory(prefix=f"ablate-freeze-{name}-"))
    return _folders()[-1].name


def call(*words: str, cwd: Path) -> Any:
    """The command line in this process."""
    from harness import ablate_here

    return ablate_here(*words, cwd=cwd)


def exact(frame: pd.DataFrame, keys: list[str]) -> list[str]:
    """Every number of a frame to the bit, one a line."""
    lines = []
    for row in frame.to_dict("records"):
        where = " ".join(str(row[key]) for key in keys)
        for name, value in row.items():
            if isinstance(value, float) and name not in keys and not str(name).endswith(EXACT):
                lines.append(f"{where} {name}: {float(value).hex()}")
    return sorted(lines)


@recording("toy-metrics")
def _toy_metrics() -> list[str]:
    """Metrics and curves of the toy study, bit by bit."""
    import ablate

    found = ablate.load(toy_folder() / "results" / "frozen")
    names = {row["id"]: f"{row['variant']} {row['seed']}" for row in found.trials.to_dict("records")}
    curves = found.curves.assign(id=found.curves["id"].map(names))
    return [*exact(found.trials, ["variant", "seed", "status"]), *exact(curves, ["id", "metric", "step"])]


@recording("quickstart-metrics")
def _quickstart() -> list[str]:
    """Metrics of the published quickstart, bit by bit, as they were trained on another machine."""
    trials = pd.read_parquet(ROOT / "results" / "quickstart" / "trials.parquet")
    kept = ["variant", "seed", "status", "accuracy", "loss", "validation_accuracy", "train_loss"]
    return exact(trials[kept], kept[:3])


@recording("quickstart-trained", slow=True)
def _quickstart_trained() -> list[str]:
    """Two of its trials, at the rate that was chosen for both, trained here: their bits are those of the machine."""
    results = Path(_temporary("quickstart"))
    words = (
        "--only",
        "model.feedforward.activation=gelu",
        "--seed",
        "3",
        "--jobs",
        "1",
        "--set",
        "training.lr=0.02",
    )
    words += ("--set", "tune=null", "--set", "speed=off", "--results", str(results))
    assert call("run", "studies/quickstart.yaml", *words, cwd=ROOT).returncode == 0
    (table,) = results.glob("*/trials.parquet")
    return [machine(), *exact(pd.read_parquet(table), ["id", "variant", "seed", "status"])]


def machine() -> str:
    """What decides the bits of a training, as the first line of recordings that hold on such a machine alone."""
    import torch

    names = re.findall(r"model name\s*:\s*(.*)", Path("/proc/cpuinfo").read_text())
    return f"# on {torch.backends.cpu.get_cpu_capability()}, {names[0] if names else 'unknown'}"


@recording("events")
def _events() -> list[str]:
    """What driver and engine tell, in order: of trials that end well, fail and diverge, and of those in the store."""
    lines = []
    for sets in ([], ["training.fault=raise"], ["training.fault=diverge", "seeds=2"]):
        lines.append(f"# {' '.join(sets) or 'as it is'}")
        lines += today.driven(toy_folder() / "study.yaml", Path(_temporary("store")), sets)
    return lines


@recording("mlflow")
def _mlflow() -> list[str]:
    """Experiments and runs with parameters, metrics and keys of tags; files are not in it."""
    import warnings

    from mlflow.tracking import MlflowClient

    from ablate.tracking.server import bring_up_to_date

    bring_up_to_date(toy_folder() / "results", print)  # the run may have left it to this
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        client = MlflowClient(f"sqlite:///{toy_folder()}/results/store/mlflow.db")
        experiments = client.search_experiments()
        lines = [f"experiment {one.name}: tags {' '.join(sorted(one.tags))}" for one in experiments]
        for run in client.search_runs([one.experiment_id for one in experiments], max_results=1000):
            name = f"run {run.info.run_name}"
            lines.append(f"{name}: {run.info.status}, tags {' '.join(sorted(run.data.tags))}")
            lines += [
                f"{name}: param {key} = {'PATH' if '/' in value else value}"
                for key, value in run.data.params.items()
            ]
            lines += [
                f"{name}: metric {key}"
                + ("" if key.endswith(EXACT) or "second" in key else f" = {text(value)}")
                for key, value in run.data.metrics.items()
            ]
    return sorted(lines)


# The surface: commands, options, JSON.


def _commands() -> list[str]:
    import click

    from ablate.cli import main

    return main.list_commands(click.Context(main))  # type: ignore[no-any-return]


@recording("help")
def _help() -> list[str]:
    """`--help` of every command."""
    lines = []
    for words in ([], *([name] for name in _commands())):
        lines += [
            f"# ablate {' '.join([*words, '--help'])}",
            *call(*words, "--help", cwd=ROOT).stdout.splitlines(),
        ]
    return [line.rstrip() for line in lines]


def _keys(found: Any, at: str) -> set[str]:
    if isinstance(found, dict):
        return {line for key, value in found.items() for line in _keys(value, f"{at}.{key}")} or {
            f"{at} {{}}"
        }
    if isinstance(found, list):
        return {line for value in found for line in _keys(value, f"{at}[]")} or {f"{at} []"}
    kind = (
        "number" if isinstance(found, (int, float)) and not isinstance(found, bool) else type(found).__name__
    )
    return {f"{at}: {kind}"}


CALLS = (
    ("run", "study.yaml"),
    ("run", "study.yaml", "--strict"),
    ("run", "nowhere.yaml"),
    ("run",),
    ("run", "study.yaml", "--jobs", "-1"),
    ("run", "study.yaml", "--nope"),
    ("run", "study.yaml", "--set", "model.width=13"),
    ("run", "study.yaml", "--only", "nobody"),
    ("plan", "study.yaml"),
    ("plan", "study.yaml", "--detect", "nan"),
    ("report", "frozen", "--strict"),
    ("report", "nothing"),
    ("sweep", "study.yaml"),
    ("show", "zzzz"),
    ("list",),
    ("list", "score"),
    ("list", "nothing"),
    ("guide", "nothing"),
    ("diff", "frozen", "nothing"),
    ("diff", "results/frozen", "results/frozen"),
    ("new", "study"),
    ("clean",),
    ("nothing",),
)


@recording("exit-codes")
def _codes() -> list[str]:
    """Exit codes of calls where the toy study has run, in a copy of it."""
    folder = Path(_temporary("codes")) / "toy"
    shutil.copytree(toy_folder(), folder)
    return codes(CALLS, folder)


def codes(calls: Iterable[Iterable[str]], folder: Path) -> list[str]:
    """Each call with its exit code."""
    return [f"{' '.join(words)}: {call(*words, cwd=folder).returncode}" for words in calls]


@recording("exit-codes-failed", slow=True)
def _codes_failed() -> list[str]:
    """The same of runs with trials that fail, and with a claim that is refuted."""
    folder = Path(_temporary("failed"))
    claims = ("model.effect=0.2 beats baseline", "baseline beats model.effect=0.2")
    (folder / "study.yaml").write_text(TOY_STUDY.format(toy=TOY).replace(*claims))
    run = ("run", "study.yaml", "--jobs", "0")
    calls = [(*run, "--set", "training.fault=raise", *more) for more in ((), ("--strict",), ("--fail-fast",))]
    calls += [(*run, "--set", "training.steps=4", "--seeds", "6", gate) for gate in ("--gate", "--strict")]
    return codes(calls, folder)


@recording("json-keys")
def _json() -> list[str]:
    """Keys and types of the objects that `--json` prints."""
    lines: set[str] = set()
    for words in (
        ("run", "study.yaml"),
        ("report", "frozen"),
        ("plan", "study.yaml"),
        ("run", "nowhere.yaml"),
    ):
        found = json.loads(call(*words, "--json", cwd=toy_folder()).stdout)
        lines |= _keys(found, f"{words[0]}{' refused' if 'nowhere' in words[1] else ''}")
    return sorted(lines)


@recording("json-schema")
def _schema() -> list[str]:
    """Of each object of the JSON Schema its keys, and a hash of the whole without its descriptions."""

    def plain(found: Any) -> Any:
        if isinstance(found, dict):
            words = ("description", "title", "markdownDescription")
            return {
                key: plain(value)
                for key, value in found.items()
                if key not in words or isinstance(value, dict)
            }
        return [plain(value) for value in found] if isinstance(found, list) else found

    def lines(found: Any, at: str) -> Iterable[str]:
        if isinstance(found, dict):
            if isinstance(found.get("properties"), dict):
                of = json.dumps(plain(found), sort_keys=True)
                digest = hashlib.sha256(of.encode()).hexdigest()[:12]
                yield f"{at or '/'}: {digest} {' '.join(sorted(found['properties']))}"
            for key, value in found.items():
                yield from lines(value, f"{at}/{key}")
        elif isinstance(found, list):
            for index, value in enumerate(found):
                yield from lines(value, f"{at}/{index}")

    return sorted(lines(json.loads(call("schema", cwd=ROOT).stdout), ""))


@recording("python-api")
def _api() -> list[str]:
    """What `ablate` offers, with signatures."""
    import ablate

    found = [f"ablate.{name}" for name in ablate.__all__]
    found += [
        f"ablate.{function}({name}: {re.sub(r'<[^>]*>', '', str(parameter.default))})"
        for function in ("load", "run")
        for name, parameter in inspect.signature(getattr(ablate, function)).parameters.items()
    ]
    return sorted([*found, *(f"ablate.Results.{name}" for name in vars(ablate.Results) if name[0] != "_")])


# Studies that are refused.


@recording("refused")
def _refused() -> list[str]:
    """Of each study of `refused.jsonl` that builds no model every problem: line or option, path and rule."""
    return refused(lambda content: "workload:" in content)


@recording("refused-models", slow=True)
def _refused_models() -> list[str]:
    """The same of the other studies."""
    return refused(lambda content: "workload:" not in content)


def refused(wanted: Callable[[str], bool]) -> list[str]:
    """The lines of both; a case is found by its number, that of its line in the file."""
    lines = []
    for number, line in enumerate((Path(__file__).parent / "refused.jsonl").read_text().splitlines(), 1):
        case = json.loads(line)
        if not wanted(case["files"][case["study"]]):
            continue
        folder = Path(_temporary("refused"))
        for name, content in case["files"].items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content.replace("{TESTS}", str(ROOT / "tests")).encode("latin-1"))
        sets = [option.replace("{TESTS}", str(ROOT / "tests")) for option in case.get("sets", [])]
        found = today.problems(folder / case["study"], sets, case.get("seeds"), case.get("confirm", False))
        lines.append(f"# {number} {case['test']}")
        lines += sorted(_problem(problem, folder) for problem in found) or ["not refused"]
    return lines


def _problem(problem: Any, folder: Path) -> str:
    where = f"line {problem.line}" if problem.line else problem.source.replace(str(folder), "FOLDER")
    path = ".".join(map(str, problem.path))
    said = f"{where[:80]} | {path[:80]} | {problem.rule}".replace(str(folder), "FOLDER").replace(
        str(ROOT), "ROOT"
    )
    return " ".join(said.split())[:300].encode("ascii", "backslashreplace").decode()


# The judge on evidence that was made up.


@recording("judge")
def _judge() -> list[str]:
    """Every verdict and every reason, from `cases.py`."""
    from .cases import cases

    lines = []
    names = {name: [column for column in columns if column != "study"] for name, columns in COLUMNS.items()}
    names["comparisons"].append("mde")
    for case, (evidence, shown) in cases().items():
        frames = today.judged(evidence)
        frames["comparisons"] = with_errors(frames["comparisons"], evidence)
        for name in shown:
            head, *found = rows(names[name], with_codes(frames[name]).to_dict("records"))
            lines += [f"# {case}: {name}: {head}", *found]
    return lines


os.environ.setdefault("COLUMNS", "100")
