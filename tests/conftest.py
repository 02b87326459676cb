import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import pytest
from hypothesis import HealthCheck, settings

# How fast the machine is must not decide what passes.
settings.register_profile("ablate", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("ablate")
os.environ.setdefault("MPLBACKEND", "agg")
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


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Writes a study file into the test's folder."""

    def write(text: str, name: str = "study.yaml") -> Path:
        path = tmp_path / name
        path.write_text(dedent(text))
        return path

    return write


@pytest.fixture
def toy_study(write: Callable[..., Path]) -> Path:
    return write(TOY_STUDY)


def ablate(*arguments: object, cwd: Path, **kwargs: object) -> subprocess.CompletedProcess[str]:
    """The command line, as a user runs it."""
    command = [sys.executable, "-m", "ablate", *map(str, arguments)]
    kwargs.setdefault("timeout", 120)
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False, **kwargs)  # type: ignore[call-overload,no-any-return]
