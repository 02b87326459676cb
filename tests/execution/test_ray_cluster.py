"""`--engine ray` as a user meets it, on clusters of nodes on this machine; its contract is in test_engine_contract."""

import re
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from cluster import WITHOUT, cluster, two_nodes
from drivers import SLOW_TRIALS, records, start, wait_for, workers_of
from engines import TOY_REF, run, toy_trials
from harness import FREE, TOY, TOY_STUDY, ablate, ablate_without, content, toy_changed
from searching import PEAK_STUDY

from ablate.base.files import digest_of_file
from ablate.base.plugins import load_plugin
from ablate.commands._results import load
from ablate.core.events import Ended, Progress, WorkerLost
from ablate.execution.engines.local_pool import LocalPool
from ablate.execution.engines.ray_cluster import RayCluster
from ablate.execution.relay import Relay, clean, examine, sources
from ablate.execution.run_trial import WorkloadRef
from ablate.execution.supervisor import Supervised
from ablate.records.environment import kind
from ablate.records.store import Store

TINY = """
name: tiny
task: {name: recall, validation_size: 128, test_size: 128}
model: {d_model: 16, num_layers: 1, mixer: {num_heads: 2}, dropout: {residual: 0.1}}
training: {steps: 30, batch_size: 16, lr: 3e-3, eval_every: 10}
metric: {name: accuracy, margin: 0.05}
factors: {model.mixer.score: [additive], model.norm: [batch]}
placebo: on
seeds: 2
"""
SEARCHED = """
search:
  over: {training.lr: {float: [1e-5, 1e-1], log: true}, model.x: {float: [-1, 1]}}
  sampler: {name: tpe, n_startup_trials: 4}
  pruner: {name: median, n_startup_trials: 3, n_warmup_steps: 1}
  trials: 12
  batch: 4
"""


def on_ray(study, *options, command="run", **kwargs):
    return ablate(command, study, "--engine", "ray", *options, cwd=study.parent, **kwargs)


# The command, which is another one, and what may differ between repeats.
DIFFERS = re.compile(rb"ablate \w+ \S*study.yaml[^\n<`]*|[\d,.]+ (m?s|min) in all")


def same(one: Path, other: Path) -> None:
    """Two folders of a study hold the same to the bit."""
    trials = [load(folder).trials for folder in (one, other)]
    same = [name for name in trials[0] if not name.endswith(FREE)]
    assert trials[0][same].equals(trials[1][same])
    for name in ("comparisons.csv", "curves.parquet", "report.md", "report.html"):
        contents = [DIFFERS.sub(b"", (of / name).read_bytes()) for of in (one, other)]
        assert contents[0] == contents[1], name


@pytest.mark.slow
def test_without_ray_it_says_how_to_install_it(write, tmp_path, monkeypatch):
    (tmp_path / "ray.py").write_text("raise ImportError\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    done = on_ray(write(TOY_STUDY))
    assert (done.returncode, done.stdout) == (2, "")
    assert "is not installed. Install it: pip install 'ray>=2.60'" in done.stderr
    assert not records(tmp_path)


@pytest.mark.slow
def test_a_local_run_does_not_import_ray(write, tmp_path):
    study = write(TOY_STUDY)
    ablate_without({"ray"}, "run", study, "--jobs", "1", cwd=tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("address", ["127.0.0.1:1", "no.such.host:6379", "ray://127.0.0.1:10001", "nonsense"])
def test_where_no_cluster_answers_it_says_so(write, tmp_path, monkeypatch, address):
    pytest.importorskip("ray", reason=WITHOUT)
    monkeypatch.setenv("RAY_ADDRESS", address)
    done = on_ray(write(TOY_STUDY), timeout=30)
    assert done.returncode == 2
    assert f"--engine ray: the cluster at {address} cannot be used: " in done.stderr
    assert "Traceback" not in done.stderr
    assert not records(tmp_path)


# A worker on a node, without a cluster.


def relayed(reference, trial, files, answer=lambda event: False):
    """The events of a trial that another machine has sent here."""
    relay = Relay(reference, "ablate-of-a-test")
    for event in relay.train(trial, files):
        yield event
        if isinstance(event, Progress) and trial.prunable:
            relay.tell(trial.id, answer(event))
    for pool in relay.pools.values():
        pool.close()


@pytest.fixture
def elsewhere(tmp_path):
    """A reference to a plugin that this machine has not, at the driver's path; the plugin, and what brings it."""
    (tmp_path / "driver").mkdir()
    plugin = Path(shutil.copy(TOY, tmp_path / "driver"))
    known = load_plugin(plugin)
    content = plugin.read_bytes()
    files = {str(plugin): (digest_of_file(plugin), lambda: content)}
    shutil.rmtree(tmp_path / "driver")
    yield WorkloadRef("toy", (known,), folder=plugin.parent, watched=(plugin,)), files
    clean("ablate-of-a-test")


@pytest.mark.slow
def test_a_node_trains_with_files_that_it_lacks_and_records_name_those_of_the_driver(elsewhere, tmp_path):
    reference, files = elsewhere
    raising, calm = (toy_trials(tmp_path, *sets)[0] for sets in (["training.fault=raise"], []))
    (*_, ended) = relayed(reference, raising, files)
    (plugin,) = files
    assert isinstance(ended, Ended)
    assert f'File "{plugin}"' in ended.record.error
    assert "ablate-of-a-test" not in str(ended.record)
    (*_, ended) = relayed(reference, calm, files)
    (local,) = run(LocalPool(TOY_REF, 1), [calm])
    assert content(ended.record) == content(local)
    written = Path("/tmp/ablate-of-a-test")
    assert written.is_dir()
    clean("ablate-of-a-test")
    assert not written.exists()


@pytest.mark.slow
def test_a_node_says_what_differs_there(elsewhere):
    reference, files = elsewhere
    reference = replace(reference, identity={"device": "cpu", "numpy": "2"})
    theirs = sources(reference)
    assert {*theirs} == {"python", "torch", "ablate", "numpy", "source of ablate"}
    assert examine(theirs, reference, files, "ablate-of-a-test") == (kind(), "")
    named, why = examine(theirs | {"numpy": "9.9", "gone": "1"}, reference, files, "ablate-of-a-test")
    assert not named
    assert why.startswith(
        f"has numpy {theirs['numpy']}, and the driver 9.9 and gone missing, and the driver 1; "
    )
    broken = {path: (digest, lambda: b"import nowhere") for path, (digest, _) in files.items()}
    clean("ablate-of-a-test")
    named, why = examine(theirs, reference, broken, "ablate-of-a-test")
    assert not named
    assert "cannot load the code of the study (ModuleNotFoundError: No module named 'nowhere" in why


@pytest.mark.slow
def test_an_answer_reaches_a_trial_that_waits_for_it(elsewhere, tmp_path):
    reference, files = elsewhere
    trial = replace(toy_trials(tmp_path)[0], prunable=True)
    (*_, ended) = relayed(reference, trial, files, lambda event: event.step == 2)
    assert (ended.record.status, ended.record.curves["train_loss"].steps.tolist()) == ("pruned", [1, 2])


def test_files_that_do_not_arrive_lose_the_trial_alone(elsewhere, tmp_path):
    reference, files = elsewhere

    def gone():
        raise OSError("gone")

    trial = toy_trials(tmp_path)[0]
    (event,) = relayed(reference, trial, {path: (digest, gone) for path, (digest, _) in files.items()})
    assert isinstance(event, WorkerLost)
    assert event.fate.startswith("could not be started: ")


# On a cluster


@pytest.mark.parametrize(
    ("nodes", "text"),
    [("2 workers of 1 node", TOY_STUDY), pytest.param("2 workers of 2 nodes", TINY, marks=pytest.mark.slow)],
)
@pytest.mark.slow
def test_numbers_tables_and_report_are_those_of_the_local_pool(write, tmp_path, monkeypatch, nodes, text):
    pytest.importorskip("ray", reason=WITHOUT)
    if nodes.endswith("s"):
        two_nodes()
    else:
        monkeypatch.setenv("RAY_ADDRESS", "local")
    study = write(text)
    done = on_ray(study, "--jobs", 2)
    assert done.returncode == 0, done.stderr
    assert f"trials to train on {nodes} (" in done.stdout
    assert ablate("run", study, "--jobs", 2, "--results", "local", cwd=tmp_path).returncode == 0
    (name,) = (path.name for path in (tmp_path / "local").iterdir() if path.name != "store")
    same(tmp_path / "results" / name, tmp_path / "local" / name)
    assert "Nothing to train" in on_ray(study).stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "name", "text"),
    [
        ("run", "toy", TOY_STUDY.replace("seeds: 3", "seeds: {min: 3, max: 6}")),
        ("sweep", "peaks", PEAK_STUDY + SEARCHED),
    ],
)
def test_searches_and_seeds_until_settled_run_on_it_unchanged(write, tmp_path, command, name, text):
    two_nodes()
    study = write(text)
    done = on_ray(study, command=command)
    assert done.returncode == 0, done.stderr
    local = ablate(command, study, "--jobs", 2, "--results", "local", cwd=tmp_path)
    assert local.returncode == 0, local.stderr
    same(tmp_path / "results" / name, tmp_path / "local" / name)


@pytest.mark.slow
def test_the_plan_says_how_many_trials_run_at_once(write, tmp_path):
    two_nodes()
    study = write(TOY_STUDY)
    plan = ablate("plan", study, "--engine", "ray", cwd=tmp_path)
    assert "9 trials to train on 2 workers of 2 nodes" in plan.stdout
    plan = ablate("plan", study, "--engine", "ray", "--jobs", 1, cwd=tmp_path)
    assert "9 trials to train on 1 worker of 2 nodes" in plan.stdout


@pytest.mark.slow
def test_a_node_that_is_lost_costs_the_trials_in_flight_and_no_others(write, tmp_path):
    with cluster(1, 2) as made:
        driver = start(write(SLOW_TRIALS.replace("0.5", "4")), "--engine", "ray", jobs=3)
        wait_for(lambda: len(records(tmp_path)) >= 3, 90)
        made.remove_node(*made.worker_nodes, allow_graceful=False)
        stdout, stderr = driver.communicate(timeout=120)
    assert driver.returncode == 0, stderr
    assert "1 node." in stdout
    found = [Store(tmp_path / "results/store").load(trial) for trial in records(tmp_path)]
    assert {record.status for record in found} == {"completed"}
    assert 1 <= sum(record.attempts == 2 for record in found) <= 2


@pytest.mark.slow
def test_a_driver_that_is_killed_goes_on_where_it_was(write, tmp_path):
    two_nodes()
    study = write(SLOW_TRIALS)
    driver = start(study, "--engine", "ray")
    wait_for(lambda: len(records(tmp_path)) >= 4, 90)
    driver.kill()
    driver.communicate()
    wait_for(lambda: not workers_of(tmp_path), 30)
    kept = records(tmp_path)
    assert 4 <= len(kept) < 12
    done = on_ray(study)
    assert done.returncode == 0, done.stderr
    assert f"{len(kept)} already in the store" in done.stdout
    assert kept.items() <= records(tmp_path).items()
    assert len(records(tmp_path)) == 12


@pytest.mark.slow
def test_workers_that_idle_on_a_node_that_is_lost_cost_no_trial(tmp_path):
    trials = toy_trials(tmp_path)
    with cluster(1, 2) as made:
        engine, heard = RayCluster(TOY_REF, 3), []
        supervised = Supervised(engine)
        try:
            supervised.run(trials[:3], lambda event: bool(heard.append(event)))
            made.remove_node(*made.worker_nodes, allow_graceful=False)
            supervised.run(trials[3:], lambda event: bool(heard.append(event)))
        finally:
            supervised.close()
    assert {event.record.status for event in heard if isinstance(event, Ended)} == {"completed"}


@pytest.mark.slow
def test_a_cluster_that_is_full_is_waited_for_and_a_node_that_comes_trains(write, tmp_path):
    with cluster(1) as made:
        import ray

        ray.init(logging_level="ERROR")

        @ray.remote(num_cpus=1)
        class Other:
            def here(self):
                return True

        other = Other.remote()
        ray.get(other.here.remote())
        driver = start(write(TOY_STUDY), "--engine", "ray")
        waits = "1 node. Waiting for the cluster: its nodes are in use.\n"
        assert waits in iter(driver.stdout.readline, "")
        assert not records(tmp_path)
        made.add_node(num_cpus=1)
        _, stderr = driver.communicate(timeout=120)
        assert driver.returncode == 0, stderr
        assert ray.get(other.here.remote())
    assert len(records(tmp_path)) == 9


@pytest.mark.slow
def test_what_no_node_can_train_is_refused_with_the_reason(tmp_path):
    two_nodes()
    study = tmp_path / "study.yaml"
    study.write_text(
        toy_changed(tmp_path, "wide", ("class Toy(Workload):", "class Toy(Workload):\n    threads = 64"))
    )
    done = on_ray(study, timeout=60)
    assert done.returncode == 2
    assert "the cluster has no node for this study: " in done.stderr
    assert "has less than 64 CPU" in done.stderr
    study.write_text(TOY_STUDY + "resources: {kind: abacus}\n")
    done = on_ray(study, timeout=60)
    assert done.returncode == 2
    assert "the cluster has no node of kind 'abacus' for this study: " in done.stderr
    assert "is of another kind: " in done.stderr
    assert not records(tmp_path)


@pytest.mark.slow
def test_a_node_with_another_version_is_left_out_and_named(write, tmp_path):
    other = tmp_path / "other"
    (other / "torch-9.9.dist-info").mkdir(parents=True)
    (other / "torch-9.9.dist-info/METADATA").write_text("Metadata-Version: 2.1\nName: torch\nVersion: 9.9\n")
    with cluster(1) as made:
        made.add_node(num_cpus=4, env_vars={"PYTHONPATH": str(other)})
        made.wait_for_nodes()
        done = on_ray(write(TOY_STUDY))
    assert done.returncode == 0, done.stderr
    assert "on 1 worker of 1 node" in done.stdout
    assert "has torch 9.9, and the driver 2." in done.stdout


GOES_ON = """
import os, sys
assert not os.path.exists("last.ckpt")
open("last.ckpt", "w").close()
print("loss", 3 - float(sys.argv[1]) + 0.001 * int(sys.argv[2]))
"""
OWN = """
name: own
workload: {command: "PYTHON train.py {rate} {seed}", read: {loss: 'loss (\\S+)'}, parallel: on}
config: {rate: 0.1}
metrics: {loss: {direction: min, margin: 0.05}}
factors: {config.rate: [0.5]}
seeds: 3
"""


@pytest.mark.slow
def test_trials_of_ones_own_code_have_copies_of_their_own(write, tmp_path, monkeypatch):
    pytest.importorskip("ray", reason=WITHOUT)
    monkeypatch.setenv("RAY_ADDRESS", "local")
    (tmp_path / "train.py").write_text(GOES_ON)
    (tmp_path / "last.ckpt").write_text("of a run by hand")
    done = on_ray(write(OWN.replace("PYTHON", sys.executable)), "--jobs", 2)
    assert done.returncode == 0, done.stdout + done.stderr
    (row,) = load(tmp_path / "results/own").comparisons.itertuples()
    assert (row.n, row.verdict) == (3, "better")
    assert len([*tmp_path.glob("results/store/runs/*/last.ckpt")]) == 6
