"""What each score costs in time and memory; `make bench` writes the figures to results/bench/.

One training step of attention (forward and backward; one example, four heads of width 16, one thread) for every
registered score over the length of the sequence. Inner products use torch's fused kernel, as they do in a study; `dot`
is measured without it too, with all weights in memory, for comparison with scores that have no such kernel. Every
measurement is a process of its own, and the rounds are interleaved, each in another order.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

HEADS, D_K = 4, 16
LENGTHS = [128, 256, 512, 1024, 2048]
TIMED_SECONDS, TIMED_STEPS = 0.5, 3


def resident(field: str) -> int:
    """Bytes of this process in memory now (`VmRSS`) or at most (`VmHWM`); Linux."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(field))


def measure(score: str, kernel: str, length: int) -> dict[str, float]:
    """Seconds of a step, and by how many bytes the first one raises the memory of the process at most."""
    import torch

    from ablate.base.registry import CATALOGUE, PartConfig, register
    from ablate.components.positions import NoPosition
    from ablate.components.sizes import Sizes
    from ablate.components.weightings import Softmax
    from ablate.models.attention import Attention
    from ablate.models.initialise import initialise

    @register("weighting", "explicit")
    class Explicit(Softmax):
        """The softmax, without the fused kernel."""

        fused = False

    CATALOGUE.load_builtin()
    torch.set_num_threads(1)
    sizes = Sizes(d_model=HEADS * D_K, max_len=length)
    settings = {"score": score, "weighting": "softmax" if kernel == "fused" else "explicit"}
    mixer = Attention.Config(num_heads=HEADS, **settings).build(sizes)
    initialise(mixer, seed=0)
    position = NoPosition(PartConfig(), sizes)
    generator = torch.Generator().manual_seed(0)

    def step(length: int) -> float:
        x = torch.randn(1, length, HEADS * D_K, generator=generator, requires_grad=True)
        mixer.zero_grad()
        began = time.perf_counter()
        mixer(x, position).square().mean().backward()
        return time.perf_counter() - began

    step(16)  # What libraries take once.
    Path("/proc/self/clear_refs").write_text("5")  # `VmHWM` starts again from what is in memory now.
    before = resident("VmRSS")
    step(length)
    peak = resident("VmHWM") - before
    taken: list[float] = []
    while sum(taken) < TIMED_SECONDS or len(taken) < TIMED_STEPS:
        taken.append(step(length))
    return {"seconds": statistics.median(taken), "bytes": peak}


def cells(lengths: list[int]) -> list[tuple[str, str, int]]:
    """Score, kernel and length of everything that is measured."""
    from ablate.base.registry import CATALOGUE
    from ablate.components.sizes import Sizes

    CATALOGUE.load_builtin()
    import torch

    rows = []
    q = torch.zeros(1, HEADS, 1, D_K)
    for name in CATALOGUE.names("score"):
        sizes = Sizes(HEADS * D_K, 1, num_heads=HEADS, d_q=D_K, d_k=D_K, d_v=D_K)
        score: Any = CATALOGUE.get("score", name)
        rows.append((name, "explicit" if score.Config().build(sizes).inner(q, q) is None else "fused"))
    return [(*row, length) for row in [*rows, ("dot", "explicit")] for length in lengths]


def in_a_process(cell: tuple[str, str, int]) -> dict[str, float]:
    """`measure` in a process of its own."""
    command = [sys.executable, __file__, "--cell", json.dumps(cell)]
    found: dict[str, float] = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    return found


def table(figures: list[dict[str, Any]]) -> str:
    """Milliseconds and MiB of a step, a line for each score."""
    lengths = sorted({row["seq_len"] for row in figures})
    lines = ["".join([f"{'ms (MiB) at T =':20}", *(f"{length:>18}" for length in lengths)])]
    for score, kernel in dict.fromkeys((row["score"], row["kernel"]) for row in figures):
        texts = [
            f"{1000 * row['median_seconds']:.2f} ({row['median_bytes'] / 2**20:.1f})"
            for row in figures
            if (row["score"], row["kernel"]) == (score, kernel)
        ]
        lines.append("".join([f"{f'{score} ({kernel})':20}", *(f"{text:>18}" for text in texts)]))
    return "\n".join(lines)


def main() -> None:
    """Measures, prints, and writes `scores.json` into the folder that is named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("results/bench"))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--lengths", type=int, nargs="*", default=LENGTHS)
    parser.add_argument("--cell", help="one measurement, for this script's own use")
    options = parser.parse_args()
    if options.cell:
        print(json.dumps(measure(*json.loads(options.cell))))
        return
    from ablate.records.environment import environment

    measured: dict[tuple[str, str, int], list[dict[str, float]]] = {c: [] for c in cells(options.lengths)}
    for index in range(options.rounds):
        order = list(measured)
        random.Random(index).shuffle(order)
        for cell in order:
            measured[cell].append(in_a_process(cell))
    rows: list[dict[str, Any]] = []
    for (score, kernel, length), found in measured.items():
        row: dict[str, Any] = {"score": score, "kernel": kernel, "seq_len": length}
        for unit in ("seconds", "bytes"):
            values = [one[unit] for one in found]
            row |= {unit: values, f"median_{unit}": statistics.median(values)}
        rows.append(row)
    memory = {(row["score"], row["kernel"], row["seq_len"]): row["median_bytes"] for row in rows}
    longest = max(options.lengths)
    figures = {
        "environment": environment("make bench", [Path(__file__)]),
        "step": {"batch_size": 1, "num_heads": HEADS, "d_k": D_K, "threads": 1},
        "additive_over_explicit_dot_memory": memory["additive", "explicit", longest]
        / memory["dot", "explicit", longest],
        "rows": rows,
    }
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "scores.json").write_text(json.dumps(figures, indent=1) + "\n")
    print(table(rows))
    ratio = figures["additive_over_explicit_dot_memory"]
    print(f"peak memory at T = {longest}: additive is {ratio:.2f} × dot without the kernel (target: below 3)")


if __name__ == "__main__":
    main()
