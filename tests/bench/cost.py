"""What the harness costs beside the training itself; `make bench` writes the figures to results/bench/.

Sixteen small trials (two activations x eight seeds) through `ablate run --jobs 2` against `plain_loop.py`, both as
whole processes, in interleaved rounds on an otherwise idle machine; then the fixed costs, and what a trial spends
outside of forward, backward, optimiser and data.
"""

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ABLATE = [sys.executable, "-m", "ablate"]
STUDY = """
name: cost
task: {name: recall, vocab_size: 16, seq_len: 9, num_pairs: 4}
model: {d_model: 32, num_layers: 2, mixer: {num_heads: 4}, feedforward: {activation: relu}}
training: {steps: STEPS, batch_size: 64, lr: 3e-3, weight_decay: 0.01, clip_norm: 1.0, eval_every: 100}
factors: {model.feedforward.activation: [gelu]}
seeds: 8
"""


def seconds(command: list[str], cwd: Path) -> float:
    began = time.perf_counter()
    subprocess.run(command, cwd=cwd, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


def harness(steps: int, folder: Path) -> float:
    (folder / "study.yaml").write_text(STUDY.replace("STEPS", str(steps)))
    shutil.rmtree(folder / "results", ignore_errors=True)
    return seconds([*ABLATE, "run", "study.yaml", "--jobs", "2"], folder)


def plain(steps: int, threads: int, folder: Path) -> float:
    return seconds([sys.executable, str(HERE / "plain_loop.py"), str(steps), str(threads)], folder)


def against_plain(steps: int, rounds: int, folder: Path) -> dict[str, Any]:
    """Both in turn, A B B A; the plain loop with the number of threads that suits it better."""
    threads = min((1, 2), key=lambda count: plain(max(50, steps // 10), count, folder))
    ours: list[float] = []
    theirs: list[float] = []
    for index in range(2 * rounds):
        if index % 4 in (0, 3):
            ours.append(harness(steps, folder))
        else:
            theirs.append(plain(steps, threads, folder))
    ratios = [a / b for a, b in zip(ours, theirs, strict=True)]
    found = {"steps": steps, "plain_threads": threads, "ablate_seconds": ours, "plain_seconds": theirs}
    return found | {"ratios": ratios, "ratio": statistics.median(ratios)}


def fixed(folder: Path) -> dict[str, float]:
    """Seconds of what does not grow with the training."""
    costs = {"run_of_one_step": harness(1, folder)}
    costs["all_cached"] = seconds([*ABLATE, "run", "study.yaml", "--jobs", "2"], folder)
    with (folder / "study.yaml").open("a") as file:
        file.write("notes: changed, so that the report is written again\n")
    costs["all_cached_new_report"] = seconds([*ABLATE, "run", "study.yaml", "--jobs", "2"], folder)
    costs["help"] = min(seconds([*ABLATE, "run", "--help"], folder) for _ in range(5))
    return costs


def inside(steps: int) -> dict[str, float]:
    """Share of one trial's time by kind of work, timed around each call on one thread."""
    import torch

    from ablate.base.registry import CATALOGUE
    from ablate.core.trial import Trial
    from ablate.models.build import build_model
    from ablate.training import loop
    from ablate.training.optimizers import WeightDecay
    from ablate.training.trial import parse

    CATALOGUE.load_builtin()
    torch.set_num_threads(1)
    training = {"steps": steps, "lr": 3e-3, "weight_decay": 0.01, "clip_norm": 1.0}
    task = {"name": "recall", "seq_len": 9, "num_pairs": 4}
    config = parse({"task": task, "model": {"d_model": 32, "num_layers": 2}, "training": training})
    task = config.task.build()
    model = build_model(config.model, task.signature, seed=0)
    spent = dict.fromkeys(("forward", "backward", "optimiser", "data"), 0.0)

    def timed(kind: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def run(*args: Any, **kwargs: Any) -> Any:
            began = time.perf_counter()
            result = call(*args, **kwargs)
            spent[kind] += time.perf_counter() - began
            return result

        return run

    def batches(*args: Any) -> Any:
        draw = timed("data", type(task).train_batches(task, *args).__next__)
        while True:
            yield draw()

    model.forward = timed("forward", model.forward)  # type: ignore[method-assign]
    task.loss = timed("forward", task.loss)
    task.measure = timed("forward", task.measure)
    task.train_batches = batches
    task.split = timed("data", task.split)
    original = torch.Tensor.backward
    torch.Tensor.backward = timed("backward", original)  # type: ignore[method-assign]
    # Decay and clipping are parts of the update.
    for owner, name in ((loop, "clip_gradients"), (WeightDecay, "shrink"), (WeightDecay, "add_gradient")):
        setattr(owner, name, timed("optimiser", getattr(owner, name)))
    optimizer = type(config.training.optimizer.build(list(model.parameters())))
    optimizer.step = timed("optimiser", optimizer.step)
    began = time.perf_counter()
    loop.train(model, task, config.training, Trial("bench", {}, 0), lambda step, metrics, state=None: False)
    total = time.perf_counter() - began
    torch.Tensor.backward = original  # type: ignore[method-assign]
    shares = {kind: value / total for kind, value in spent.items()}
    return shares | {"other": 1 - sum(shares.values()), "milliseconds_per_step": 1000 * total / steps}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("results/bench"))
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--steps", type=int, nargs="*", default=[400, 2000])
    options = parser.parse_args()
    from ablate.records.environment import environment

    figures: dict[str, Any] = {"environment": environment("make bench", [HERE / "cost.py"])}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        plain(20, 1, folder)  # Warms the disk cache for both.
        figures["fixed_seconds"] = fixed(folder)
        figures["against_plain"] = [against_plain(steps, options.rounds, folder) for steps in options.steps]
    figures["inside_a_trial"] = inside(1000)
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "cost.json").write_text(json.dumps(figures, indent=1) + "\n")
    print(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
