"""Recordings of behaviour: events, MLflow, exit codes, the keys of `--json`, and what `import ablate` offers."""

import inspect
import json
import re
import warnings
from collections.abc import Iterator

from harness import FREE, ablate_here

from . import today
from .folders import TOY_STUDY, temporary, toy_folder
from .recording import Lines, text


def events() -> Iterator[str]:
    """Yields what driver and engine tell, in order, of trials that end well, fail and diverge, and of stored ones."""
    for sets in ([], ["training.fault=raise"], ["training.fault=diverge", "seeds=2"]):
        yield f"# {' '.join(sets) or 'as it is'}"
        yield from today.driven(toy_folder() / "study.yaml", temporary(), sets)


def mlflow() -> list[str]:
    """Returns experiments and runs with parameters, metrics and keys of tags; files are not in it."""
    from mlflow.tracking import MlflowClient

    today.brought_up_to_date(toy_folder() / "results")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        client = MlflowClient(f"sqlite:///{toy_folder()}/results/store/mlflow.db")
        experiments = client.search_experiments()
        lines = [f"experiment {one.name}: tags {' '.join(sorted(one.tags))}" for one in experiments]
        for run in client.search_runs([one.experiment_id for one in experiments], max_results=1000):
            name = f"run {run.info.run_name}"
            lines.append(f"{name}: {run.info.status}, tags {' '.join(sorted(run.data.tags))}")
            for key, value in run.data.params.items():
                lines.append(f"{name}: param {key} = {'PATH' if '/' in value else value}")
            for key, value in run.data.metrics.items():
                timed = key.endswith(FREE) or "second" in key
                lines.append(f"{name}: metric {key}{'' if timed else f' = {text(value)}'}")
    return sorted(lines)


def exit_codes() -> Iterator[str]:
    """Yields the exit codes of runs with trials that fail, and with a claim that is refuted."""
    folder = temporary()
    claim = "model.effect=0.2 beats baseline"
    refuted = "baseline beats model.effect=0.2"
    (folder / "study.yaml").write_text(TOY_STUDY.replace(claim, refuted))
    for options in (
        "fault=raise",
        "fault=raise --strict",
        "fault=raise --fail-fast",
        "steps=4 --seeds 6 --gate",
        "steps=4 --seeds 6 --strict",
    ):
        call = f"run study.yaml --jobs 0 --set training.{options}"
        yield f"{call}: {ablate_here(*call.split(), cwd=folder).returncode}"


def json_keys() -> list[str]:
    """Returns keys and types of the objects that `--json` prints."""
    lines: set[str] = set()
    for call in ("run study.yaml", "report frozen", "plan study.yaml", "run nowhere.yaml"):
        printed = json.loads(ablate_here(*call.split(), "--json", cwd=toy_folder()).stdout)
        command = call.split()[0]
        lines |= _keys(printed, f"{command} refused" if "nowhere" in call else command)
    return sorted(lines)


def _keys(value: object, path: str) -> set[str]:
    """Returns a line for each value in a JSON value: its path and its type."""
    lines: set[str] = set()
    if isinstance(value, dict):
        for key, item in value.items():
            lines |= _keys(item, f"{path}.{key}")
        return lines or {f"{path} {{}}"}
    if isinstance(value, list):
        for item in value:
            lines |= _keys(item, f"{path}[]")
        return lines or {f"{path} []"}
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return {f"{path}: {'number' if number else type(value).__name__}"}


def python_api() -> list[str]:
    """Returns the names that `ablate` offers, and the signatures of its functions."""
    import ablate

    lines = [f"ablate.{name}" for name in ablate.__all__]
    for function in (ablate.load, ablate.run):
        for name, parameter in inspect.signature(function).parameters.items():
            default = re.sub(r"<[^>]*>", "", str(parameter.default))
            lines.append(f"ablate.{function.__name__}({name}: {default})")
    lines += [f"ablate.Results.{name}" for name in vars(ablate.Results) if not name.startswith("_")]
    return sorted(lines)


BEHAVIOUR = [
    Lines("events", events),
    Lines("mlflow", mlflow),
    Lines("exit-codes-failed", exit_codes, slow=True),
    Lines("json-keys", json_keys),
    Lines("python-api", python_api),
]
