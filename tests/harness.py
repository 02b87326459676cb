"""What several tests share: the toy study, and the command line."""

import atexit
import functools
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

TOY = Path(__file__).parent / "toy.py"

TOY_STUDY = f"""
name: toy
workload: toy
plugins: [{TOY}]
task: {{name: coin}}
factors:
  model.effect: [0.2]
  model.noise: [0.1, 0.3]
seeds: 3
"""


def ablate(*arguments: object, cwd: Path, **kwargs: object) -> subprocess.CompletedProcess[str]:
    """The command line, as a user runs it."""
    command = [sys.executable, "-m", "ablate", *map(str, arguments)]
    kwargs.setdefault("timeout", 120)
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False, **kwargs)  # type: ignore[call-overload,no-any-return]


@functools.cache
def _empty_database() -> Path:
    from ablate.tracking.database import ensure_database

    folder = tempfile.mkdtemp(prefix="ablate-mlflow-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = Path(folder) / "mlflow.db"
    ensure_database(path, repair=True, warn=print)
    return path


def with_database(store: Path) -> Path:
    """`store` with an empty database of MLflow's in it unless it has one, copied: making one takes a second."""
    store.mkdir(parents=True, exist_ok=True)
    if not (store / "mlflow.db").exists():
        shutil.copy(_empty_database(), store / "mlflow.db")
    return store
