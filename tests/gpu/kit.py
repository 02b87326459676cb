"""What only a machine with a GPU can show, in six minutes: `python tests/gpu/kit.py`, as `run.sh` calls it.

Each part runs in a process of its own, for so many seconds at most, and leaves figures or an error: a part that fails
ends no other. With a GPU the figures are written to results/bench/gpu.json. Without one, nothing is written unless
`--out` says where: the same parts run on the CPU, which shows that the kit works, and no more.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PLACE = ROOT / "results" / "bench" / "gpu.json"
BUDGETS = {
    "parts": 90,
    "tasks": 35,
    "determinism": 20,
    "resume": 20,
    "jobs": 40,
    "width_64": 40,
    "gpt": 45,
    "scores": 70,
}
"""Part → the seconds that it may take: six minutes in all."""
PATIENCE = 4
"""How many times as long a short run may take, as on two cores that others use."""
UNSEEN = "needs a GPU: this is the CPU against itself"


def environment(device: str) -> dict[str, object]:
    """Returns the card, and the versions that were measured."""
    import torch

    names = {"device": device, "python": sys.version.split()[0], "torch": torch.__version__}
    if device == "cuda":
        names |= {"card": torch.cuda.get_device_name(), "cuda": torch.version.cuda or ""}
    return {**names, "cores": os.cpu_count()}


def measured(part: str, device: str, *, short: bool, budget: float) -> dict[str, object]:
    """Returns the figures of a part, or its error; and the seconds that it took."""
    command = [sys.executable, str(HERE / "parts.py"), part, device, *(["--short"] if short else [])]
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "figures.json"
        process = subprocess.Popen(
            [*command, "--out", str(place)],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
            env=os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests")])},
        )
        result: dict[str, object] = {}
        try:
            printed, _ = process.communicate(timeout=budget)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            printed, _ = process.communicate()
            result["error"] = f"took more than its {budget:g} s"
        if place.is_file():
            result |= json.loads(place.read_text())
        elif "error" not in result:
            lines = printed.strip().splitlines() or ["it printed nothing"]
            result["error"] = f"exit code {process.returncode}: {lines[-1]}"
            result["printed"] = lines[-20:]
    return {**result, "seconds": round(time.monotonic() - began, 1)}


def main() -> int:
    """Runs the parts, writes what they found, and returns 1 where one has failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, help="where to write the figures of a machine without a GPU")
    parser.add_argument("--only", nargs="+", choices=BUDGETS, default=[*BUDGETS])
    parser.add_argument("--short", action="store_true", help="less of each part, as the tests do")
    arguments = parser.parse_args()
    import torch

    device = "cuda" if torch.cuda.is_available() else "cpu"
    place = PLACE if device == "cuda" and not arguments.short else arguments.out
    found: dict[str, object] = {"environment": environment(device)}
    if device == "cpu":
        found["unseen"] = UNSEEN
    failed = False
    for part in arguments.only:
        print(f"{part}, at most {BUDGETS[part]} s …", flush=True)
        budget = BUDGETS[part] * (PATIENCE if arguments.short else 1)
        result = measured(part, device, short=arguments.short, budget=budget)
        found[part] = result
        failed = failed or "error" in result
        print(json.dumps(result), flush=True)
        # After each part: a machine may be taken away at any time.
        if place is not None:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(json.dumps(found, indent=1) + "\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
