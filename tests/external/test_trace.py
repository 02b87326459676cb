"""Paths of the original in a command line become those of the trial's copy, where they are such paths."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ablate.external.trace import Trace, digest_of_variable, path_in_copy, variables


@pytest.mark.parametrize(
    ("text", "moved"),
    [
        ("/code/t.py", "{copy}/t.py"),
        ("--data=/code/t.py", "--data={copy}/t.py"),
        ("file:///code/t.py", "file://{copy}/t.py"),
        *(
            (text, text)
            for text in ("/mnt/code/t.py", "./code/t.py", "a-/code/t.py", "/code/other.py", "/codes/t.py")
        ),
    ],
)
def test_a_path_is_moved_only_where_it_begins_at_the_original(tmp_path, text, moved):
    (tmp_path / "t.py").touch()
    assert path_in_copy(text, Path("/code"), tmp_path) == moved.format(copy=tmp_path)


def printed(program: str, env: dict[str, str]) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program], env=env, check=True, capture_output=True, text=True
    )
    return done.stdout


def test_a_process_of_a_trial_imports_next_to_nothing_more_than_the_same_process_alone(tmp_path):
    """Each of them waits for it: OpenSSL, collections and their like take as long as Python itself."""
    places = [tmp_path / name for name in ("trace", "root", "copy")]
    for place in places:
        place.mkdir()
    traced = {**os.environ, **variables(*places)}
    program = "import sys; print(*sys.modules)"
    more = {*printed(program, traced).split()} - {*printed(program, {**os.environ, "PYTHONPATH": ""}).split()}
    assert more <= {"_sha2", "_sha256", "sitecustomize", "time"}


def test_the_digest_of_a_variable_is_the_one_that_this_process_has_of_it(tmp_path, monkeypatch):
    monkeypatch.setenv("COLOUR", "blue")
    places = [tmp_path / name for name in ("trace", "root", "copy")]
    for place in places:
        place.mkdir()
    script = places[2] / "train.py"
    script.write_text("import os; os.environ['COLOUR']")
    subprocess.run([sys.executable, script], env={**os.environ, **variables(*places)}, check=True)
    assert Trace.read(places[0]).variables == {"COLOUR": digest_of_variable("COLOUR")}
