"""Studies of training code that is not ours: the folder of the code, and a study for each way to run it."""

from pathlib import Path
from typing import Any

OWN = Path(__file__).parent / "external" / "own"
READ = {"val_loss": r"val loss (\S+)", "step": r"^step (\d+)"}
OPTIONS: dict[str, dict[str, Any]] = {
    "function": {"function": "train.py:train"},
    "command": {
        "command": "python walk.py --rate {rate} --act {act} --dead {dead} --steps {steps} --seed {seed}",
        "read": READ,
    },
    "script": {"script": "walk.py", "seed": "SEED", "read": READ},
}
CONFIGS: dict[str, dict[str, Any]] = {
    "function": {"rate": 0.5, "steps": 4},
    "command": {"rate": 0.5, "act": "relu", "dead": 0, "steps": 6},
    "script": {"RATE": 0.5, "STEPS": 6},
}
METRICS = {
    kind: {"accuracy" if kind == "function" else "val_loss": "max" if kind == "function" else "min"}
    for kind in OPTIONS
}
FACTORS: dict[str, dict[str, Any]] = {
    "function": {"config.rate": [1.0]},
    "command": {"config.act": ["gelu"]},
    "script": {"config.RATE": [1.0]},
}


def own_study(kind: str, **changes: Any) -> dict[str, Any]:
    """A study of two variants on three seeds, with other sections; it is written beside a copy of the code."""
    study = {
        "name": "own",
        "workload": OPTIONS[kind],
        "config": CONFIGS[kind],
        "metrics": METRICS[kind],
        "factors": FACTORS[kind],
        "seeds": 3,
    }
    return study | changes
