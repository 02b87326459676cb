"""Paths of the original in a command line become those of the trial's copy, where they are such paths."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ablate.external.beside import paths_beside, variables_of_scripts
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


WAYS = {
    "by its name": "os.environ['COLOUR']",
    "by a name of the module": "KEY = 'COLOUR'\ndef f(): return os.getenv(KEY)\nf()",
    "by a helper": "def env(name, default=None): return os.environ.get(name, default)\nenv('COLOUR')",
    "by a loop": "for name in ('COLOUR', 'SIZE'): os.environ.get(name)",
    "by a loop over a list of the module": "NAMES = ['COLOUR']\nprint({name: os.environ[name] for name in NAMES})",
    "by a prefix": "print({k: v for k, v in os.environ.items() if k.startswith('PRE_')})",
    "in a text": "os.path.expandvars('a/$COLOUR/b')",
    "in all": "dict(os.environ); os.environ.copy(); print(*os.environ.items())",
}


@pytest.mark.parametrize("way", WAYS)
def test_a_variable_is_noted_where_the_code_asks_for_it_in_some_way_by_its_name(way, tmp_path):
    places = [tmp_path / name for name in ("trace", "root", "copy")]
    for place in places:
        place.mkdir()
    script = places[2] / "train.py"
    script.write_text(f"import os\n{WAYS[way]}\n")
    env = {**os.environ, **variables(*places), "COLOUR": "blue", "PRE_FIX": "1"}
    subprocess.run([sys.executable, script], env=env, check=True, capture_output=True)
    noted = {*Trace.read(places[0]).variables}
    right = {"by a prefix": {"PRE_FIX"}, "in all": set()}.get(way, {"COLOUR"})
    assert noted - {"SIZE"} == right


SHELL = """
#!/bin/bash
# $NOT_READ
STEPS=${STEPS:-100}
size=3; echo $size $RANDOM
for lr in $RATES; do
  python train.py --lr $lr "$@" --out ${OUT}/x '$QUOTED'
done
"""


def test_variables_that_a_script_of_a_shell_reads(tmp_path):
    (tmp_path / "run.sh").write_text(SHELL)
    assert variables_of_scripts([tmp_path / "run.sh"], ["bash", "run.sh"], tmp_path) == {
        "STEPS",
        "RATES",
        "OUT",
    }
    assert variables_of_scripts([], ["sh", "-c", "A=1; python train.py $A $B"], tmp_path) == {"B"}


def test_absolute_paths_of_a_command_outside_of_the_code_and_its_data(tmp_path):
    for name in ("code/in.csv", "out/a.csv", "out/data/b.csv"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    words = f"{sys.executable} train.py --a={tmp_path}/out/a.csv {tmp_path}/out/data/b.csv {tmp_path}/code/in.csv /no/x"
    found = paths_beside(words, tmp_path / "code", [str(tmp_path / "out/data")])
    assert found == [f"{tmp_path}/out/a.csv"]
