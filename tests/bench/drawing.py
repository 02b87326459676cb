"""What drawing training data costs beside training on them, for each task at the size that it recommends.

    python tests/bench/drawing.py --out results/bench

CPU time of one thread, blocks of drawing and of training in turn; a share of .05 is 5 % of a step.
"""

from __future__ import annotations

import argparse
import json
from itertools import islice
from pathlib import Path
from statistics import median
from time import process_time

import torch

from ablate.base.registry import CATALOGUE
from ablate.models.build import build_model
from ablate.training.operations import Repeated
from ablate.training.trial import parse

BLOCKS, STEPS = 7, 20


def share(name: str) -> dict[str, float]:
    """Milliseconds of a batch that is drawn and of a step, medians over blocks, and their ratio."""
    recommended = CATALOGUE.get("task", name).recommended
    config = parse({**recommended, "task": {"name": name, **recommended["task"]}})
    task = config.built_task()
    batches = task.train_batches(0, config.training.batch_size, "cpu")
    model = build_model(config.model, task.signature, seed=0)
    step = Repeated(model, task, config.training, next(batches)).step
    drawn, trained = [], []
    for _ in range(BLOCKS):
        start = process_time()
        for _ in islice(batches, STEPS):
            pass
        middle = process_time()
        for _ in range(STEPS):
            step()
        drawn.append((middle - start) / STEPS)
        trained.append((process_time() - middle) / STEPS)
    # Tasks draw many examples at a time, so that a block may have drawn for the next ones, too.
    batch, training = sum(drawn) / BLOCKS, median(trained)
    return {"batch_ms": 1000 * batch, "step_ms": 1000 * training, "share": batch / training}


def main() -> None:
    """Every task that recommends a size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    out = parser.parse_args().out
    torch.set_num_threads(1)
    CATALOGUE.load_builtin()
    names = [name for name in CATALOGUE.names("task") if CATALOGUE.get("task", name).recommended]
    found = {name: {key: round(value, 4) for key, value in share(name).items()} for name in names}
    for name, of in sorted(found.items(), key=lambda item: -item[1]["share"]):
        print(f"{name:20} {of['batch_ms']:8.3f} ms a batch {of['step_ms']:8.2f} ms a step {of['share']:7.1%}")
    (out / "drawing.json").write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
