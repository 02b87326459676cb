"""The engines that the contract is held against; one that is added here passes it, or is none."""

import os
from pathlib import Path

import pytest
from cluster import two_nodes
from drivers import wait_for
from harness import TOY, TOY_STUDY, prepare

from ablate.base.plugins import load_plugin
from ablate.core.events import Ended, EngineMessage, Progress
from ablate.execution.engines.in_process import InProcess
from ablate.execution.engines.local_pool import LocalPool
from ablate.execution.run_trial import WorkloadRef
from ablate.execution.supervisor import Supervised

TOY_REF = WorkloadRef("toy", (load_plugin(TOY),), command="a test")


def on_ray(reference, jobs=2):
    two_nodes()
    from ablate.execution.engines.ray_cluster import RayCluster

    return RayCluster(reference, jobs)


ENGINES = {"in process": InProcess, "two workers": lambda reference: LocalPool(reference, 2), "ray": on_ray}
POOLS = {"two workers": LocalPool, "ray": on_ray}
# Most of them slow on Ray, where it takes some seconds to connect and to leave.
SLOW_ON_RAY = [pytest.param(name, marks=pytest.mark.slow) if name == "ray" else name for name in ENGINES]
POOLED = SLOW_ON_RAY[1:]


def toy_cells(folder, *sets):
    """The nine cells of the toy study, with settings of a test."""
    path = folder / "study.yaml"
    path.write_text(TOY_STUDY)
    return prepare(path, sets).cells()


def toy_trials(folder, *sets):
    return [cell.trial for cell in toy_cells(folder, *sets)]


def run(engine, trials, decide=lambda report: False, heard=None):
    """Supervised, to the end; the records in order of the trials."""
    heard = [] if heard is None else heard

    def hear(event):
        if not isinstance(event, EngineMessage):
            heard.append(event)
        return isinstance(event, Progress) and decide(event)

    try:
        Supervised(engine).run(trials, hear)
    finally:
        engine.close()
    wait_for(lambda: not children(workers=False), 10)
    records = {event.record.id: event.record for event in heard if isinstance(event, Ended)}
    return [records[trial.id] for trial in trials]


def children(workers=True):
    """The processes of workers, or those of the servers that have started them, also on the nodes of our cluster."""
    servers = [pid for pid in below(os.getpid()) if ours(pid)]
    forked = [pid for server in servers for pid in below(server)]
    return forked if workers else [pid for pid in servers if pid not in forked]


def below(pid):
    found = [
        int(child)
        for task in Path(f"/proc/{pid}/task").glob("*")
        for child in read(task / "children").split()
    ]
    return [each for child in found for each in (child, *below(child))]


def ours(pid):
    return "ablate.execution." in read(Path(f"/proc/{pid}/cmdline"))


def read(path):
    """The text of a file; nothing of a process that has ended."""
    try:
        return path.read_text()
    except OSError:
        return ""


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def steps(record):
    return int(record.curves["train_loss"].steps[-1])
