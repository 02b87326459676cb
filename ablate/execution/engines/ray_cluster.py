"""The engine of `--engine ray`: workers of the local pool on the nodes of a Ray cluster.

Each is held by an actor, a `Relay`. The driver gives an actor one trial at a time, and makes a new one where one dies:
Ray itself repeats nothing, so that no trial is begun twice without the driver.
"""

from __future__ import annotations

import copy
import sys
import time
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ablate.base.errors import listed
from ablate.base.wording import counted
from ablate.core.events import (
    Capacity,
    Ended,
    Engine,
    EngineEvent,
    EngineMessage,
    Idle,
    OnEvent,
    Progress,
    WorkerLost,
)
from ablate.core.trial import Trial
from ablate.execution.engines.local_pool import Server
from ablate.execution.nodes import Node, Nodes, cause_of, refusal
from ablate.execution.relay import Relay
from ablate.execution.run_trial import WorkloadRef
from ablate.records.environment import ORIGIN

if TYPE_CHECKING:
    from ray import ObjectRef, ObjectRefGenerator
    from ray.actor import ActorHandle

# Seconds for a node that can train to come where the cluster adds none; nodes have twice that to say what they are.
PATIENCE = 12.0
PAUSE = 10.0  # Seconds without a trial until it says what it waits for: longer than a worker takes to begin.
LOOK = 1.0  # Seconds between two looks at the nodes of the cluster.
DEMAND = 64  # Trials without a node of which the cluster is told at a time, so that it may grow.


@dataclass(eq=False)
class _Worker:
    """An actor, and what is awaited of it: that it has begun, or the next event of its trial."""

    actor: ActorHandle[Relay]
    node: Node
    awaited: ObjectRef | ObjectRefGenerator | None
    trial: Trial | None = None

    @property
    def has_begun(self) -> bool:
        """Whether it trains, or could."""
        return self.trial is not None or self.awaited is None


class RayCluster(Engine):
    """Workers on the nodes of one kind; where there is no cluster, on one that is started on this machine."""

    name = "ray"

    def __init__(self, reference: WorkloadRef, jobs: int | None = None, server: Server | None = None) -> None:
        """`jobs`: most trials at once. Raises `AblateError` where Ray is missing."""
        self.reference = reference
        self.max_trials = jobs or (sys.maxsize if reference.parallel else 1)
        self.nodes = Nodes(reference)
        self.ray = self.nodes.ray
        self._workers: list[_Worker] = []
        # Trials without a worker, the next one last.
        self._waiting: list[Trial] = []
        # Tasks that wait for a node, and do nothing.
        self._demand: list[ObjectRef] = []
        # When a trial ran last, or there was another reason to wait.
        self._trained = 0.0
        self._said = ""

    def capacity(self) -> Capacity:
        """Connects, gives nodes some seconds to say what they are, and returns how many trials they take."""
        self.nodes.connect()
        self._look(0 if self.nodes.kind else 2 * PATIENCE)
        nodes = self.nodes.usable()
        slots = sum(node.slots for node in nodes)
        kind = self.nodes.kind or "none has reported its kind yet"
        return Capacity(max(1, min(self.max_trials, slots)), f" of {counted(len(nodes), 'node')} ({kind})")

    def run(self, trials: Sequence[Trial], on_event: OnEvent) -> None:
        """Hands out trials in order, as workers come free; see `Engine.run`."""
        self._on_event = on_event
        self._waiting = list(reversed(trials))
        self.capacity()
        self._said = self._said or f"{counted(len(self.nodes.usable()), 'node')}."
        self._trained = time.monotonic()
        looked = 0.0
        for worker in self._workers:
            if worker.awaited is None:
                self._occupy(worker)
        while self._waiting or self._is_training():
            if time.monotonic() - looked > LOOK:
                self._look()
                self._staff()
                self._say_what_is_awaited()
                looked = time.monotonic()
            awaited = {worker.awaited: worker for worker in self._workers if worker.awaited is not None}
            for reference in self.nodes.ready(list(awaited), 0.2):
                self._receive(awaited[reference])
            time.sleep(0 if awaited else 0.2)
            on_event(Idle())

    def stop(self, trial_id: str, why: str) -> None:
        """Kills the worker that runs a trial, which then ends as `WorkerLost`."""
        for worker in self._workers:
            if worker.trial is not None and worker.trial.id == trial_id:
                self._tell(worker, trial_id, why)

    def close(self) -> None:
        """Ends all workers, whatever they do, and leaves nothing on the nodes."""
        for worker in self._workers:
            self.ray.kill(worker.actor)
        self._workers = []
        self._demand = []
        self.nodes.close()

    def _is_training(self) -> bool:
        """Returns whether some worker has a trial."""
        return any(worker.trial is not None for worker in self._workers)

    def _look(self, seconds: float = 0) -> None:
        """Looks at the nodes; one that says what it is, is a reason to wait."""
        if self.nodes.look(seconds):
            self._trained = time.monotonic()

    def _staff(self) -> None:
        """Begins workers where there is room and need, spread over the nodes; asks for nodes where there is no room."""
        begun = [worker for worker in self._workers if worker.has_begun]
        training = [worker for worker in begun if worker.trial is not None]
        need = min(self.max_trials, len(self._waiting) + len(training)) - len(begun)
        takes = {"num_cpus": self.nodes.takes["CPU"], "num_gpus": self.nodes.takes["GPU"]}
        for node in self._free_slots(begun)[: max(0, need)]:
            relay = self.nodes.on(node, **takes, concurrency_groups={"control": 1})(Relay)
            actor = relay.remote(self.reference, self.nodes.folder)
            self._workers.append(_Worker(actor, node, actor.__ray_ready__.remote()))
        # Tasks without a node make a cluster grow: these do nothing, and end with the driver.
        if len(self.nodes.ready(self._demand)) == len(self._demand):
            task = self.ray.remote(**takes, max_retries=0)(lambda: None)
            self._demand = [task.remote() for _ in range(min(DEMAND, need))]

    def _free_slots(self, begun: Collection[_Worker]) -> list[Node]:
        """Returns the node of each free slot: first one of each node, then a second one, and so on."""
        # Where a worker has not begun, the node may be in use.
        pending = {worker.node.id for worker in self._workers if not worker.has_begun}
        used = Counter(worker.node.id for worker in begun)
        slots: list[tuple[int, Node]] = []
        for node in self.nodes.usable():
            if node.id not in pending:
                slots += [(slot, node) for slot in range(used[node.id], node.slots)]
        slots.sort(key=lambda slot: slot[0])
        return [node for _, node in slots]

    def _say_what_is_awaited(self) -> None:
        """Says what is waited for and what is left out. Raises `AblateError` where there is nothing to wait for."""
        text = f"{counted(len(self.nodes.usable()), 'node')}."
        # A head that trains nothing is usual.
        left_out = self.nodes.left_out()
        with_slots = [node for node, slots in left_out.items() if slots]
        if with_slots:
            text += f" Left out: {listed(with_slots, 3)}."
        text += self._reason_to_wait(left_out)
        if text != self._said:
            self._said = text
            self._on_event(EngineMessage(text))

    def _reason_to_wait(self, left_out: Collection[str]) -> str:
        """Returns a sentence on what the driver waits for, with a space before it; empty where nothing need be said.

        Raises `AblateError`, which names the nodes left out, where no node can train and none is to come.
        """
        now = time.monotonic()
        if self._is_training():
            self._trained = now
            return ""
        if self.nodes.usable():
            is_long = now - self._trained > PAUSE
            return " Waiting for the cluster: its nodes are in use." if is_long else ""
        if self.nodes.are_added():
            self._trained = now
            return " Waiting for the cluster, which is adding nodes."
        if self.nodes.are_asked:
            return " Waiting for nodes to report their kind."
        if now - self._trained > PATIENCE:
            kind = self.reference.resources.kind
            of_kind = f" of kind {kind!r}" if kind else ""
            raise refusal("the cluster", f"has no node{of_kind} for this study: {listed(left_out, 3)}")
        return ""

    def _occupy(self, worker: _Worker) -> None:
        """Gives a worker the next trial, if there is one."""
        worker.trial = None
        worker.awaited = None
        if self._waiting:
            trial = self._waiting.pop()
            files = self.nodes.files({**self.nodes.code, **trial.files})
            worker.trial = trial
            worker.awaited = worker.actor.train.options(num_returns="streaming").remote(trial, files)

    def _receive(self, worker: _Worker) -> None:
        """Handles the awaited message of a worker: its start, or the next event of its trial."""
        trial = worker.trial
        try:
            reference = worker.awaited if trial is None else next(worker.awaited)  # type: ignore[arg-type]
            # A copy: what Ray gives lies in its store for as long as any array of it is used, and is read-only.
            message = copy.deepcopy(self.ray.get(reference))
        except (self.ray.exceptions.RayError, StopIteration) as error:
            self._lose(worker, cause_of(error))
            return
        if trial is None:
            self._occupy(worker)
        else:
            self._take(worker, trial, message)

    def _lose(self, worker: _Worker, cause: str) -> None:
        """Gives up a worker, with those that idle on its node, which may be lost as well."""
        self._workers = [
            other for other in self._workers if other.node is not worker.node or other.awaited is not None
        ]
        self._workers.remove(worker)
        if worker.trial is None:
            worker.node.fault = f"cannot hold a worker ({cause})"
        else:
            fate = f"the worker on node {worker.node.name} was lost ({cause})"
            self._on_event(WorkerLost(worker.trial.id, fate))

    def _take(self, worker: _Worker, trial: Trial, event: EngineEvent) -> None:
        """Passes an event of a trial on, and sends the answer for which a report waits."""
        if isinstance(event, Ended):
            # Machine and versions are those of the node; the study is where the driver is.
            here = self.reference.environment()
            event.record.environment |= {key: here[key] for key in ORIGIN if key in here}
        if isinstance(event, Ended | WorkerLost):
            self._occupy(worker)
        answer = self._on_event(event)
        if isinstance(event, Progress) and trial.prunable:
            self._tell(worker, trial.id, answer)

    def _tell(self, worker: _Worker, trial_id: str, message: bool | str) -> None:
        """Has a worker take an answer, or end its trial by force."""
        worker.actor.tell.options(concurrency_group="control").remote(trial_id, message)
