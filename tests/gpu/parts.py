"""The parts of the GPU kit, each of which `kit.py` runs in a process of its own: `python parts.py PART DEVICE`."""

import argparse
import json
import math
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ABLATE = [sys.executable, "-m", "ablate"]
TOLERANCE = 1e-3
"""The relative difference of a loss after a few steps, beyond which CPU and CUDA do not compute the same."""
Figures = dict[str, Any]
MODEL = {"d_model": 32, "num_layers": 2, "mixer": {"num_heads": 2}}
TRAINING = {"steps": 4, "batch_size": 16, "eval_every": 4}
TASKS = ("recall", "copy", "characters", "digits")
"""Tasks on which a part may be tried: one reads a source, one suits causal models."""
SHORT = 3
"""Parts and tasks of a short run."""


def workload() -> Any:
    """Returns the built-in workload."""
    from ablate.base.registry import CATALOGUE
    from ablate.training.workload import SequenceWorkload

    CATALOGUE.load_builtin()
    made = SequenceWorkload()
    made.load_parts()
    return made


def trained(config: Mapping[str, Any], device: str, **fields: Any) -> Any:
    """Returns the record of a training on a device."""
    from ablate.core.trial import Trial
    from ablate.study.schema import config_model

    made = workload()
    training = {**TRAINING, **config.get("training", {}), "device": device}
    data = {"task": "recall", "model": MODEL, **config, "training": training}
    resolved = config_model(made).model_validate(data).model_dump()
    made.check(resolved)
    emit = fields.pop("emit", lambda step, metrics, state=None: False)
    return made.train(Trial("kit", resolved, 0, **fields), emit)


def compared(configs: Mapping[str, Mapping[str, Any]], device: str) -> Figures:
    """Trains each config on the CPU and on the device, and returns by how much their losses differ."""
    differences: dict[str, float] = {}
    failures: dict[str, str] = {}
    for name, config in configs.items():
        try:
            losses = [trained(config, where).metrics for where in ("cpu", device)]
            differences[name] = max(_difference(*losses, key) for key in ("initial_loss", "test_loss"))
        except Exception as error:
            failures[name] = f"{type(error).__name__}: {str(error)[:300]}"
    apart = {name: value for name, value in differences.items() if value > TOLERANCE}
    figures: Figures = {
        "compared": len(differences),
        "largest relative difference of a loss": max(differences.values(), default=math.nan),
        "beyond tolerance": apart,
    }
    if failures or apart:
        figures["error"] = f"{len(failures)} failed, {len(apart)} differ by more than {TOLERANCE:g}"
        figures["failed"] = failures
    return figures


def _difference(one: Mapping[str, Any], other: Mapping[str, Any], key: str) -> float:
    """Returns the relative difference of a loss; 0 where neither run has one."""
    a = one[key]
    b = other[key]
    if a is None or b is None:
        return 0.0 if a is b else math.inf
    return abs(a - b) / max(abs(a), abs(b), 1e-9)


def parts(device: str, short: bool) -> Figures:
    """Compares a small model around each part."""
    from small import section_with

    from ablate.base.registry import CATALOGUE
    from ablate.models.reference import places

    workload()
    configs: dict[str, Mapping[str, Any]] = {}
    for slot in places():
        for name in CATALOGUE.names(slot):
            model = section_with(slot, name).model_dump()
            configs[f"{slot} {name}"] = _on_some_task({"model": model})
    for slot in ("optimizer", "schedule"):
        for name in CATALOGUE.names(slot):
            configs[f"{slot} {name}"] = {"training": {slot: name}}
    return compared(dict([*configs.items()][:: len(configs) // SHORT if short else 1]), device)


def _on_some_task(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns a config with the first task that its model can do."""
    return _first_valid([{"task": task, **config} for task in TASKS])


def _with_some_topology(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns a config with a small model of the first topology that can do its task."""
    topologies = ("encoder", "decoder", "encoder_decoder")
    return _first_valid([{**config, "model": {**MODEL, "topology": topology}} for topology in topologies])


def _first_valid(configs: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """Returns the first config that can be built; the first of all where none can."""
    from ablate.base.errors import Invalid
    from ablate.study.schema import config_model

    made = workload()
    for config in configs:
        data = {"model": MODEL, **config, "training": TRAINING}
        try:
            made.check(config_model(made).model_validate(data).model_dump())
        except Invalid:
            continue
        return config
    return configs[0]


def tasks(device: str, short: bool) -> Figures:
    """Compares a small model on each task that needs no file."""
    from pydantic import ValidationError

    from ablate.base.registry import CATALOGUE
    from ablate.study.schema import config_model

    made = workload()
    configs: dict[str, Mapping[str, Any]] = {}
    skipped: list[str] = []
    for name in CATALOGUE.names("task"):
        try:
            config_model(made).model_validate({"task": name})
        except ValidationError:
            skipped.append(name)
            continue
        configs[name] = _with_some_topology({"task": name})
    figures = compared(dict([*configs.items()][:: len(configs) // SHORT if short else 1]), device)
    return {**figures, "need a file of one's own": skipped}


def determinism(device: str, short: bool) -> Figures:
    """Trains one trial three times, and says whether all numbers are the same, bit for bit."""
    config = {"training": {"steps": 20 if short else 200}}
    metrics = [_repeatable(trained(config, device)) for _ in range(3)]
    same = metrics[0] == metrics[1] == metrics[2]
    return {"equal": same} if same else {"equal": same, "error": f"{metrics}"}


def resume(device: str, short: bool) -> Figures:
    """Trains to the end, and again from a state that it saved halfway."""
    steps = 20 if short else 200
    config = {"training": {"steps": steps, "eval_every": steps // 4}}
    states: list[bytes] = []

    def emit(step: int, metrics: Mapping[str, float], state: bytes | None = None) -> bool:
        if state is not None:
            states.append(state)
        return False

    whole = trained(config, device, emit=emit, save_every=steps // 2)
    resumed = trained(config, device, save_every=steps // 2, state=states[0])
    metrics = [_repeatable(whole), _repeatable(resumed)]
    same = metrics[0] == metrics[1]
    return {"equal": same} if same else {"equal": same, "error": f"{metrics}"}


def _repeatable(record: Any) -> dict[str, float | None]:
    """Returns the metrics of a record that may not differ between repeats."""
    from ablate.core.metric import FREE

    return {name: value for name, value in record.metrics.items() if not name.endswith(FREE)}


def study(folder: Path, device: str, **changes: Any) -> Path:
    """Writes a study of two activations at a small width."""
    folder.mkdir()
    data = {
        "name": "kit",
        "task": "recall",
        "model": MODEL,
        "training": {"steps": 100, "device": device},
        "factors": {"model.norm": ["rms"]},
        "seeds": 3,
    }
    (folder / "study.yaml").write_text(json.dumps(data | changes))
    return folder


def called(folder: Path, *words: str) -> float:
    """Runs a command of ablate in a folder, and returns its seconds."""
    began = time.monotonic()
    done = subprocess.run([*ABLATE, *words], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError((done.stdout + done.stderr).strip()[-500:])
    return time.monotonic() - began


def jobs(device: str, short: bool) -> Figures:
    """Runs a study with one worker and with two on one device: the numbers are the same."""
    from ablate import load

    training = {"steps": 10 if short else 300, "device": device}
    seconds: dict[str, float] = {}
    numbers: list[Any] = []
    for number in ("1", "2"):
        folder = study(Path(f"jobs-{number}"), device, training=training)
        seconds[number] = called(folder, "run", "study.yaml", "--jobs", number)
        trials = load(folder / "results" / "kit").trials
        numbers.append(trials.sort_values(["variant", "seed"])["test_loss"].tolist())
    figures: Figures = {"s by workers": seconds, "equal": numbers[0] == numbers[1]}
    return figures if figures["equal"] else {**figures, "error": f"{numbers}"}


def width_64(device: str, short: bool) -> Figures:
    """Times `ablate run` of six trainings of width 64, and the bare loop of their steps."""
    import torch

    from ablate.study.schema import config_model

    torch.set_num_threads(1)  # As trials have it.
    steps = 20 if short else 300
    model = {"d_model": 64, "num_layers": 2, "mixer": {"num_heads": 4}}
    training = {"steps": steps, "eval_every": steps, "device": device}
    folder = study(Path("width"), device, model=model, training=training)
    seconds = called(folder, "run", "study.yaml", "--jobs", "1")
    made = workload()
    data = {"task": "recall", "model": model, "training": training}
    step = made.operations(config_model(made).model_validate(data).model_dump())["step"]
    for _ in range(steps // 10):
        step.run()
    _wait(device)
    began = time.perf_counter()
    for _ in range(steps):
        step.run()
    _wait(device)
    bare = time.perf_counter() - began
    config = {"model": model, "training": training}
    trained(config, device)
    began = time.perf_counter()
    trained(config, device)
    alone = time.perf_counter() - began
    return {
        "ms of a bare step": 1000 * bare / steps,
        "s of ablate run, six trainings": seconds,
        "ablate run over bare steps": seconds / (6 * bare),
        "one training, with data and evaluation, over bare steps": alone / bare,
    }


def _wait(device: str) -> None:
    """Waits until the device has done what it was given."""
    import torch

    if device == "cuda":
        torch.cuda.synchronize()


def gpt(device: str, short: bool) -> Figures:
    """Times a GPT as one's own code: its process by itself, and as a trial, by turns. On the CPU it is a tiny one."""
    is_large = device == "cuda" and not short
    size = {"layers": 12, "width": 768, "heads": 12, "length": 1024, "batch": 8, "vocabulary": 50304}
    if not is_large:
        size = {"layers": 1, "width": 16, "heads": 2, "length": 16, "batch": 2, "vocabulary": 64}
    settings = {**size, "steps": 30 if is_large else 5}
    folder = Path("gpt")
    folder.mkdir()
    shutil.copy(HERE / "gpt.py", folder / "gpt.py")
    flags = " ".join(f"--{name} {{{name}}}" for name in settings)
    read = {"loss": r"^loss (\S+)", "train_step_seconds": r"^step (\S+)"}
    command = f"{sys.executable} gpt.py {flags} --seed {{seed}}"
    data = {
        "name": "gpt",
        "workload": {"command": command, "read": read, "resources": {"gpu": device == "cuda"}},
        "config": settings,
        "metrics": {"loss": "min", "train_step_seconds": "min"},
        "factors": {"config.heads": [1]},
        "seeds": 3,
    }
    (folder / "study.yaml").write_text(json.dumps(data))
    return {"parameters": _parameters(size), **_timed_by_turns(folder, rounds=2 if is_large else 1)}


def _parameters(size: Mapping[str, int]) -> int:
    """Returns the parameters of the GPT of `gpt.py`, whose output shares its weights with the embedding."""
    width = size["width"]
    return (size["vocabulary"] + size["length"]) * width + size["layers"] * (12 * width**2 + 13 * width)


def _timed_by_turns(folder: Path, rounds: int) -> Figures:
    """Returns what a trial of the baseline takes over its command by itself."""
    from ablate.core.trial import Trial
    from ablate.pipeline.prepare import prepare
    from ablate.session.options import Options
    from ablate.stages import STAGES
    from ablate.study.document import read_document

    prepared = prepare(read_document(folder / "study.yaml"), STAGES, Options(results=folder / "results"))[0]
    made = prepared.workload
    made.freeze()
    config = prepared.variants[0].first_config
    bare: list[float] = []
    runs: list[float] = []
    steps: list[float] = []
    for _ in range(rounds):
        began = time.perf_counter()
        subprocess.run([*made.command_line(config, 0)], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        bare.append(time.perf_counter() - began)
        timed = made.time_run(Trial("kit-timed", config, 0))
        if timed.record.status != "completed":
            raise RuntimeError(timed.record.reason)
        runs.append(timed.seconds)
        steps.append(timed.record.metrics["train_step_seconds"] or math.nan)
    return {
        "s of the process by itself": bare,
        "s of the same as a trial": runs,
        "trial over process": statistics.median(runs) / statistics.median(bare),
        "s of a step": steps,
    }


def scores(device: str, short: bool) -> Figures:
    """Times attention scores at length 1,024 by `ablate bench`; on the CPU at length 32."""
    is_long = device == "cuda" and not short
    length = 1024 if is_long else 32
    kinds = ["dot", "bilinear", "cosine", "gaussian", "additive"] if is_long else ["dot"]
    folder = study(
        Path("scores"),
        device,
        task={"name": "characters", "seq_len": length},
        model={
            "topology": "decoder",
            "d_model": 64,
            "num_layers": 2,
            "mixer": {"name": "attention", "num_heads": 4},
        },
        training={"steps": 100, "batch_size": 8, "device": device},
        factors={"model.mixer.score": kinds},
        speed={"calls": ["step"], "processes": 5},
    )
    called(folder, "bench", "study.yaml")
    import pandas as pd

    speed = pd.read_csv(folder / "results" / "kit" / "speed.csv")
    rows = speed[speed["metric"] == "step_seconds"]
    ratios = {
        row.variant: [row.ratio, row.ci_low, row.ci_high, row.value_variant] for row in rows.itertuples()
    }
    return {
        "length": length,
        "ratio, interval, s of a step": ratios,
        "noise floor": rows["noise_floor"].max(),
    }


PARTS: Mapping[str, Callable[[str, bool], Figures]] = {
    "parts": parts,
    "tasks": tasks,
    "determinism": determinism,
    "resume": resume,
    "jobs": jobs,
    "width_64": width_64,
    "gpt": gpt,
    "scores": scores,
}


def main() -> None:
    """Runs one part, and writes its figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("device", choices=["cpu", "cuda"])
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    figures = PARTS[arguments.part](arguments.device, arguments.short)
    arguments.out.write_text(json.dumps(figures))


if __name__ == "__main__":
    main()
