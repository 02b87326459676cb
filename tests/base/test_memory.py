"""The memory that a process may use: the least of machine, limits and container."""

import subprocess
import sys
from pathlib import Path

import pytest

from ablate.base import memory

ASK = "from ablate.base.memory import memory_allowed; print(memory_allowed())"


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not enforce the limit")
@pytest.mark.parametrize("option", ["v", "d"])
def test_a_limit_of_the_process_counts(option: str) -> None:
    limited = f"ulimit -{option} 4000000; exec {sys.executable} -c '{ASK}'"
    done = subprocess.run(["bash", "-c", limited], capture_output=True, text=True, check=True)
    assert int(done.stdout) == 4_000_000 * 1024


@pytest.mark.parametrize("file", ["memory.max", "memory/memory.limit_in_bytes"])
def test_so_does_that_of_a_container(file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "_GROUPS", tmp_path)
    whole = memory.memory_allowed()
    path = tmp_path / file
    path.parent.mkdir(exist_ok=True)
    path.write_text("max\n")
    assert memory.memory_allowed() == whole
    path.write_text("1000000\n")
    assert memory.memory_allowed() == 1_000_000
