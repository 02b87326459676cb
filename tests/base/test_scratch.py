"""Temporary folders: those of killed processes go, those in use stay."""

import os
import subprocess
import sys
from pathlib import Path

HOLDS = """
import sys, time
from ablate.base.scratch import scratch
with scratch("test") as folder:
    open(f"{folder}/file", "w").close()
    print(folder, flush=True)
    time.sleep(float(sys.argv[1]))
"""


def holding(place, seconds):
    """A process that holds a folder below `place` for some seconds, and the folder."""
    command = [sys.executable, "-c", HOLDS, str(seconds)]
    env = os.environ | {"TMPDIR": str(place)}
    process = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True)
    with process.stdout as printed:
        return process, Path(printed.readline().strip())


def test_what_a_kill_leaves_goes_and_what_is_in_use_stays(tmp_path):
    (tmp_path / "ablate-test-file").touch()
    (tmp_path / "ablate-test-link").symlink_to(tmp_path)
    killed, left = holding(tmp_path, 60)
    living, used = holding(tmp_path, 60)
    killed.kill()
    killed.wait()
    (left / "protected").mkdir()
    (left / "protected/file").touch()
    (left / "protected").chmod(0o500)
    assert (left / "file").exists()
    last, ended = holding(tmp_path, 0)
    assert last.wait() == 0
    living_has = (used / "file").exists()
    living.kill()
    living.wait()
    assert living_has
    assert {path.name for path in tmp_path.iterdir()} == {"ablate-test-file", "ablate-test-link", used.name}
    assert not ended.exists()
