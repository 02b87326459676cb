"""Studies and calls that are refused: each problem with its place, the rule, what was given and is allowed, a hint.

They stand in `tests/freeze`, in `refused.jsonl` and `calls.jsonl`, and what is said of each is recorded beside them. In
a process of its own, since parts that other tests have registered would be among what is allowed.
"""

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize("name", ["refused", "refused-models", "refused-calls"])
def test_every_problem_is_the_recorded_one(name):
    command = [sys.executable, "-m", "tests.freeze", name]
    done = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
