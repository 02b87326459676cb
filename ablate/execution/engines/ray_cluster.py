"""The engine of `--engine ray`: workers of the local pool on the nodes of a Ray cluster.

Each is held by an actor, a `Relay`. The driver gives an actor one trial at a time, and makes a new one where one dies:
Ray itself repeats nothing, so that no trial is begun twice without the driver.
"""

from __future__ import annotations

import copy
import importlib
import os
import socket
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from ablate.base.errors import AblateError, Problem, described, listed
from ablate.base.files import digest_of_file
from ablate.base.process import interruptible
from ablate.base.wording import counted
from ablate.core.events import Capacity, Ended, Engine, Hear, Idle, Lost, Progress, Told
from ablate.core.trial import Trial
from ablate.execution.engines import ENGINES
from ablate.execution.engines.local_pool import Server
from ablate.execution.relay import Files, Relay, clean, examine, sources
from ablate.execution.trial import WorkloadRef

# Seconds for a node that can train to come where the cluster adds none; nodes have twice that to say what they are.
PATIENCE = 12.0
PAUSE = 10.0  # Seconds without a trial until it says what it waits for: longer than a worker takes to begin.
DEMAND = 64  # Trials without a node of which the cluster is told at a time, so that it may grow.


@dataclass
class _Node:
    """A node of the cluster."""

    id: str
    name: str
    slots: int  # Trials that it runs at once, where it does nothing else.
    fault: str  # Why it cannot train, once that is known.
    kind: str = ""  # Once it is known.


@dataclass(eq=False)
class _Worker:
    """An actor, and what is awaited of it: that it has begun, or the next event of its trial."""

    actor: Any
    node: _Node
    awaited: Any
    trial: Trial | None = None


@ENGINES.register("engine", "ray")
class RayCluster(Engine):
    """Workers on the nodes of one kind; where there is no cluster, on one that is started on this machine."""

    def __init__(self, reference: WorkloadRef, jobs: int | None = None, server: Server | None = None) -> None:
        """`jobs`: most trials at once. Raises `AblateError` where Ray is missing."""
        try:
            self.ray: Any = importlib.import_module("ray")
        except ImportError:
            raise _refusal("Ray", "is not installed", "Install it: pip install 'ray>=2.60'") from None
        self.reference, self.most = reference, jobs or (sys.maxsize if reference.parallel else 1)
        gpus = reference.resources.gpus if reference.device == "cuda" else 0
        self.takes: dict[str, float] = {"CPU": reference.threads, "GPU": gpus}
        self.code = {file: digest_of_file(file) for p in reference.plugins for file in p.files.values()}
        self.folder = f"ablate-{os.urandom(8).hex()}"
        self.kind, self._said, self._connected = "", "", False
        self._nodes, self._asked = dict[str, _Node](), dict[Any, _Node]()
        self._workers, self._demand, self._contents = list[_Worker](), list[Any](), dict[str, Any]()

    def capacity(self) -> Capacity:
        """Connects, and gives nodes some seconds to say what they are."""
        self._connect()
        self._look(0 if self.kind else 2 * PATIENCE)
        nodes = self._usable()
        trials = max(1, min(self.most, sum(node.slots for node in nodes)))
        return Capacity(
            trials, f" of {counted(len(nodes), 'node')} ({self.kind or 'none has said yet what it is'})"
        )

    def run(self, trials: Sequence[Trial], hear: Hear) -> None:
        """Hands out trials in order, as workers come free; see `Engine.run`."""
        self._hear, self._waiting = hear, list(reversed(trials))
        self.capacity()
        self._said = self._said or f"{counted(len(self._usable()), 'node')}."
        self._trained, looked = time.monotonic(), 0.0
        for worker in [w for w in self._workers if w.awaited is None]:
            self._occupy(worker)
        while self._waiting or any(worker.trial for worker in self._workers):
            if time.monotonic() - looked > 1:
                self._look()
                self._staff()
                self._wait()
                looked = time.monotonic()
            awaited = {worker.awaited: worker for worker in self._workers if worker.awaited is not None}
            for found in self._ready([*awaited], 0.2):
                self._receive(awaited[found])
            time.sleep(0 if awaited else 0.2)
            hear(Idle())

    def stop(self, trial_id: str, why: str) -> None:
        """Has the worker killed that runs the trial, which is `Lost` when it is."""
        for worker in [w for w in self._workers if w.trial and w.trial.id == trial_id]:
            self._tell(worker, trial_id, why)

    def close(self) -> None:
        """Ends all workers, whatever they do, and leaves nothing on the nodes."""
        for worker in self._workers:
            self.ray.kill(worker.actor)
        others = [
            node
            for node in self._nodes.values()
            if node.slots and node.id != self.ray.get_runtime_context().get_node_id()
        ]
        self._ready([self._on(node)(clean).remote(self.folder) for node in others], 5, every=True)
        self._workers, self._nodes, self._asked, self._demand, self._contents = [], {}, {}, [], {}
        if self._connected:
            self.ray.shutdown()
            self._connected = False

    def _connect(self) -> None:
        """To RAY_ADDRESS, else to a cluster on this machine, else to one that it starts. Raises `AblateError`."""
        if self.ray.is_initialized():
            return
        host, _, port = (address := os.environ.get("RAY_ADDRESS", "")).rpartition(":")
        os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # Ray would warn of its future.
        try:
            if "://" in address:
                raise ConnectionError("Ray's client ends runs when it ends; use `ray job submit`")
            if host:  # Ray would try for two minutes, and then end the process.
                socket.create_connection((host, int(port)), 5).close()
            with interruptible():  # Ray's answer to SIGTERM would be to end the process at once.
                self.ray.init(
                    address or None, include_dashboard=False, log_to_driver=False, logging_level="ERROR"
                )
        except (Exception, SystemExit) as error:
            raise _refusal(
                f"the cluster at {address or 'this machine'}",
                f"cannot be used: {described(error)[0]}",
                "Where it asks for a token, set RAY_AUTH_MODE=token and RAY_AUTH_TOKEN; see `ablate guide cluster`",
            ) from None
        self._connected = True

    def _look(self, seconds: float = 0) -> None:
        """Which nodes there are, and what they say of themselves within some seconds; then chooses the kind."""
        alive = {node["NodeID"]: node for node in self.ray.nodes() if node["Alive"]}
        self._nodes = {i: node for i, node in self._nodes.items() if i in alive}
        for i in alive.keys() - self._nodes.keys():
            has, takes = alive[i]["Resources"], {name: n for name, n in self.takes.items() if n}
            slots = min(int(has.get(name, 0) / n + 1e-9) for name, n in takes.items())
            few = "" if slots else f"has less than {listed(f'{n:g} {name}' for name, n in takes.items())}"
            self._nodes[i] = node = _Node(i, alive[i]["NodeName"], slots, few)
            if slots:
                ask = partial(self._on(node)(examine).remote, sources(self.reference), self.reference)
                self._asked[ask(self._files(self.code), self.folder)] = node
        for told in self._ready([*self._asked], seconds, every=True):
            node, self._trained = self._asked.pop(told), time.monotonic()
            try:
                node.kind, node.fault = self.ray.get(told)
            except self.ray.exceptions.RayError as error:
                node.fault = f"cannot run ablate ({_why(error)}); install the same on all"
        if not self.kind:
            kinds = [node.kind for node in self._nodes.values() for _ in range(node.slots) if node.kind]
            room = Counter(sorted(kind for kind in kinds if self.reference.resources.kind in kind))
            self.kind = max(room, key=room.__getitem__, default="")

    def _usable(self) -> list[_Node]:
        return [
            node for node in self._nodes.values() if node.kind == self.kind and self.kind and not node.fault
        ]

    def _staff(self) -> None:
        """Begins workers where there is room and need, spread over the nodes; asks for nodes where there is no room."""
        # Where a worker has not begun, the node may be in use.
        begun = [worker for worker in self._workers if worker.trial or worker.awaited is None]
        pending = {w.node.id for w in self._workers if not w.trial and w.awaited is not None}
        need = min(self.most, len(self._waiting) + sum(worker.trial is not None for worker in begun)) - len(
            begun
        )
        used = Counter(worker.node.id for worker in begun)
        free = [node for node in self._usable() if node.id not in pending]
        places = [(place, node) for node in free for place in range(used[node.id], node.slots)]
        takes = {"num_cpus": self.takes["CPU"], "num_gpus": self.takes["GPU"]}
        for _, node in sorted(places, key=lambda place: place[0])[: max(0, need)]:
            relay = self._on(node, **takes, concurrency_groups={"control": 1})(Relay)
            actor = relay.remote(self.reference, self.folder)
            self._workers.append(_Worker(actor, node, actor.__ray_ready__.remote()))
        # Tasks without a node make a cluster grow: these do nothing, and end with the driver.
        if len(self._ready(self._demand)) == len(self._demand):
            task = self.ray.remote(**takes, max_retries=0)(lambda: None)
            self._demand = [task.remote() for _ in range(min(DEMAND, need))]

    def _wait(self) -> None:
        """Says what is waited for and what is left out. Raises `AblateError` where there is nothing to wait for."""
        usable, since, text = self._usable(), time.monotonic() - self._trained, ""
        out = {
            f"node {node.name} {node.fault or f'is of another kind: {node.kind}'}": node.slots
            for node in self._nodes.values()
            if node.fault or node.kind not in ("", self.kind)
        }
        # A head that trains nothing is usual.
        if any(out.values()):
            text = f" Left out: {listed([who for who, slots in out.items() if slots], 3)}."
        if any(worker.trial for worker in self._workers):
            self._trained = time.monotonic()
        elif usable and since > PAUSE:
            text += " Waiting for the cluster: its nodes are in use."
        elif not usable and _grows(self.ray):
            text += " Waiting for the cluster, which is adding nodes."
            self._trained = time.monotonic()
        elif not usable and self._asked:
            text += " Waiting for nodes to say what they are."
        elif not usable and since > PATIENCE:
            asked = f" of kind {self.reference.resources.kind!r}" if self.reference.resources.kind else ""
            raise _refusal("the cluster", f"has no node{asked} for this study: {listed(out, 3)}")
        if self._said != (said := f"{counted(len(usable), 'node')}.{text}"):
            self._said = said
            self._hear(Told(said))

    def _occupy(self, worker: _Worker) -> None:
        """Gives a worker the next trial, if there is one."""
        worker.trial = worker.awaited = None
        if self._waiting:
            worker.trial = trial = self._waiting.pop()
            files = self._files({**self.code, **trial.files})
            worker.awaited = worker.actor.train.options(num_returns="streaming").remote(trial, files)

    def _receive(self, worker: _Worker) -> None:
        trial = worker.trial
        try:
            # A copy: what Ray gives lies in its store for as long as any array of it is used, and is read-only.
            event = copy.deepcopy(self.ray.get(worker.awaited if trial is None else next(worker.awaited)))
        except (self.ray.exceptions.RayError, StopIteration) as error:
            # Those that idle on the node may be lost as well.
            self._workers = [w for w in self._workers if w.node is not worker.node or w.awaited is not None]
            self._workers.remove(worker)
            if trial:
                self._hear(Lost(trial.id, f"the worker on node {worker.node.name} was lost ({_why(error)})"))
            else:
                worker.node.fault = f"cannot hold a worker ({_why(error)})"
            return
        if isinstance(event, Ended):
            # Of the node are its machine and its versions; the study is where the driver is.
            here = self.reference.environment()
            event.record.environment |= {key: here[key] for key in ("command", "commit", "dirty")}
        if trial is None or isinstance(event, (Ended, Lost)):
            self._occupy(worker)
        if trial:
            answer = self._hear(event)
            if isinstance(event, Progress) and trial.prunable:
                self._tell(worker, trial.id, answer)

    def _tell(self, worker: _Worker, trial_id: str, message: bool | str) -> None:
        worker.actor.tell.options(concurrency_group="control").remote(trial_id, message)

    def _files(self, digests: Mapping[str, str]) -> Files:
        """The files, with what fetches their content; Ray gets each content once."""
        for path, digest in digests.items():
            if digest not in self._contents:
                content = Path(path).read_bytes() if os.path.isfile(path) else b""  # It fails its trials.
                self._contents[digest] = self.ray.put(content)
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
    status = importlib.import_module("ray.autoscaler.v2.sdk").get_cluster_status(
        ray.get_runtime_context().gcs_address
    )
    return bool(status.pending_launches or status.pending_nodes)


def _why(error: BaseException) -> str:
    """What Ray says, or the code on a node, in a line."""
    return described(getattr(error, "cause", None) or error)[0]


def _refusal(who: str, rule: str, hint: str = "See `ablate guide cluster`") -> AblateError:
    return AblateError(str(Problem(f"{who} {rule}", hint=hint, source="--engine ray")))
