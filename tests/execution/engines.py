"""The engines that the contract is held against; one that is added here passes it, or is none."""

import os
from pathlib import Path

from harness import TOY, TOY_STUDY

from ablate.base.plugins import load_plugin
from ablate.core.events import Ended, Progress
from ablate.execution.in_process import InProcess
from ablate.execution.local_pool import LocalPool
from ablate.execution.supervisor import Supervised
from ablate.execution.trial import WorkloadRef
from ablate.study.prepare import prepare

TOY_REF = WorkloadRef("toy", (load_plugin(TOY),), command="a test")

ENGINES = {"in process": InProcess, "two workers": lambda reference: LocalPool(reference, 2)}


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
        heard.append(event)
        return isinstance(event, Progress) and decide(event)

    try:
        Supervised(engine).run(trials, hear)
    finally:
        engine.close()
    assert not children(workers=False), "a process was left behind"
    records = {event.record.id: event.record for event in heard if isinstance(event, Ended)}
    return [records[trial.id] for trial in trials]


def children(workers=True):
    """The processes of workers, or those of the servers that have started them."""
    servers = below(os.getpid())
    return [worker for server in servers for worker in below(server)] if workers else servers


def below(pid):
    listed = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [p for p in map(int, listed) if b"ablate.execution." in Path(f"/proc/{p}/cmdline").read_bytes()]


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def steps(record):
    return int(record.curves["train_loss"].steps[-1])
