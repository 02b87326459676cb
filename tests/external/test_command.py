"""A command is split first and filled in then, and ends with everything that it has started."""

import os
import signal
import subprocess
import sys
import time
from contextlib import closing

import pytest

from ablate.base.errors import AblateError, Invalid
from ablate.external.command import filled, lines


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
    assert filled(command, values) == words


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("t 'a", "closing quotation"),
        ("", "no program"),
        ("t {lrr}", "'lr'"),
        ("t {", "{{"),
        ("t {} x", "{{"),
        ("t {lr:q}", "q"),
        ("t {lr!r}", "!r"),
        ("t {on:--lr={lr}}", "inside of {on}"),
        ("t {lr:{seed}}", "inside of {lr}"),
        ("t {opt}", "{opt} is a section"),
        ("t {opt.x}", "has no value"),
        ("t {lr.real}", "{lr.real} has no value"),
        ("t {lr[0]}", "{lr[0]} has no value"),
        ("t '{ lr }'", "{ lr } has no value"),
    ],
)
def test_what_cannot_be_filled_in_is_refused(command, said):
    with pytest.raises(Invalid) as error:
        filled(command, {"lr": 1.0, "seed": 0, "on": False, "opt": {"lr": 2}, "opt.lr": 2})
    assert said in str(error.value)


def test_it_runs_in_its_folder_with_its_environment(tmp_path):
    code = "import os; print(os.getcwd(), os.environ['X'], flush=True); input()"
    with closing(lines(["python", "-c", code], tmp_path, {"X": "3"})) as printed:
        assert next(filter(None, printed)) == f"{tmp_path} 3"
        heard: list[str] = []
        with pytest.raises(AblateError, match="'python' returned non-zero exit status 1"):
            heard.extend(printed)
        assert any("EOFError" in line for line in heard)


def test_megabytes_are_heard_whole(tmp_path):
    code = "print('loss: 1.5'); print('é' * 5_000_000); [print(i, end='\\r') for i in range(100_000)]"
    found = list(filter(None, lines([sys.executable, "-c", code], tmp_path, {})))
    assert (len(found), found[0], found[-1]) == (100_002, "loss: 1.5", "99999")
    assert found[1] == "é" * 5_000_000


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


@pytest.mark.parametrize(("sleeps", "limit"), [(0, None), (60, 0.5), (60, None)])
def test_what_it_has_started_ends_with_it(tmp_path, sleeps, limit):
    heard, began = [], time.monotonic()
    with closing(lines([sys.executable, "-c", FORKS.format(sleeps)], tmp_path, {}, limit)) as printed:
        if limit:
            with pytest.raises(AblateError, match=r"time limit of 0\.5 s exceeded"):
                heard.extend(printed)
        else:
            heard.extend([next(filter(None, printed))] if sleeps else printed)
    assert time.monotonic() - began < 10
    assert gone(int(next(filter(None, heard))))


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_it_ends_with_the_process_that_runs_it(tmp_path, number):
    code = "import signal, sys; from pathlib import Path; from ablate.external.command import lines\n"
    # A shell's background ignores it, and what it starts does so too.
    code += "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    code += f"for line in lines([sys.executable, '-c', {FORKS.format(60)!r}], Path('.'), {{}}): print(line, flush=True)"
    process = subprocess.Popen(
        [sys.executable, "-c", code], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    pid = int(next(line for line in process.stdout if line.strip()))
    os.kill(process.pid, number)
    process.wait(timeout=10)
    process.stdout.close()
    assert gone(pid)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["no-such-program"], "no-such-program: cannot be started"),
        (["sh", "-c", "kill -SEGV $$"], "'sh' died with .*SIGSEGV"),
    ],
)
def test_a_program_that_is_not_there_and_one_that_a_signal_ends(tmp_path, words, said):
    with pytest.raises(AblateError, match=said):
        [*lines(words, tmp_path, {})]
