"""What belongs to a process: its memory, and standard streams that cannot show every character."""

import os
import pty
import signal
import subprocess
import sys

import pytest
from harness import TOY_STUDY, ablate, with_database

from ablate.base import process

ASK = "from ablate.base.process import memory_allowed; print(memory_allowed())"
UGLY = "größe → ½ 表 ▲"


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not enforce the limit")
@pytest.mark.parametrize("option", ["v", "d"])
def test_a_limit_of_the_process_counts(option):
    limited = f"ulimit -{option} 4000000; exec {sys.executable} -c '{ASK}'"
    done = subprocess.run(["bash", "-c", limited], capture_output=True, text=True, check=True)
    assert int(done.stdout) == 4_000_000 * 1024


@pytest.mark.parametrize("file", ["memory.max", "memory/memory.limit_in_bytes"])
def test_so_does_that_of_a_container(file, tmp_path, monkeypatch):
    monkeypatch.setattr(process, "_GROUPS", tmp_path)
    whole = process.memory_allowed()
    path = tmp_path / file
    path.parent.mkdir(exist_ok=True)
    for content, allowed in (("max", whole), ("1000000", 1_000_000)):
        path.write_text(f"{content}\n")
        assert process.memory_allowed() == allowed


@pytest.mark.slow
def test_any_text_is_printed_by_any_way_in_any_encoding():
    code = (
        "import sys, click\nfrom rich.console import Console\nfrom ablate.base.process import forgive\nforgive()\n"
        "for say in (print, click.echo, Console().print, lambda text: print(text, file=sys.stderr)):\n"
        f"    say({UGLY!r} + chr(0xdcff))\n"
    )
    for encoding in ("ascii", "latin-1", "utf-8:strict"):
        env = os.environ | {"PYTHONIOENCODING": encoding}
        done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr
        assert len(done.stdout.splitlines() + done.stderr.splitlines()) == 4


@pytest.fixture(autouse=True)
def _a_closed_terminal_is_heard_of():
    """Also where the tests run under `nohup`, whose processes ignore that signal."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.mark.slow
def test_every_command_prints_where_the_terminal_shows_little(tmp_path):
    with_database(tmp_path / "results/store")
    text = f"{TOY_STUDY}question: {UGLY}\ntraining: {{note: {UGLY}}}\n"
    (tmp_path / "study.yaml").write_text(text, encoding="utf-8")
    env = os.environ | {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    for command in (
        *(("plan", "study.yaml"), ("run", "study.yaml", "--jobs", 0), ("run", "study.yaml"), ("show", "0")),
        *(("run", "study.yaml", "--only", UGLY), ("list", "activation"), ("schema",), ("new", UGLY)),
    ):
        done = ablate(*command, cwd=tmp_path, env=env, errors="replace")
        assert done.returncode in (0, 2), (command, done.stderr)
        assert "Traceback" not in done.stdout + done.stderr


@pytest.mark.slow
def test_what_libraries_print_after_the_end_is_not_shown(tmp_path):
    """A message of C code at the exit of the process, as triton's `nanobind: leaked 4 instances!`."""
    (tmp_path / "leaky.py").write_text(
        "import ctypes\nlibc = ctypes.CDLL(None)\nlibc.strdup.restype = ctypes.c_void_p\n"
        "text = ctypes.c_void_p(libc.strdup(b'nanobind: leaked 4 instances!'))\n"
        "assert libc.__cxa_atexit(libc.perror, text, None) == 0\n"
    )
    (tmp_path / "study.yaml").write_text(TOY_STUDY.replace("plugins: [", "plugins: [leaky.py, "))
    done = ablate("plan", "study.yaml", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    refused = ablate("plan", "study.yaml", "--set", "model.nois=1", cwd=tmp_path)
    assert "model.nois: unknown key" in refused.stderr
    assert "leaked" not in refused.stderr


def test_a_closed_standard_output_is_no_fault(tmp_path):
    command = 'exec "$0" -m ablate guide verdicts >&-'
    closed = subprocess.run(
        ["sh", "-c", command, sys.executable], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (closed.returncode, closed.stderr) == (0, "")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_that_ends_a_process_interrupts_it_unless_it_is_ignored(number):
    before = signal.getsignal(number)
    with pytest.raises(KeyboardInterrupt), process.interruptible():
        os.kill(os.getpid(), number)
    assert signal.getsignal(number) == before
    signal.signal(number, signal.SIG_IGN)
    try:
        with process.interruptible():
            os.kill(os.getpid(), number)
    finally:
        signal.signal(number, before)


def test_an_interruption_ends_with_its_exit_code_wherever_it_comes(tmp_path):
    """Python itself ends by the signal where it came into an `exec`, such as that of a dataclass."""
    (tmp_path / "plugin.py").write_text("exec('import os; os.kill(os.getpid(), 2)')\n")
    (tmp_path / "study.yaml").write_text("name: x\nplugins: [plugin.py]\ntask: {name: copy}\n")
    done = ablate("plan", "study.yaml", cwd=tmp_path)
    assert done.returncode == 130, done.stderr
    assert "Interrupted" in done.stderr
    assert "Traceback" not in done.stderr


def test_what_is_interrupted_by_a_terminal_that_is_closed_goes_on_to_its_end_without_it():
    code = (
        "import time\nfrom ablate.base.process import interruptible\nwith interruptible():\n    try:\n"
        "        print('ready', flush=True)\n        time.sleep(60)\n    except KeyboardInterrupt:\n"
        "        print('a last word', flush=True)\n        raise SystemExit(130)\n"
    )
    child, terminal = pty.fork()
    if child == 0:
        os.execv(sys.executable, [sys.executable, "-c", code])
    while b"ready" not in os.read(terminal, 1000):
        pass
    os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 130
