"""Workers are forked from the driver of a command where that is sound, and nowhere else; numbers are the same."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from harness import content

from ablate.records.store import Store

STUDY = """
name: small
task: {name: digits, train_size: 40, test_size: 20}
model: {d_model: 8, num_layers: 1}
training: {steps: 2, batch_size: 4}
factors: {model.norm: [rms]}
seeds: 1
"""
PLUGIN = "import threading, time\nthreading.Thread(target=time.sleep, args=[60], daemon=True).start()\n"
RUN = """
import sys
from ablate.execution import driver_fork
made = []
forked = driver_fork.forked

def noted(*given):
    child = forked(*given)
    made.append(child.pid)
    return child

driver_fork.forked = noted
{before}
from ablate.cli import main
try:
    main(["run", "study.yaml", "--jobs", "2"])
finally:
    print("forked", len(made))
"""
PROBE = """
from ablate.execution import driver_fork
driver_fork.import_for_forks()
{act}
print(driver_fork.is_sound())
"""


def ran(folder, before="", study=STUDY, **environment):
    """What a run as a command prints, and what must repeat of the records of its trials."""
    folder.mkdir(exist_ok=True)
    (folder / "study.yaml").write_text(study)
    (folder / "plugin.py").write_text(PLUGIN)
    command = [sys.executable, "-c", RUN.replace("{before}", before)]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False, env=os.environ | environment
    )
    assert done.returncode == 0, done.stdout + done.stderr
    store = Store(folder / "results/store", read_only=True)
    ids = sorted(file.stem for file in folder.glob("results/store/trials/*.json"))
    return done.stdout, {trial_id: content(store.load(trial_id)) for trial_id in ids}


def sound(act, **environment):
    """Whether a process that does this may be forked."""
    command = [sys.executable, "-c", PROBE.format(act=act)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ | environment)
    return done.stdout.split()[-1] == "True"


def test_a_process_that_has_imported_and_nothing_else_may_be_forked():
    assert sound("import pandas, numpy as np; np.ones((200, 200)) @ np.ones((200, 200))")


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize(
    "act",
    [
        "import threading, time; threading.Thread(target=time.sleep, args=[9], daemon=True).start()",
        "import sqlite3; kept = sqlite3.connect('/tmp/kept.db'); kept.execute('create table if not exists a (b)')",
        "kept = open('/etc/hostname')",
    ],
)
def test_a_process_with_a_thread_or_an_open_file_may_not(act, tmp_path):
    assert not sound(act.replace("/tmp", str(tmp_path)))


@pytest.mark.skipif(
    len(os.sched_getaffinity(0)) < 2, reason="a library starts threads for more than one core"
)
def test_a_process_whose_libraries_have_threads_may_not():
    code = "import numpy\nfrom ablate.execution import driver_fork\nprint(driver_fork.is_sound())"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"OPENBLAS_NUM_THREADS": "2"},
    )
    assert done.stdout.split()[-1] == "False"


@pytest.mark.slow
def test_the_environment_is_left_as_it_was():
    act = "import os; assert os.environ['OMP_NUM_THREADS'] == '3' and 'MKL_NUM_THREADS' not in os.environ"
    environment = {"OMP_NUM_THREADS": "3"}
    assert "MKL_NUM_THREADS" not in os.environ
    assert sound(act, **environment)


@pytest.mark.slow
def test_a_command_forks_and_its_numbers_are_those_of_fresh_workers(tmp_path):
    said, forked = ran(tmp_path / "forked")
    assert "forked 1" in said
    said, fresh = ran(tmp_path / "fresh", before="driver_fork.is_sound = lambda: False")
    assert "forked 0" in said
    assert forked == fresh
    assert {status for status, *_ in forked.values()} == {"completed"}


@pytest.mark.slow
@pytest.mark.parametrize(("before", "study"), [("", STUDY + "plugins: [plugin.py]\n"), (PLUGIN, STUDY)])
def test_a_driver_with_threads_or_plugins_is_not_forked(before, study, tmp_path):
    said, records = ran(tmp_path, before, study)
    assert "forked 0" in said
    assert {status for status, *_ in records.values()} == {"completed"}


@pytest.mark.slow
def test_a_run_goes_on_where_the_fork_is_killed(tmp_path):
    kill = """
import os, signal
from ablate.execution.engines import local_pool
replace = local_pool.LocalPool._receive
def received(pool, worker):
    if made and not killed:
        killed.append(made[0])
        os.kill(made[0], signal.SIGKILL)
    return replace(pool, worker)
killed = []
local_pool.LocalPool._receive = received
"""
    said, records = ran(tmp_path, kill)
    assert "forked 1" in said
    assert {status for status, *_ in records.values()} == {"completed"}


@pytest.mark.slow
def test_a_fork_ends_with_its_driver(tmp_path):
    """It has no end of its own pipe, nor that of a sibling."""
    code = """
import os, sys, time
from functools import partial
from ablate.execution import driver_fork, forking
from ablate.execution.child import Child
driver_fork.import_for_forks()
children = [Child(partial(driver_fork.forked, forking.main_of_fork)) for _ in range(2)]
print(*(child.process.pid for child in children), flush=True)
time.sleep(60)
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as driver:
        pids = [int(word) for word in driver.stdout.readline().split()]
        assert len(pids) == 2
        driver.send_signal(signal.SIGKILL)
        driver.wait()
    for pid in pids:
        stat = Path(f"/proc/{pid}/stat")
        for _ in range(200):
            if not stat.exists() or stat.read_text().split()[2] == "Z":
                break
            signal.sigtimedwait([], 0.05)
        else:
            pytest.fail(f"{pid} outlived its driver")
