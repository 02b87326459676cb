"""What every engine promises, on the workload without torch; faults are really caused."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest
from drivers import wait_for
from engines import ENGINES, POOLED, POOLS, SLOW_ON_RAY, TOY_REF, alive, children, run, steps, toy_trials
from harness import TOY, TOY_STUDY, content, prepare, toy_changed

from ablate.base.plugins import load_plugin
from ablate.base.registry import CATALOGUE
from ablate.core.events import Ended, Idle, Progress, Started, WorkerLost
from ablate.core.trial import Trial
from ablate.execution import forking
from ablate.execution.child import Child, fresh
from ablate.execution.engines.in_process import InProcess
from ablate.execution.engines.local_pool import LocalPool
from ablate.execution.opened_files import UNDECLARED
from ablate.execution.run_trial import WorkloadRef
from ablate.execution.supervisor import Supervised


@pytest.fixture(params=SLOW_ON_RAY)
def make(request):
    return lambda: ENGINES[request.param](TOY_REF)


@pytest.fixture(params=POOLED)
def pool_of(request):
    return POOLS[request.param]


@pytest.fixture
def trials(tmp_path):
    """Nine of six steps, which a decision may end."""
    return [replace(trial, prunable=True) for trial in toy_trials(tmp_path, "training.steps=6")]


def below(threshold):
    return lambda report: report.metrics["accuracy"] < threshold


def statuses(records):
    return sorted(record.status for record in records)


@pytest.mark.slow
def test_numbers_and_stops_are_those_of_one_process(make, trials):
    reference = run(InProcess(TOY_REF), trials, below(-0.5))
    found = run(make(), trials, below(-0.5))
    assert [content(record) for record in found] == [content(record) for record in reference]
    assert {record.status for record in found} == {"completed", "pruned"}
    assert len({steps(record) for record in found}) > 2


@pytest.mark.slow
def test_every_trial_starts_reports_in_order_and_ends_once(make, trials):
    heard = []
    run(make(), trials, heard=heard)
    for trial in trials:
        own = [e for e in heard if (e.record.id if isinstance(e, Ended) else e.trial_id) == trial.id]
        assert [type(event) for event in own] == [Started, *[Progress] * 6, Ended]
        assert [event.step for event in own if isinstance(event, Progress)] == [1, 2, 3, 4, 5, 6]


def test_only_prunable_trials_are_stopped_and_reach_no_further_step(make, trials):
    given = [trials[0], replace(trials[1], prunable=False), trials[2]]
    records = run(make(), given, lambda report: report.step == 4 and report.trial_id != trials[2].id)
    assert [(r.status, steps(r)) for r in records] == [("pruned", 4), ("completed", 6), ("completed", 6)]


@pytest.mark.slow
def test_an_exception_fails_one_trial_and_leaves_the_others(make, tmp_path):
    records = run(make(), toy_trials(tmp_path, "training.fault=raise"))
    assert statuses(records) == ["completed"] * 6 + ["failed"] * 3
    failed = next(record for record in records if record.status == "failed")
    line = failed.reason.partition("RuntimeError: the toy broke (tests/toy.py:")[2].removesuffix(")")
    assert f'toy.py", line {line}, in train' in failed.error.splitlines()[1]
    assert 'raise RuntimeError("the toy broke")' in failed.error
    assert failed.attempts == 1


@pytest.mark.slow
def test_an_engine_can_be_used_again(make, trials):
    engine, heard = make(), []
    for trial in trials[:3]:
        engine.run([trial], lambda event: bool(heard.append(event)))
    engine.close()
    assert [event.record.id for event in heard if isinstance(event, Ended)] == [t.id for t in trials[:3]]


@pytest.mark.slow
def test_an_error_of_the_listener_is_not_one_of_the_trial(make, trials):
    heard = []

    def decide(report):
        raise ConnectionError("the storage does not answer")

    with pytest.raises(ConnectionError, match="does not answer"):
        run(make(), trials[:1], decide, heard)
    assert not [event for event in heard if isinstance(event, Ended)]


def test_a_run_knows_nothing_of_the_trials_of_one_that_was_interrupted():
    def engine_run(trials, hear):
        hear(Started("first") if trials[0].id == "first" else Idle())
        if trials[0].id == "first":
            raise KeyboardInterrupt

    engine = Supervised(SimpleNamespace(run=engine_run))
    with pytest.raises(KeyboardInterrupt):
        engine.run([Trial("first", {}, 0)], lambda event: False)
    engine.run([Trial("second", {}, 0)], lambda event: False)


# In processes of their own


@pytest.mark.slow
def test_output_goes_into_the_record(pool_of, tmp_path):
    records = run(pool_of(TOY_REF, 2), toy_trials(tmp_path))
    assert [record.output for record in records] == [
        f"training under seed {record.seed}\ndone\n" for record in records
    ]


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize(
    ("fault", "fate"), [("kill", "was killed by SIGKILL"), ("exit", "ended with exit code 3")]
)
def test_a_lost_trial_is_begun_once_more(pool_of, tmp_path, fault, fate):
    first, *others = run(pool_of(TOY_REF, 2), toy_trials(tmp_path, f"training.fault={fault}")[::3])
    assert statuses([first, *others]) == ["completed"] * 2 + ["failed"]
    failed = next(record for record in (first, *others) if record.status == "failed")
    assert (failed.reason, failed.attempts) == (f"the worker process {fate}, 2 times", 2)
    assert "training under seed 0" in failed.output


def test_a_worker_killed_while_it_waits_changes_nothing(pool_of, trials):
    asked = []
    killed = []

    def decide(report):
        asked.append((report.trial_id, report.step))
        stop = report.metrics["accuracy"] < -0.5
        # Once while the trial is to go on, once when it is to end.
        if (not killed) or (stop and len(killed) == 1):
            killed.append(children()[0])
            os.kill(killed[-1], signal.SIGKILL)
        return stop

    disturbed = run(pool_of(TOY_REF, 1), trials, decide)
    calm = run(InProcess(TOY_REF), trials, below(-0.5))
    assert [content(record) for record in disturbed] == [content(record) for record in calm]
    assert sorted(record.attempts for record in disturbed) == [1] * 7 + [2] * 2
    assert len(asked) == len(set(asked)), "a report was decided on twice"


def test_an_idle_worker_that_dies_is_replaced(pool_of, trials):
    pool, heard = pool_of(TOY_REF, 1), []
    supervised = Supervised(pool)
    try:
        supervised.run(trials[:1], lambda event: bool(heard.append(event)))
        os.kill(children()[0], signal.SIGKILL)
        time.sleep(0.1)
        supervised.run(trials[1:2], lambda event: bool(heard.append(event)))
    finally:
        pool.close()
    assert [event.record.status for event in heard if isinstance(event, Ended)] == ["completed"] * 2


@pytest.mark.slow
def test_a_time_limit_fails_the_trial_and_the_others_go_on(pool_of, tmp_path):
    records = run(pool_of(TOY_REF, 2), toy_trials(tmp_path, "training.fault=hang", "time_limit=1.5")[::3])
    assert statuses(records) == ["completed"] * 2 + ["failed"]
    reasons = {record.reason for record in records if record.status == "failed"}
    assert reasons == {"time limit of 1.5 s exceeded"}
    assert all("" < record.started_at <= record.finished_at for record in records)


@pytest.mark.slow
def test_a_time_limit_holds_while_a_trial_waits(pool_of, trials):
    def decide(report):
        if report.trial_id == trials[0].id:
            time.sleep(0.6)
        return False

    records = run(pool_of(TOY_REF, 1), [replace(trials[0], time_limit=0.5), trials[1]], decide)
    assert [record.status for record in records] == ["failed", "completed"]
    assert records[0].reason == "time limit of 0.5 s exceeded"


def test_a_stopped_trial_is_lost(pool_of, trials):
    pool = pool_of(TOY_REF, 1)
    heard = []

    def hear(event):
        heard.append(event)
        if isinstance(event, Started) and event.trial_id == trials[0].id:
            pool.stop(trials[0].id, "a test wants it")
        return False

    try:
        pool.run(trials[:2], hear)
    finally:
        pool.close()
    assert [(e.trial_id, e.fate) for e in heard if isinstance(e, WorkerLost)] == [
        (trials[0].id, "a test wants it")
    ]
    assert [e.record.id for e in heard if isinstance(e, Ended)] == [trials[1].id]


@pytest.mark.slow
def test_a_plugin_that_changes_while_the_study_runs_fails_the_trials_of_new_workers(pool_of, tmp_path):
    study, plugin = tmp_path / "study.yaml", tmp_path / "changing.py"
    study.write_text(toy_changed(tmp_path, "changing"))
    trials = [cell.trial for cell in prepare(study).cells()]
    reference = WorkloadRef("changing", (load_plugin(plugin),))
    for edit, status in (("\nMORE = 1\n", "completed"), ("\nWorkload.threads = 2\n", "failed")):
        plugin.write_text(plugin.read_text() + edit)
        (record,) = run(pool_of(reference, 1), trials[:1])
        assert record.status == status
    assert "changed while the study ran" in record.error


@pytest.mark.slow
def test_a_worker_refuses_what_its_own_sources_would_train_otherwise(pool_of, tmp_path, monkeypatch):
    """The package of a workload is edited after the driver has hashed it."""
    package = tmp_path / "lab"
    package.mkdir()
    (package / "__init__.py").write_text("")
    code = TOY.read_text().replace('"toy"', '"lab"').replace("class Toy", "class Lab")
    (package / "workload.py").write_text(code)
    plugin = tmp_path / "plugin.py"
    plugin.write_text("import lab.workload")
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "study.yaml").write_text(
        TOY_STUDY.replace(str(TOY), "plugin.py").replace("workload: toy", "workload: lab")
    )
    trial = prepare(tmp_path / "study.yaml").cells()[0].trial
    reference = WorkloadRef("lab", (load_plugin(plugin),))
    (record,) = run(pool_of(reference, 1), [trial])
    assert record.status == "completed"
    (package / "workload.py").write_text(code.replace("value = 0.8", "value = 0.7"))
    (record,) = run(pool_of(reference, 1), [trial])
    assert record.status == "failed"
    assert (
        "not those of the driver, or have changed while the study ran; run the study again" in record.reason
    )
    CATALOGUE.forget({"lab.workload"})


def test_without_their_server_workers_go_on_and_lost_ones_come_from_another(trials):
    (known, *_), killed = run(LocalPool(TOY_REF, 2), trials[:4]), []

    def decide(report):
        if not killed:
            killed.extend([*children(workers=False), children()[0]])
            for pid in killed:
                os.kill(pid, signal.SIGKILL)
        return False

    records = run(LocalPool(TOY_REF, 2), trials[:4], decide)
    assert [record.attempts for record in records] in ([2, 1, 1, 1], [1, 2, 1, 1])
    assert statuses(records) == ["completed"] * 4
    assert content(records[0]) == content(known)


def made(folder, code, study=TOY_STUDY, *sets):
    """A plugin with the workload `own`, and the trials of a study of it; `OTHER` is true in processes but this one."""
    plugin = folder / "own.py"
    plugin.write_text(f"import os\nimport threading\nOTHER = os.getpid() != {os.getpid()}\n{code}")
    path = folder / "study.yaml"
    path.write_text(study.replace(str(TOY), str(plugin)).replace("workload: toy", "workload: own"))
    trials = [cell.trial for cell in prepare(path, sets).cells()]
    return WorkloadRef("own", (load_plugin(plugin),), watched=(plugin,)), trials


OWN = TOY.read_text().replace('"toy"', '"own"')


@pytest.mark.slow
def test_where_a_plugin_starts_threads_workers_are_not_forked(tmp_path):
    waits = "if OTHER: threading.Thread(target=threading.Event().wait, daemon=True).start()\n"
    reference, trials = made(tmp_path, waits + OWN, TOY_STUDY, "training.fault=kill")
    commands = set()

    def hear(event):
        commands.update(Path(f"/proc/{pid}/cmdline").read_bytes() for pid in children())
        return False

    first, second = run(LocalPool(reference, 1), [replace(t, prunable=True) for t in trials[2:4]], hear)
    assert first.reason == "the worker process was killed by SIGKILL, 2 times"
    assert second.status == "completed"
    assert [b"ablate.execution.worker" in command for command in commands] == [True]


@pytest.mark.slow
def test_a_plugin_that_ends_every_process_but_the_driver_fails_its_trials(tmp_path):
    reference, trials = made(tmp_path, "if OTHER:\n    print('good bye')\n    os._exit(3)\n" + OWN)
    (record,) = run(LocalPool(reference, 1), trials[:1])
    assert record.reason == "the worker process ended with exit code 3, 2 times"
    assert record.error == "good bye\n"


@pytest.mark.slow
def test_what_a_plugin_reads_when_it_is_loaded_is_noticed_in_every_worker(tmp_path):
    numbers = tmp_path / "numbers.txt"
    numbers.write_text("1")
    reference, trials = made(tmp_path, f"open({str(numbers)!r}).close()\n" + OWN)
    records = run(LocalPool(reference, 2), trials[:4])
    assert [record.environment.get(UNDECLARED) for record in records] == [[str(numbers)]] * 4


@pytest.mark.slow
def test_a_worker_imports_what_training_needs_and_nothing_else(tmp_path):
    """Who adds a package here makes the start of every run slower.

    Some systems load code of their own with every interpreter.
    """
    bare = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, check=True)
    reference, trials = made(tmp_path, LISTING, SEQUENCE)
    (record,) = run(LocalPool(reference, 1), trials)
    assert record.status == "completed", record.error
    of_system = {*bare.stdout.split()}
    assert {*record.output.split()} - of_system == {*WORKER.split()} - of_system


LOADED = "import sys; print(*{name.split('.')[0] for name in sys.modules})"


WORKER = (
    "ablate annotated_types cython_runtime filelock numpy pydantic pydantic_core ruamel safetensors torch torchgen "
    "tqdm typing_extensions typing_inspection"
)
SEQUENCE = """
name: listing
workload: own
plugins: [own.py]
task: {name: recall, vocab_size: 16, seq_len: 9, num_pairs: 4, test_size: 16, validation_size: 16}
model: {d_model: 8, num_layers: 1}
training: {steps: 1, batch_size: 4, eval_every: 1}
seeds: 1
"""
LISTING = """
import sys
from ablate import register
from ablate.training.workload import SequenceWorkload

@register("workload", "own")
class Listing(SequenceWorkload):
    def train(self, trial, emit):
        record = super().train(trial, emit)
        names = {name.split(".")[0] for name in sys.modules} - set(sys.stdlib_module_names)
        print(*sorted(name for name in names if not name.startswith(("_", "ablate_plugin"))))
        return record
"""


@pytest.mark.slow
def test_workers_take_no_module_from_the_folder_in_which_a_study_is_run(tmp_path, monkeypatch, trials):
    """There, `import random` and `import ablate` would find these."""
    (tmp_path / "random.py").write_text("raise RuntimeError('not this one')")
    (tmp_path / "ablate").mkdir()
    (tmp_path / "ablate/__init__.py").write_text("raise RuntimeError('not this one')")
    monkeypatch.chdir(tmp_path)
    records = run(LocalPool(TOY_REF, 1), trials[:1])
    assert [record.status for record in records] == ["completed"], records[0].error


@pytest.mark.parametrize("waits", [False, True])
def test_workers_end_when_their_driver_is_killed(tmp_path, trials, waits):
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        pool = LocalPool(TOY_REF, 2)
        given = trials if waits else toy_trials(tmp_path, "training.seconds=60")
        seen = 0

        def hear(event):
            nonlocal seen
            seen += isinstance(event, Progress if waits else Started)
            if seen == (1 if waits else 2):
                os.write(write, " ".join(map(str, [*children(), *children(workers=False)])).encode())
                time.sleep(60)
            return False

        pool.run(given, hear)
        os._exit(1)
    workers = [int(pid) for pid in os.read(read, 100).split()]
    assert len(workers) == 3
    assert all(alive(pid) for pid in workers)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    wait_for(lambda: not any(alive(pid) for pid in workers), 10)


def test_a_process_may_be_ended_twice():
    # As where an interruption comes while a lost worker is being replaced.
    child = Child(partial(fresh, "ablate.execution.forking"))
    child.end()
    assert child.end() == ""


def test_where_there_is_a_gpu_workers_are_not_forked(monkeypatch):
    # torch.cuda.is_available, which ids ask where a device is `auto`, leaves CUDA unusable in a fork of the process.
    import torch

    monkeypatch.setattr(forking, "Path", lambda place: tmp)
    tmp = SimpleNamespace(is_dir=lambda: True, iterdir=lambda: iter([1]))
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert forking._is_sound()
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert not forking._is_sound()
