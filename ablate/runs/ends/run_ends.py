"""How the run of a folder ended, by what tools keep beside its results.

One function a tool, each with the place where that tool says what it writes. What a tool itself says counts before the
end of a log, which may tell of errors that the run has survived. Nothing is executed or unpickled.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from ablate.base.errors import AblateError
from ablate.core.ending import (
    COMPLETED,
    FAILED,
    RUNNING,
    STOPPED_BY_USER,
    UNKNOWN,
    WAITING,
    Ending,
    ending_of_error,
)
from ablate.core.log_end import ending_of_log
from ablate.runs.ends.end_files import end_in_files, files_of, text_of
from ablate.runs.ends.statuses import ending_of_fields, ending_of_word, more_telling
from ablate.runs.run_settings import document_in
from ablate.runs.run_tree import RunFolder

_STATUS_FILES = re.compile(
    r"(?:.*[-_.])?(?:run|job|trial|task|status|state|metadata|experiment|workflow|pod)"
    r"(?:[-_.](?:status|state|info|data|summary|description))?\.(?:json|ya?ml)"
)
"""The names of files in which tools keep what they know of a run, its status among it."""
_LOG_ENDINGS = (".log", ".out", ".err", ".txt")
_OF_BATCH = re.compile(r"\.[oe]\d+")
"""The endings of the logs of PBS and Grid Engine: `train.sh.e1234567`."""
_RANK = r"(?:rank|worker|node|gpu|process)[-_]?\d+"
"""The pattern of what names one process of several that run at once."""
_TEXTS = re.compile(
    r"(?:std)?_?(?:out|err)(?:put|ors?)?|log|logs|cout|console|train\w*|main|app|run\w*|slurm.*|job.*|"
    rf".*[-_.]log|(?:std_)?log_.*|.*_log_process_\d+|(?:local_)?{_RANK}"
)
"""The names of texts, without `.txt`, that are logs."""
_FOLDERS_OF_LOGS = ("logs", "log")
"""The folders below that of a run in which its logs are."""
_BARE_LOGS = ("stdout", "stderr")
"""The names of logs that have no ending."""


def ending_beside(folder: RunFolder) -> Ending:
    """Returns how the run of a folder ended, as far as anything beside its results says so."""
    tools = () if folder.is_file else _TOOLS
    says = next(filter(None, (read(folder) for read in tools)), UNKNOWN)
    if says.kind in ("completed", "diverged", "pruned"):
        return says
    logs = [ending_of_log(file) for file in _last_of_series(_logs_of(folder))]
    by_logs = functools.reduce(more_telling, logs, UNKNOWN)
    if says.kind in ("failed", "stopped"):
        return more_telling(says, by_logs)
    # A process that was killed leaves behind that it runs.
    return says if by_logs.kind == "unknown" else by_logs


def _ray(folder: RunFolder) -> Ending | None:
    """Returns how a trial of Ray Tune ended: by the state of its experiment, else by `error.txt`.

    A trial that was tried again keeps the errors of its earlier tries (`Trial.handle_error` appends to the file), so
    that one with results after the last of them did not end with it. ray/tune/experiment/trial.py.
    """
    status = _ray_status(folder.path)
    errors = text_of(folder.path / "error.txt")
    has_pickle = (folder.path / "error.pkl").is_file()
    if status == "ERROR" or (status is None and (errors or has_pickle)):
        tries = re.split(r"^Failure # \d+ \(occurred at (.*)\)$", errors, flags=re.MULTILINE)
        if status is None and _has_results_after(tries[-2] if len(tries) > 2 else "", folder):
            return None
        return ending_of_error(tries[-1], "error.txt" if errors else "error.pkl")
    return None if status is None else ending_of_word(status, "status of its trial,")


def _ray_status(trial: Path) -> str | None:
    """Returns the status of a trial in the last state of its experiment; None where there is none."""
    states = sorted(trial.parent.glob("experiment_state-*.json"))
    return _ray_statuses(states[-1], states[-1].stat().st_mtime_ns).get(trial.name) if states else None


@functools.lru_cache(maxsize=4)
def _ray_statuses(state: Path, _modified: int) -> Mapping[str, str]:
    """Returns the folder of each trial → its status, in a state of an experiment that was modified then."""
    trials = _at(_json_of(state), "trial_data")
    statuses: dict[str, str] = {}
    for entry in trials if isinstance(trials, list) else []:
        with suppress(ValueError, TypeError, IndexError, KeyError):
            of_trial = json.loads(entry[0])
            statuses[str(of_trial["relative_logdir"])] = str(of_trial["status"])
    return statuses


def _has_results_after(time: str, folder: RunFolder) -> bool:
    """Returns whether a trial of Ray Tune has a result that is later than a time as it writes them."""
    when = "%Y-%m-%d_%H-%M-%S"
    text = text_of(folder.path / "result.json") or text_of(folder.path / "progress.csv")
    dates = re.findall(r"\d{4}-\d\d-\d\d_\d\d-\d\d-\d\d", text.rstrip().rpartition("\n")[2])
    with suppress(ValueError):
        return bool(dates) and datetime.strptime(dates[-1], when) > datetime.strptime(time, when)
    return False


def _sacred(folder: RunFolder) -> Ending | None:
    """Returns how a run of Sacred ended: `status` and `fail_trace` of `run.json`. sacred/observers/file_storage.py."""
    run = _json_of(folder.path / "run.json")
    if not isinstance(run, Mapping) or "status" not in run:
        return None
    ending = ending_of_word(str(run["status"]), "status")
    trace = run.get("fail_trace")
    if ending is not None and ending.kind == "failed" and isinstance(trace, list):
        return ending_of_error("".join(map(str, trace)), ending.source)
    return ending


def _guild(folder: RunFolder) -> Ending | None:
    """Returns how a run of guild ended, as `guild/run.py: Run.status` tells it from the files in `.guild`."""
    guild = folder.path / ".guild"
    if not (guild / "attrs").is_dir():
        return None
    if (guild / "LOCK.remote").exists():
        return replace(RUNNING, source=".guild/LOCK.remote")
    for name in ("PENDING", "STAGED"):
        if (guild / name).exists():
            return replace(WAITING, source=f".guild/{name}")
    code = text_of(guild / "attrs" / "exit_status").strip()
    if code.lstrip("-").isdecimal():
        source = f"exit_status {code}"
        if int(code) < 0:
            return replace(STOPPED_BY_USER, source=source)
        return replace(FAILED, source=source) if int(code) else replace(COMPLETED, source=source)
    if (guild / "LOCK").exists():  # The process may live: whether it does is known on its machine alone.
        return replace(RUNNING, source=".guild/LOCK")
    if (guild / "attrs" / "started").exists():
        return replace(FAILED, source="no exit_status")
    return None


def _submitit(folder: RunFolder) -> Ending | None:
    """Returns how the job of a Hydra run ended, by the logs of the submitit launcher in `.submitit/JOB`.

    Hydra keeps the job in `hydra.job.id` (hydra_submitit_launcher/submitit_launcher.py).
    """
    launched = [parent / ".submitit" for parent in list(folder.path.parents)[:3]]
    launched = [jobs for jobs in launched if jobs.is_dir()]
    if not launched:
        return None
    job = _at(_yaml_of(folder.path / ".hydra" / "hydra.yaml"), "hydra", "job", "id")
    if not isinstance(job, str) or not re.fullmatch(r"\w+", job):
        return None
    logs = sorted((launched[0] / job).glob(f"{job}_*_log.*"))
    ending = functools.reduce(more_telling, map(ending_of_log, logs), UNKNOWN)
    return None if ending.kind == "unknown" else ending


def _hugging_face(folder: RunFolder) -> Ending | None:
    """Returns that a run of the Trainer stopped before `max_steps`, by the state in its last checkpoint.

    A run that its callbacks stop has `should_training_stop`; one that has written its model or its results beside the
    checkpoints has ended; a checkpoint is overdue where `save_steps` more have room. transformers/trainer_callback.py.
    """
    states = [file for file in folder.results if file.name == "trainer_state.json"]
    if not states or states[-1].parent == folder.path:
        return None
    state = _json_of(states[-1])
    step, last = _at(state, "global_step"), _at(state, "max_steps")
    if not isinstance(step, int) or not isinstance(last, int) or last <= 0:
        return None
    if step >= last:
        return replace(COMPLETED, source=f"{states[-1].name}: step {step} of {last}")
    callbacks = _at(state, "stateful_callbacks")
    may_stop = isinstance(callbacks, Mapping) and "EarlyStoppingCallback" in callbacks
    is_told = bool(_at(callbacks, "TrainerControl", "args", "should_training_stop"))
    every = _at(state, "save_steps")
    is_overdue = isinstance(every, (int, float)) and 1 <= every <= last - step
    written = ("all_results.json", "train_results.json", "model.safetensors", "pytorch_model.bin")
    has_ended = any((folder.path / name).exists() for name in written)
    if may_stop or is_told or has_ended or not is_overdue:
        return None
    return Ending("stopped", "ended before its last step", f"{states[-1].name}, step {step} of {last}")


def _kubernetes(folder: RunFolder) -> Ending | None:
    """Returns how a job of Kubeflow, Katib or Argo ended: `status` of the object that describes it.

    kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle; kubeflow/katib/pkg/apis/.../trial_types.go.
    """
    for file in _status_files(folder):
        document = _document_of(file)
        status = _at(document, "status")
        if not isinstance(status, Mapping) or not isinstance(document, Mapping) or "kind" not in document:
            continue
        if "OOMKilled" in json.dumps(status):
            return ending_of_word("OOMKilled", f"{file.name},")
        words = [status["phase"]] if "phase" in status else _true_conditions(status.get("conditions"))
        endings = [ending_of_word(str(word), f"{file.name},") for word in words]
        known = [ending for ending in endings if ending is not None]
        if known:
            return known[-1]
    return None


def _true_conditions(conditions: object) -> list[object]:
    """Returns the types of the conditions of an object of Kubernetes that hold, in their order."""
    types: list[object] = []
    for condition in conditions if isinstance(conditions, list) else []:
        if isinstance(condition, Mapping) and str(condition.get("status")).lower() == "true":
            types.append(condition.get("type"))
    return types


def _status_file(folder: RunFolder) -> Ending | None:
    """Returns what a file about a run says of its end: `status`, an exit code, an error, or that it has crashed.

    So ClearML (a task's `status`), Comet (`hasCrashed` of an experiment's metadata), W&B (`state` and `exitcode` of
    `wandb-metadata.json` until 0.12), Ray's `trial_status.json`, and scripts of one's own have it.
    """
    endings = []
    for file in _status_files(folder):
        document = _document_of(file)
        if isinstance(document, Mapping):
            endings.append(ending_of_fields(document, file.name))
    known = [ending for ending in endings if ending.kind != "unknown"]
    return functools.reduce(more_telling, known) if known else None


_TOOLS: Sequence[Callable[[RunFolder], Ending | None]] = (
    _ray,
    _guild,
    _sacred,
    _kubernetes,
    _status_file,
    end_in_files,
    _submitit,
    _hugging_face,
)
"""What each tool says of a run, the first that says anything counts."""


def _logs_of(folder: RunFolder) -> Iterator[Path]:
    """Yields the logs that lie beside the results of a run, or in the folder of the run."""
    below = [] if folder.is_file else [folder.path / name for name in _FOLDERS_OF_LOGS]
    for place in dict.fromkeys([folder.path, *below, *(file.parent for file in folder.results)]):
        for file in files_of(place):
            ending = file.suffix.lower()
            is_named = (
                ending in _LOG_ENDINGS or _OF_BATCH.fullmatch(ending) or file.name.lower() in _BARE_LOGS
            )
            is_log = is_named and file not in folder.results
            if folder.is_file and file.stem != folder.name:
                continue
            if is_log and (ending != ".txt" or _TEXTS.fullmatch(file.stem.lower())):
                yield file


def _last_of_series(files: Iterator[Path]) -> list[Path]:
    """Returns files without those that a later one of the same name replaces: `slurm-101.out` after `slurm-100.out`."""
    last: dict[str, tuple[list[int], list[Path]]] = {}
    for file in files:
        ranks = " ".join(re.findall(_RANK, file.stem))
        stem = re.sub(_RANK, "", file.stem)
        series = re.sub(r"\d+", "#", stem) + ranks
        numbers = [int(number) for number in re.findall(r"\d+", stem)]
        latest, same = last.get(series, (numbers, []))
        if numbers > latest:
            last[series] = (numbers, [file])
        elif numbers == latest:
            last[series] = (numbers, [*same, file])
    return [file for _, same in last.values() for file in same]


def _status_files(folder: RunFolder) -> list[Path]:
    names = [file for file in files_of(folder.path) if _STATUS_FILES.fullmatch(file.name.lower())]
    return [file for file in names if file not in folder.results]


def _json_of(file: Path) -> object:
    with suppress(ValueError, RecursionError):
        return json.loads(text_of(file))
    return None


def _yaml_of(file: Path) -> object:
    with suppress(AblateError):
        return document_in(file) if file.is_file() else None
    return None


def _document_of(file: Path) -> object:
    return _json_of(file) if file.suffix.lower() == ".json" else _yaml_of(file)


def _at(document: object, *keys: str) -> object:
    """Returns what stands in a document under keys inside one another; None where there is nothing."""
    for key in keys:
        document = document.get(key) if isinstance(document, Mapping) else None
    return document
