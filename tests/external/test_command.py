"""A command is split first and filled in then, and ends with everything that it has started."""

import os
import resource
import signal
import subprocess
import sys
import time
from contextlib import closing, suppress
from pathlib import Path

import pytest

from ablate.base.errors import AblateError, Invalid
from ablate.external.command import MAX_LINE, TimeLimit, filled, lines


@pytest.mark.parametrize(
    ("command", "values", "words"),
    [
        ("python t.py --lr {lr} 'a b'", {"lr": 3e-4}, ["python", "t.py", "--lr", "0.0003", "a b"]),
        (["t", "{act}"], {"act": "x; rm -rf $HOME"}, ["t", "x; rm -rf $HOME"]),
        ("t {{}} --set={a.b}", {"a.b": "{seed}"}, ["t", "{}", "--set={seed}"]),
        ("t {on:--compile} {off:--fast}", {"on": True, "off": False}, ["t", "--compile"]),
        ("t {on:--x|--no-x} {off:--x|--no-x}", {"on": True, "off": False}, ["t", "--x", "--no-x"]),
        ("t --x={on:1|0} --y={off:1|0} {on:|-o}", {"on": True, "off": False}, ["t", "--x=1", "--y=0"]),
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
        ("t {on:--lr={lr}}", "inside {on}"),
        ("t {on:--a|--b|--c}", "more than two sides"),
        ("t {lr:--a|--b}", "lr is neither on nor off"),
        ("t {lr:{seed}}", "inside {lr}"),
        ("t {opt}", "{opt} is a section"),
        ("t {opt.x}", "has no value"),
        ("t {lr.real}", "{lr.real} has no value"),
        ("t {lr[0]}", "{lr[0]} has no value"),
        ("t '{ lr }'", "{ lr } has no value"),
        ("t {lr:999999999}", "3 digits"),
        ("t {lr:.1000f}", "3 digits"),
        (["t", "a\0b"], "NUL"),
        (["t", "\ud800"], "surrogates"),
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
        with pytest.raises(AblateError, match="python ended with exit code 1"):
            heard.extend(printed)
        assert any("EOFError" in line for line in heard)


@pytest.mark.slow
def test_megabytes_are_heard_whole(tmp_path):
    code = "print('loss: 1.5'); print('é' * 5_000_000); [print(i, end='\\r') for i in range(100_000)]"
    found = list(filter(None, lines([sys.executable, "-c", code], tmp_path, {})))
    assert (len(found), found[0], found[-1]) == (100_002, "loss: 1.5", "99999")
    assert found[1] == "é" * 5_000_000


ENDLESS = "import sys\nwhile True: sys.stdout.write('.' * 1000); sys.stdout.flush()"


@pytest.mark.slow
def test_a_line_without_an_end_is_cut_short_in_little_memory(tmp_path):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(AblateError, match="line of more than"):
        list(lines([sys.executable, "-c", ENDLESS], tmp_path, {}))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 10 * MAX_LINE / 2**10


@pytest.mark.slow
def test_reading_counts_towards_the_time(tmp_path):
    """The command ends at once, and whoever reads its lines does not."""
    printed = lines(["seq", "1", "100"], tmp_path, {}, TimeLimit(0.5))
    with pytest.raises(AblateError, match=r"time limit of 0\.5 s exceeded"):
        [time.sleep(0.2) for _ in printed]


# Starts three processes that would go on: a child, one in a session of its own, and a daemon without an environment.
FORKS = """
import subprocess, sys, time
sleep = [sys.executable, "-c", "import time; time.sleep(60)"]
child = subprocess.Popen(sleep)
away = subprocess.Popen(sleep, start_new_session=True)
script = 'nohup setsid env -i "$0" "$@" > /dev/null 2>&1 & echo $!'
daemon = subprocess.run(["setsid", "sh", "-c", script, *sleep], capture_output=True, text=True).stdout.strip()
print(child.pid, away.pid, daemon, flush=True)
time.sleep({0})
"""
NUM_STARTED = 3 if sys.platform == "linux" else 1
"""Of these processes, those that are ended."""


def started(line: str) -> list[int]:
    return [int(pid) for pid in line.split()][:NUM_STARTED]


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


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize(("sleeps", "limit"), [(0, None), (60, 1.5), (60, None)])
def test_what_it_has_started_ends_with_it(tmp_path, sleeps, limit):
    heard, began = [], time.monotonic()
    with closing(
        lines([sys.executable, "-c", FORKS.format(sleeps)], tmp_path, {}, TimeLimit(limit))
    ) as printed:
        if limit:
            with pytest.raises(AblateError, match=r"time limit of 1\.5 s exceeded"):
                heard.extend(printed)
        else:
            heard.extend([next(filter(None, printed))] if sleeps else printed)
    assert time.monotonic() - began < 10
    assert all(gone(pid) for pid in started(next(filter(None, heard))))


def test_processes_that_start_others_until_the_end_are_ended(tmp_path):
    code = "import os, time\nif os.fork() == 0:\n    os.setsid()\n    while not os.fork():\n        time.sleep(0.001)\n"
    code += "    os._exit(0)\nprint(os.environ['MARKED'])"
    marked = f"marked-{tmp_path.name}-{os.getpid()}"
    assert marked in lines([sys.executable, "-c", code], tmp_path, {"MARKED": marked})
    environments = []
    for process in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            environments.append(process.read_bytes())
    assert not [one for one in environments if marked.encode() in one]


def test_it_ends_where_its_guard_is_killed(tmp_path):
    code = "import os, time; print(os.getppid(), os.getpid(), flush=True); time.sleep(60)"
    with closing(lines([sys.executable, "-c", code], tmp_path, {})) as printed:
        guard, pid = next(filter(None, printed)).split()
        os.kill(int(guard), signal.SIGKILL)
        with pytest.raises(AblateError, match="guards it was killed"):
            list(printed)
    assert gone(int(pid))


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_it_ends_with_the_process_that_runs_it(tmp_path, number):
    code = "import signal, sys; from pathlib import Path; from ablate.external.command import lines\n"
    # A shell's background ignores it, and what it starts does so too.
    code += "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    code += f"for line in lines([sys.executable, '-c', {FORKS.format(60)!r}], Path('.'), {{}}): print(line, flush=True)"
    process = subprocess.Popen(
        [sys.executable, "-c", code], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    pids = started(next(line for line in process.stdout if line.strip()).decode())
    os.kill(process.pid, number)
    process.wait(timeout=10)
    process.stdout.close()
    assert all(gone(pid) for pid in pids)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["no-such-program"], "no-such-program: cannot be started"),
        (["sh", "-c", "kill -SEGV $$"], "sh was killed by SIGSEGV"),
    ],
)
def test_a_program_that_is_not_there_and_one_that_a_signal_ends(tmp_path, words, said):
    with pytest.raises(AblateError, match=said):
        [*lines(words, tmp_path, {})]
