"""What several tests share: the toy study, and the command line."""

import subprocess
import sys
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
