"""The GPU kit runs on the CPU, where it claims nothing; what a GPU alone can show is left to one."""

import json
import subprocess
import sys
from pathlib import Path

import kit
import pytest
import torch

PLACE = kit.PLACE


def ran(*words: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(kit.HERE / "kit.py"), *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_parts_take_six_minutes_at_most():
    assert sum(kit.BUDGETS.values()) <= 360


@pytest.mark.slow
def test_a_part_that_fails_or_hangs_has_an_error_and_ends_no_other(monkeypatch, tmp_path):
    (tmp_path / "parts.py").write_text(
        "import sys, time\nif sys.argv[1] == 'hangs':\n    time.sleep(60)\nsys.exit('it broke')\n"
    )
    monkeypatch.setattr(kit, "HERE", tmp_path)
    hung = kit.measured("hangs", "cpu", short=True, budget=1.0)
    assert hung["error"] == "took more than its 1 s"
    broken = kit.measured("breaks", "cpu", short=True, budget=30.0)
    assert broken["error"] == "exit code 1: it broke"


@pytest.mark.slow
@pytest.mark.skipif(torch.cuda.is_available(), reason="needs a machine without a GPU")
@pytest.mark.parametrize("part", kit.BUDGETS)
def test_every_part_runs_on_the_cpu_and_writes_no_figures_of_a_gpu(part, tmp_path):
    before = PLACE.read_bytes() if PLACE.is_file() else None
    out: Path = tmp_path / "figures.json"
    done = ran("--short", "--only", part, "--out", out)
    assert done.returncode == 0, done.stdout + done.stderr
    figures = json.loads(out.read_text())
    assert figures["environment"]["device"] == "cpu"
    assert figures["unseen"] == kit.UNSEEN
    assert "error" not in figures[part]
    assert (PLACE.read_bytes() if PLACE.is_file() else None) == before
