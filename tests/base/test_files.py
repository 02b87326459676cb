"""Temporary files: which are left over, and that nothing else is ever taken for one."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ablate.base.files import _place, leftovers, remove_leftovers, replacing, write_text

DAY = 24 * 3600
# Writes a file until it is told to end; in another namespace of processes, its number is 1 or 2.
WRITER = """
import sys
from pathlib import Path
from ablate.base.files import replacing
with replacing(Path(sys.argv[1])) as temporary:
    temporary.write_text("half")
    print(temporary.name, flush=True)
    sys.stdin.read()
"""
APART = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child", "--mount-proc"]


def aged(path: Path, seconds: float) -> Path:
    path.touch()
    os.utime(path, times=(time.time() - seconds, time.time() - seconds))
    return path


def ended() -> int:
    """The number of a process that is gone."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def writer(path: Path, *before: str) -> subprocess.Popen[str]:
    command = [*before, sys.executable, "-c", WRITER, str(path)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def test_what_a_killed_process_was_writing_goes_and_what_one_writes_stays(tmp_path: Path) -> None:
    running = writer(tmp_path / "file.txt")
    assert running.stdout is not None
    name = running.stdout.readline().strip()
    assert leftovers(tmp_path) == []
    running.kill()
    running.communicate()
    assert leftovers(tmp_path) == [tmp_path / name]
    remove_leftovers(tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "name",
    [
        *(".notes.2024-05-01.md", ".env.99999999-prod", ".backup.99999999-abcdefgh.json"),
        *("notes.ablate-{here}-{pid}-abcdefgh.part", ".x.json.ablate-{here}-{pid}-abcdefgh.part.txt"),
        *(".x.json.ablate-{here}-abcdefgh.part", ".x.json.ablate-0123-{pid}-abcdefgh.part"),
    ],
)
def test_names_that_we_do_not_make_are_left_alone(tmp_path: Path, name: str) -> None:
    path = aged(tmp_path / name.format(here=_place(), pid=ended()), 10 * DAY)
    remove_leftovers(tmp_path)
    assert path.exists()


@pytest.mark.parametrize(
    "name", [".x.json.ablate-0123456789ab-{pid}-abcdefgh.part", ".x.json.{pid}-abcdefgh.part"]
)
def test_what_was_written_elsewhere_goes_by_its_age_alone(tmp_path: Path, name: str) -> None:
    path = tmp_path / name.format(pid=ended())
    for seconds, goes in ((0, False), (0.9 * DAY, False), (-10 * DAY, False), (1.1 * DAY, True)):
        aged(path, seconds)
        assert leftovers(tmp_path) == ([path] if goes else [])


def test_links_are_not_followed(tmp_path: Path) -> None:
    name = f".x.json.ablate-{_place()}-{ended()}-abcdefgh.part"
    (tmp_path / "elsewhere").mkdir()
    kept = aged(tmp_path / "elsewhere" / name, 10 * DAY)
    (tmp_path / "folder").symlink_to("elsewhere")
    (tmp_path / name).symlink_to(kept)
    (tmp_path / f"{name[:-6]}0.part").mkdir()
    for folder in (tmp_path, tmp_path / "folder"):
        remove_leftovers(folder)
    assert kept.exists()
    assert (tmp_path / name).is_symlink()


def test_the_file_of_a_process_in_another_container_stays(tmp_path: Path) -> None:
    """Really in one: the number of its process means another one here, or none."""
    if not shutil.which("unshare") or subprocess.run([*APART, "true"], capture_output=True).returncode:
        pytest.skip("this machine allows no namespaces")
    running = writer(tmp_path / "file.txt", *APART)
    assert running.stdout is not None
    path = tmp_path / running.stdout.readline().strip()
    remove_leftovers(tmp_path)
    assert path.exists()
    running.communicate("")
    assert [path.name for path in tmp_path.iterdir()] == ["file.txt"]


def test_names_as_long_as_the_system_allows_are_written(tmp_path: Path) -> None:
    for name in ("x" * 255, "é" * 127):
        write_text(tmp_path / name, "text")
        assert (tmp_path / name).read_text() == "text"


def test_an_error_leaves_the_old_file_and_no_other(tmp_path: Path) -> None:
    write_text(tmp_path / "file", "old")
    with pytest.raises(UnicodeEncodeError), replacing(tmp_path / "file") as temporary:
        temporary.write_text("half\ud800", encoding="utf-8")
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"file": "old"}
