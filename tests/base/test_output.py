"""Characters that a terminal cannot show."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from harness import TOY_STUDY, ablate, with_database

from ablate.base.output import plain

UGLY = "größe → ½ 表 ▲"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("−.02 [−.04, .01] …", "-.02 [-.04, .01] ..."),
        ("größe", "gro\\xdfe"),
        ("é½", "e12"),
        ("表\udcff", r"\u8868\udcff"),
    ],
)
def test_text_in_ascii(text: str, expected: str) -> None:
    assert plain(text) == expected


def test_any_text_is_printed_by_any_way_in_any_encoding() -> None:
    code = (
        "import sys, click\nfrom rich.console import Console\nfrom ablate.base.output import forgive\nforgive()\n"
        "for say in (print, click.echo, Console().print, lambda text: print(text, file=sys.stderr)):\n"
        f"    say({UGLY!r} + chr(0xdcff))\n"
    )
    for encoding in ("ascii", "latin-1", "cp1252", "utf-8", "ascii:strict", "utf-8:strict"):
        env = os.environ | {"PYTHONIOENCODING": encoding}
        done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr
        assert len(done.stdout.splitlines() + done.stderr.splitlines()) == 4


LATIN = {"PYTHONIOENCODING": "latin-1"}
C = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}


def run_all(folder: Path, changes: dict[str, str], *commands: tuple[object, ...]) -> str:
    """What the commands print on a terminal that shows little."""
    study = folder / "study.yaml"
    study.write_text(f"{TOY_STUDY}question: {UGLY}\ntraining: {{note: {UGLY}}}\n", encoding="utf-8")
    said = ""
    for command in commands:
        done = ablate(*command, cwd=folder, env=os.environ | changes, errors="replace")
        assert done.returncode in (0, 2), (command, done.stderr)
        assert "Traceback" not in done.stdout + done.stderr
        said += done.stdout
    return said


@pytest.mark.slow
def test_a_run_prints_its_verdicts_where_the_terminal_shows_little(tmp_path: Path) -> None:
    with_database(tmp_path / "results/store")
    said = run_all(tmp_path, LATIN, ("run", "study.yaml", "--jobs", 0, "--seeds", 2), ("run", "--help"))
    assert "accuracy: variant - baseline" in said


@pytest.mark.slow
@pytest.mark.parametrize("changes", [LATIN, C], ids=["latin-1", "C"])
def test_every_command_prints_where_the_terminal_shows_little(
    tmp_path: Path, changes: dict[str, str]
) -> None:
    with_database(tmp_path / "results/store")
    commands: list[tuple[object, ...]] = [
        ("plan", "study.yaml"), ("run", "study.yaml", "--jobs", 0), ("run", "study.yaml"), ("report", "study.yaml"),
        ("run", "study.yaml", "--only", UGLY), ("show", "0"), ("list", "activation"), ("schema",), ("new", UGLY),
        ("clean",),
    ]  # fmt: skip
    assert "accuracy: variant - baseline" in run_all(tmp_path, changes, *commands)


@pytest.mark.slow
def test_what_libraries_print_after_the_end_is_not_shown(tmp_path: Path) -> None:
    """A message of C code at the exit of the process, as triton's `nanobind: leaked 4 instances!`."""
    (tmp_path / "leaky.py").write_text(
        "import ctypes\nlibc = ctypes.CDLL(None)\nlibc.strdup.restype = ctypes.c_void_p\n"
        "text = ctypes.c_void_p(libc.strdup(b'nanobind: leaked 4 instances!'))\n"
        "assert libc.__cxa_atexit(libc.perror, text, None) == 0\n"
    )
    alone = subprocess.run(
        [sys.executable, "leaky.py"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert "leaked 4 instances" in alone.stderr
    (tmp_path / "study.yaml").write_text(TOY_STUDY.replace("plugins: [", "plugins: [leaky.py, "))
    done = ablate("plan", "study.yaml", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "9 trials to train" in done.stdout
    refused = ablate("plan", "study.yaml", "--set", "model.nois=1", cwd=tmp_path)
    assert refused.returncode == 2
    assert "model.nois: unknown key" in refused.stderr
    assert "leaked" not in refused.stderr


def test_a_closed_standard_output_is_no_fault(tmp_path: Path) -> None:
    command = 'exec "$0" -m ablate guide verdicts >&-'
    closed = subprocess.run(
        ["sh", "-c", command, sys.executable], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (closed.returncode, closed.stderr) == (0, "")
