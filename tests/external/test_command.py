"""A command is split first and filled in then, and ends with everything that it has started."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ablate.base.errors import AblateError, Invalid
from ablate.base.process import MAX_OUTPUT
from ablate.external.command import filled, placeholders, run, split, variables


@pytest.mark.parametrize(
    ("command", "values", "words"),
    [
        ("python t.py --lr {lr} 'a b'", {"lr": 3e-4}, ["python", "t.py", "--lr", "0.0003", "a b"]),
        (["t", "{act}"], {"act": "x; rm -rf $HOME"}, ["t", "x; rm -rf $HOME"]),
        ("t {{}} --set={a.b}", {"a.b": "{seed}"}, ["t", "{}", "--set={seed}"]),
        (
            "t {on:--compile} {off:--fast} --flag={off}",
            {"on": True, "off": False},
            ["t", "--compile", "--flag=False"],
        ),
        ("t --betas {b} --b={b}", {"b": [0.9, 0.95]}, ["t", "--betas", "0.9", "0.95", "--b=0.9 0.95"]),
        ("t {lr:.1e}", {"lr": 0.001}, ["t", "1.0e-03"]),
        ("t '{empty}'", {"empty": ""}, ["t", ""]),
    ],
)
def test_a_command_is_split_and_then_filled_in(command, values, words):
    assert filled(split(command), values) == words


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("t 'a", "closing quotation"),
        ("", "no program"),
        ("t {lrr}", "'lr'"),
        ("t {", "{{"),
        ("t {} x", "{{"),
        ("t {lr:q}", "q"),
    ],
)
def test_what_cannot_be_filled_in_is_refused(command, said):
    with pytest.raises(Invalid) as error:
        filled(split(command), {"lr": 1.0, "seed": 0})
    assert said in str(error.value)


def test_names_in_braces():
    assert placeholders(split("t {a} {b:--b} {{c}} {a}")) == ["a", "b"]


def python(code: str, folder: Path, **options: object):
    heard: list[str] = []
    hear = options.pop("hear", lambda line: False)
    env = variables(folder, {"lr": 1.5}, 3, threads=2)
    ended = run(
        [sys.executable, "-c", code],
        folder,
        env,
        lambda line: bool(heard.append(line) or hear(line)),
        **options,
    )
    return ended, [line for line in heard if line]


def test_it_runs_in_its_folder_with_its_environment(tmp_path):
    code = "import os; print(os.getcwd(), *(os.environ[k] for k in "
    code += "('ABLATE_CONFIG', 'ABLATE_DIR', 'ABLATE_SEED', 'OMP_NUM_THREADS'))); input()"
    ended, lines = python(code, tmp_path)
    assert lines[0] == f'{tmp_path} {{"lr": 1.5}} {tmp_path} 3 2'
    assert (ended.code, ended.stopped) == (1, "")
    assert "EOFError" in ended.output
    assert ended.fault == "the command ended with exit code 1"


def test_megabytes_are_heard_whole_and_kept_from_their_end(tmp_path):
    code = "print('loss: 1.5'); print('é' * 5_000_000); [print(i, end='\\r') for i in range(100_000)]"
    ended, lines = python(code, tmp_path)
    assert (ended.fault, lines[0], lines[-1]) == ("", "loss: 1.5", "99999")
    assert sum(map(len, lines[1:-100_000])) == 5_000_000
    assert len(ended.output) < MAX_OUTPUT + 100


FORKS = """
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
print(child.pid, flush=True)
time.sleep({0})
"""


def gone(pid: int) -> bool:
    """Whether a process has ended; one that nobody waits for in this container may stay as a zombie."""
    for _ in range(100):
        state = subprocess.run(
            ["ps", "-o", "state=", "-p", str(pid)], capture_output=True, text=True, check=False
        )
        if state.stdout.strip() in ("", "Z"):
            return True
        time.sleep(0.05)
    return False


@pytest.mark.parametrize(
    ("sleeps", "options", "fault"),
    [
        (0, {}, ""),
        (60, {"limit": 0.5}, "time limit of 0.5 s exceeded"),
        (60, {"hear": lambda line: True}, "stopped"),
    ],
)
def test_what_it_has_started_ends_with_it(tmp_path, sleeps, options, fault):
    ended, lines = python(FORKS.format(sleeps), tmp_path, **options)
    assert ended.fault == fault
    assert ended.seconds < 10
    assert gone(int(lines[0]))


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_it_ends_with_the_process_that_runs_it(tmp_path, number):
    code = "import sys; from pathlib import Path; from ablate.external.command import run; "
    code += f"run([sys.executable, '-c', {FORKS.format(60)!r}], Path('.'), {{}}, lambda line: print(line, flush=True))"
    process = subprocess.Popen(
        [sys.executable, "-c", code], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    pid = int(next(line for line in process.stdout if line.strip()))
    os.kill(process.pid, number)
    process.wait(timeout=10)
    process.stdout.close()
    assert gone(pid)


def test_a_program_that_is_not_there_and_one_that_a_signal_ends(tmp_path):
    with pytest.raises(AblateError, match="no-such-program: cannot be started"):
        run(["no-such-program"], tmp_path, {})
    assert run(["sh", "-c", "kill -SEGV $$"], tmp_path, {}).fault == "the command was killed by SIGSEGV"
