"""The engine of `--engine ray`: workers of the local pool on the nodes of a Ray cluster.

Each is held by an actor, a `Relay`. The driver gives an actor one trial at a time, and makes a new one where one dies:
Ray itself repeats nothing, so that no trial is begun twice without the driver.
"""

from __future__ import annotations

import importlib
import os
import secrets
import socket
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from ablate.base.errors import AblateError, Problem, described
from ablate.base.files import digest_of_file
from ablate.base.process import interruptible
from ablate.base.registry import register
from ablate.base.wording import counted, joined
from ablate.core.events import Capacity, Ended, Engine, Hear, Idle, Lost, Progress, Told
from ablate.core.trial import Trial
from ablate.execution.engines.local_pool import Server
from ablate.execution.relay import Files, Relay, clean, examine, sources
from ablate.execution.trial import WorkloadRef

# Seconds for nodes to say what they are, and for one that can train to come where the cluster adds none.
PATIENCE = 12.0
# Seconds without a trial on any node after which it is said what is waited for.
PAUSE = 3.0
# Trials without a node of which the cluster is told at a time, so that it may grow.
DEMAND = 64
LOCAL = "this machine"


@dataclass
class _Node:
    """A node of the cluster."""

    id: str
    name: str
    slots: int  # Trials that it runs at once, where it does nothing else.
    asked: Any = None  # What it will say of itself; None once it has.
    kind: str = ""
    fault: str = ""  # Why it cannot train.


@dataclass(eq=False)
class _Worker:
    """An actor, and what is awaited of it: that it has begun, or the next event of its trial."""

    actor: Any
    node: _Node
    awaited: Any
    trial: Trial | None = None


@register("engine", "ray")
class RayCluster(Engine):
    """Workers on the nodes of one kind; where there is no cluster, on one that is started on this machine."""

    def __init__(self, reference: WorkloadRef, jobs: int | None = None, server: Server | None = None) -> None:
        """`jobs`: most trials at once. Raises `AblateError` where Ray is missing."""
        try:
            self.ray: Any = importlib.import_module("ray")
        except ImportError:
            raise _refusal("Ray", "is not installed", "Install it: pip install 'ablate[ray]'") from None
        self.reference, self.most = reference, jobs or (sys.maxsize if reference.parallel else 1)
        self.takes: dict[str, float] = {"CPU": reference.resources.cpus or reference.threads}
        if reference.device == "cuda":
            self.takes["GPU"] = reference.resources.gpus
        self.folder = f"ablate-{secrets.token_hex(8)}"
        self.kind = self._said = ""
        self._nodes: dict[str, _Node] = {}
        self._workers: list[_Worker] = []
        self._demand: list[Any] = []
        self._contents: dict[str, Any] = {}
        self._stopped: set[str] = set()
        self._connected = False

    def capacity(self) -> Capacity:
        """Connects, and gives nodes some seconds to say what they are."""
        self._connect()
        self._look()
        if not self._usable():
            self._ready([node.asked for node in self._nodes.values() if node.asked], PATIENCE)
            self._look()
        nodes = self._usable()
        where = f"{counted(len(nodes), 'node')} ({self.kind})" if nodes else "a cluster that has no room yet"
        return Capacity(max(1, min(self.most, sum(node.slots for node in nodes))), f" of {where}")

    def run(self, trials: Sequence[Trial], hear: Hear) -> None:
        """Hands out trials in order, as workers come free; see `Engine.run`."""
        self._hear, self._waiting = hear, list(reversed(trials))
        self.capacity()
        self._trained = looked = time.monotonic()
        self._staff()
        for worker in self._workers:
            if worker.awaited is None:
                self._occupy(worker)
        while self._waiting or any(worker.trial for worker in self._workers):
            awaited = {worker.awaited: worker for worker in self._workers if worker.awaited is not None}
            for found in self._ready([*awaited], 0.2):
                self._receive(awaited[found])
            if time.monotonic() - looked > 1:
                self._look()
                self._staff()
                self._wait()
                looked = time.monotonic()
            hear(Idle())

    def stop(self, trial_id: str, why: str) -> None:
        """Has the worker killed that runs the trial, which is `Lost` when it is."""
        for worker in self._workers:
            if worker.trial and worker.trial.id == trial_id and trial_id not in self._stopped:
                self._stopped.add(trial_id)
                self._tell(worker, why)

    def close(self) -> None:
        """Ends all workers, whatever they do, and leaves nothing on the nodes."""
        if self.ray.is_initialized():
            for worker in self._workers:
                self.ray.kill(worker.actor)
            own = self.ray.get_runtime_context().get_node_id()
            others = [node for node in self._usable() if node.id != own]
            self._ready([self._on(node)(clean).remote(self.folder) for node in others], 5, every=True)
        self._workers, self._nodes, self._demand, self._contents = [], {}, [], {}
        if self._connected:
            self.ray.shutdown()
            self._connected = False

    def _connect(self) -> None:
        """Raises `AblateError` where that is not possible."""
        if self.ray.is_initialized():
            return
        address = os.environ.get("RAY_ADDRESS", "")
        host, _, port = address.rpartition(":")
        if "://" in address:
            hint = "Run it on the cluster, by `ray job submit`; see `ablate guide cluster`"
            raise _refusal(address, "is for Ray's client, which ends a run when its connection fails", hint)
        os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # Ray would warn of its future.
        begin = partial(self.ray.init, log_to_driver=False, logging_level="ERROR")
        try:
            if host:  # Ray would try for two minutes, and then end the process.
                socket.create_connection((host, int(port)), 5).close()
            # Ray's answer to SIGTERM would be to end the process at once.
            with interruptible():
                try:
                    begin(address or "auto")
                except ConnectionError:
                    if address:
                        raise
                    begin("local", include_dashboard=False)
        except (Exception, SystemExit) as error:
            hint = "Start one with `ray start --head`, or unset RAY_ADDRESS"
            raise _refusal(address or LOCAL, f"no cluster answers: {described(error)[0]}", hint) from None
        self._connected = True

    def _look(self) -> None:
        """Which nodes there are, and what they have said; asks those that are new, and chooses the kind."""
        alive = {node["NodeID"]: node for node in self.ray.nodes() if node["Alive"]}
        self._nodes = {i: node for i, node in self._nodes.items() if i in alive}
        files = {file for plugin in self.reference.plugins for file in plugin.files.values()}
        for i in alive.keys() - self._nodes.keys():
            has = alive[i]["Resources"]
            slots = min(int(has.get(name, 0) / amount + 1e-9) for name, amount in self.takes.items())
            self._nodes[i] = node = _Node(i, alive[i]["NodeName"], slots)
            if slots:
                sent = self._files({file: digest_of_file(file) for file in files})
                node.asked = self._on(node)(examine).remote(sources(), self.reference, sent, self.folder)
        for node in self._nodes.values():
            if node.asked and self._ready([node.asked]):
                try:
                    node.kind, node.fault = self.ray.get(node.asked)
                except self.ray.exceptions.RayError as error:
                    node.fault = f"cannot run ablate ({_why(error)}); install the same on all"
                node.asked = None
        room = Counter[str]()
        for node in self._nodes.values():
            room[node.kind] += node.slots
        fitting = [kind for kind in sorted(room) if kind and self.reference.resources.kind in kind]
        self.kind = self.kind or max(fitting, key=room.__getitem__, default="")

    def _usable(self) -> list[_Node]:
        return [
            node for node in self._nodes.values() if node.kind and node.kind == self.kind and not node.fault
        ]

    def _staff(self) -> None:
        """Begins workers where there is room and need, spread over the nodes; asks for nodes where there is no room."""
        need = min(self.most, len(self._waiting) + sum(worker.trial is not None for worker in self._workers))
        used = Counter(worker.node.id for worker in self._workers)
        places = [(place, node) for node in self._usable() for place in range(used[node.id], node.slots)]
        places.sort(key=lambda place: place[0])
        takes = {"num_cpus": self.takes["CPU"], "num_gpus": self.takes.get("GPU", 0)}
        for _, node in places[: max(0, need - len(self._workers))]:
            actor = self._on(node, **takes, concurrency_groups={"control": 1})(Relay)
            begun = actor.remote(self.reference, self.folder)
            self._workers.append(_Worker(begun, node, begun.begun.remote()))
        # What makes a cluster grow is tasks without a node: these do nothing, and end with the driver.
        if len(self._ready(self._demand)) == len(self._demand):
            task = self.ray.remote(**takes, max_retries=0)(lambda: None)
            self._demand = [task.remote() for _ in range(min(DEMAND, need - len(self._workers)))]

    def _wait(self) -> None:
        """Says what is waited for and what is left out. Raises `AblateError` where there is nothing to wait for."""
        now, nodes = time.monotonic(), [*self._nodes.values()]
        unfit = [f"node {node.name} {why}" for node in nodes if (why := self._unfit(node))]
        asked, states = any(node.asked for node in nodes), [f"Left out: {'; '.join(unfit)}."] if unfit else []
        if any(worker.trial for worker in self._workers):
            self._trained = now
        elif self._usable() and now - self._trained > PAUSE:
            states.append("Waiting for the cluster: its nodes are in use.")
        elif not self._usable() and not asked:
            if _grows(self.ray):
                states.append("Waiting for the cluster, which is adding nodes.")
            elif now - self._trained > PATIENCE or any(node.fault for node in nodes):
                raise _refusal("the cluster", f"has no node for this study: {'; '.join(unfit)}")
        if (said := " ".join(states)) != self._said:
            self._said = said
            self._hear(Told(said))

    def _unfit(self, node: _Node) -> str:
        """Why a node does not train, where that is known."""
        if not node.slots:
            return f"has less than {joined([f'{amount:g} {name}' for name, amount in self.takes.items()])}"
        return node.fault or (f"is of another kind: {node.kind}" if node.kind not in ("", self.kind) else "")

    def _occupy(self, worker: _Worker) -> None:
        """Gives a worker the next trial, if there is one."""
        worker.trial = worker.awaited = None
        if self._waiting:
            worker.trial = trial = self._waiting.pop()
            self._stopped.discard(trial.id)
            train = worker.actor.train.options(num_returns="streaming")
            worker.awaited = train.remote(trial, self._files(trial.files))

    def _receive(self, worker: _Worker) -> None:
        trial = worker.trial
        try:
            event = self.ray.get(worker.awaited if trial is None else next(worker.awaited))
        except (self.ray.exceptions.RayError, StopIteration) as error:
            self._workers.remove(worker)
            if trial:
                self._hear(Lost(trial.id, f"the worker on node {worker.node.name} was lost"))
            else:
                worker.node.fault = f"cannot hold a worker ({_why(error)})"
            return
        if isinstance(event, Ended) and trial:
            # Of the node are its machine and its versions; the study is where the driver is.
            here = self.reference.environment()
            event.record.config = trial.config
            event.record.environment |= {key: here[key] for key in ("command", "commit", "dirty")}
        if trial is None or isinstance(event, (Ended, Lost)):
            self._occupy(worker)
        if trial:
            answer = self._hear(event)
            if isinstance(event, Progress) and trial.prunable:
                self._tell(worker, answer)

    def _tell(self, worker: _Worker, message: bool | str) -> None:
        if worker.trial:
            worker.actor.tell.options(concurrency_group="control").remote(worker.trial.id, message)

    def _files(self, digests: Mapping[str, str]) -> Files:
        """The files, with what fetches their content; Ray gets each content once."""
        for path, digest in digests.items():
            if digest not in self._contents:
                self._contents[digest] = self.ray.put(Path(path).read_bytes())
        return {
            path: (digest, partial(self.ray.get, self._contents[digest])) for path, digest in digests.items()
        }

    def _ready(self, references: list[Any], seconds: float = 0, every: bool = False) -> list[Any]:
        """Those of the references that are there, after at most some seconds, as soon as one is, or every one."""
        if references and seconds:
            self.ray.wait(references, num_returns=len(references) if every else 1, timeout=seconds)
        return self.ray.wait(references, num_returns=len(references), timeout=0)[0] if references else []

    def _on(self, node: _Node, **options: Any) -> Any:
        """The decorator of what runs on a node, of which it takes nothing unless `options` say so."""
        place = self.ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(node.id, soft=False)
        return self.ray.remote(**{"num_cpus": 0} | options, scheduling_strategy=place)


def _grows(ray: Any) -> bool:
    """Whether the cluster is adding nodes."""
    sdk = importlib.import_module("ray.autoscaler.v2.sdk")
    status = sdk.get_cluster_status(ray.get_runtime_context().gcs_address)
    return bool(status.pending_launches or status.pending_nodes)


def _why(error: BaseException) -> str:
    """What Ray says, or the code on a node, in a line."""
    return described(getattr(error, "cause", None) or error)[0]


def _refusal(who: str, rule: str, hint: str = "See `ablate guide cluster`") -> AblateError:
    return AblateError(str(Problem(f"{who}: {rule}", hint=hint, source="--engine ray")))
