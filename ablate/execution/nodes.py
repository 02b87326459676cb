"""The nodes of a Ray cluster: which there are, of what kind they are, and how something is run on one of them."""

from __future__ import annotations

import os
import socket
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ablate.base.errors import AblateError, Problem, described, listed
from ablate.base.files import digest_of_file
from ablate.base.process import interruptible
from ablate.execution.relay import Files, clean, examine, sources
from ablate.execution.run_trial import WorkloadRef

if TYPE_CHECKING:
    from ray import ObjectRef


@dataclass
class Node:
    """A node of the cluster."""

    id: str
    name: str
    slots: int  # Trials that it runs at once, where it does nothing else.
    fault: str = ""  # Why it cannot train, once that is known.
    kind: str = ""  # Once it is known.


class Nodes:
    """The nodes of the cluster to which this process is connected; those of one kind train."""

    def __init__(self, reference: WorkloadRef) -> None:
        """Raises `AblateError` where Ray is missing."""
        try:
            import ray
        except ImportError:
            raise refusal("Ray", "is not installed", "Install it: pip install 'ray>=2.60'") from None
        self.ray: ModuleType = ray
        self.reference = reference
        gpus = reference.gpus or 1
        if reference.device != "cuda":
            gpus = 0
        # What a trial takes of a node.
        self.takes: dict[str, float] = {"CPU": reference.threads, "GPU": gpus}
        # File of a plugin → digest of its content.
        self.code: dict[str, str] = {}
        for plugin in reference.plugins:
            for file in plugin.files.values():
                self.code[file] = digest_of_file(file)
        # The folder on each node that takes files which the node lacks.
        self.folder = f"ablate-{os.urandom(8).hex()}"
        self.kind = ""  # The kind of the nodes that train, once it is chosen.
        self._is_connected = False
        self._nodes: dict[str, Node] = {}
        # What a node will say of itself → the node.
        self._asked: dict[ObjectRef, Node] = {}
        # Digest → content of a file, in Ray's store.
        self._contents: dict[str, ObjectRef] = {}

    def connect(self) -> None:
        """Connects to RAY_ADDRESS, else to a cluster on this machine, else to one that it starts.

        Raises `AblateError`.
        """
        if self.ray.is_initialized():
            return
        address = os.environ.get("RAY_ADDRESS", "")
        os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # Ray would warn of its future.
        try:
            _check_address(address)
            with interruptible():  # Ray's answer to SIGTERM would be to end the process at once.
                self.ray.init(
                    address or None, include_dashboard=False, log_to_driver=False, logging_level="ERROR"
                )
        except (Exception, SystemExit) as error:
            raise refusal(
                f"the cluster at {address or 'this machine'}",
                f"cannot be used: {described(error)[0]}",
                "Where it asks for a token, set RAY_AUTH_MODE=token and RAY_AUTH_TOKEN; see `ablate guide cluster`",
            ) from None
        self._is_connected = True

    def close(self) -> None:
        """Leaves nothing on the nodes, and ends the connection."""
        cleanings = []
        for node in self._nodes.values():
            if node.slots and node.id != self.ray.get_runtime_context().get_node_id():
                cleanings.append(self.on(node)(clean).remote(self.folder))
        self.ready(cleanings, 5, every=True)
        self._nodes = {}
        self._asked = {}
        self._contents = {}
        if self._is_connected:
            self.ray.shutdown()
            self._is_connected = False

    def look(self, seconds: float = 0) -> bool:
        """Sees which nodes there are, and what they say of themselves within some seconds; then chooses the kind.

        Returns whether a node has said what it is.
        """
        alive = {node["NodeID"]: node for node in self.ray.nodes() if node["Alive"]}
        self._nodes = {node_id: node for node_id, node in self._nodes.items() if node_id in alive}
        for node_id in alive.keys() - self._nodes.keys():
            found = alive[node_id]
            self._add(node_id, found["NodeName"], found["Resources"])
        answers = self.ready(list(self._asked), seconds, every=True)
        for answer in answers:
            self._take(answer)
        if not self.kind:
            self._choose_kind()
        return bool(answers)

    def _add(self, node_id: str, name: str, resources: Mapping[str, float]) -> None:
        """Takes a node that is new in the cluster, and asks what it is if it has room for a trial."""
        takes = {resource: number for resource, number in self.takes.items() if number}
        slots = min(int(resources.get(resource, 0) / number + 1e-9) for resource, number in takes.items())
        node = Node(node_id, name, slots)
        self._nodes[node_id] = node
        if not slots:
            needed = listed(f"{number:g} {resource}" for resource, number in takes.items())
            node.fault = f"has less than {needed}"
            return
        files = self.files(self.code)
        answer = self.on(node)(examine).remote(sources(self.reference), self.reference, files, self.folder)
        self._asked[answer] = node

    def _take(self, answer: ObjectRef) -> None:
        """Takes what a node says of itself."""
        node = self._asked.pop(answer)
        try:
            node.kind, node.fault = self.ray.get(answer)
        except self.ray.exceptions.RayError as error:
            node.fault = f"cannot run ablate ({cause_of(error)}); install the same on all"

    def _choose_kind(self) -> None:
        """Chooses the kind of node with most room among those that the study allows."""
        room: Counter[str] = Counter()
        for node in sorted(self._nodes.values(), key=lambda node: node.kind):
            if node.kind and node.slots and self.reference.resources.kind in node.kind:
                room[node.kind] += node.slots
        self.kind = max(room, key=room.__getitem__, default="")

    def usable(self) -> list[Node]:
        """Returns the nodes that can train, which are of the kind that is chosen."""
        if not self.kind:
            return []
        return [node for node in self._nodes.values() if node.kind == self.kind and not node.fault]

    def left_out(self) -> dict[str, int]:
        """Returns the nodes that do not train, in words that say why, each with its slots."""
        slots = {}
        for node in self._nodes.values():
            if node.fault:
                slots[f"node {node.name} {node.fault}"] = node.slots
            elif node.kind not in ("", self.kind):
                slots[f"node {node.name} is of another kind: {node.kind}"] = node.slots
        return slots

    @property
    def are_asked(self) -> bool:
        """Whether some node has not said yet what it is."""
        return bool(self._asked)

    def are_added(self) -> bool:
        """Returns whether the cluster is adding nodes."""
        from ray.autoscaler.v2.sdk import get_cluster_status

        status = get_cluster_status(self.ray.get_runtime_context().gcs_address)
        return bool(status.pending_launches or status.pending_nodes)

    def on(self, node: Node, **options: object) -> Any:
        """Returns the decorator of what runs on a node, of which it takes nothing unless `options` say so."""
        place = self.ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(node.id, soft=False)
        return self.ray.remote(**{"num_cpus": 0} | options, scheduling_strategy=place)

    def files(self, digests: Mapping[str, str]) -> Files:
        """Returns the files, with what fetches their content; Ray gets each content once."""
        files = {}
        for path, digest in digests.items():
            if digest not in self._contents:
                content = Path(path).read_bytes() if os.path.isfile(path) else b""  # It fails its trials.
                self._contents[digest] = self.ray.put(content)
            files[path] = (digest, partial(self.ray.get, self._contents[digest]))
        return files

    def ready(
        self, references: list[ObjectRef], seconds: float = 0, *, every: bool = False
    ) -> list[ObjectRef]:
        """Returns the references that are there, after at most some seconds, as soon as one is, or `every` one."""
        if not references:
            return []
        if seconds:
            self.ray.wait(references, num_returns=len(references) if every else 1, timeout=seconds)
        ready: list[ObjectRef] = self.ray.wait(references, num_returns=len(references), timeout=0)[0]
        return ready


def _check_address(address: str) -> None:
    """Raises an error where no cluster answers at an address: Ray would try for two minutes, and end the process."""
    if "://" in address:
        raise ConnectionError("Ray's client ends runs when it ends; use `ray job submit`")
    host, _, port = address.rpartition(":")
    if host:
        socket.create_connection((host, int(port)), 5).close()


def cause_of(error: BaseException) -> str:
    """Returns what Ray says, or the code on a node, in a line."""
    return described(getattr(error, "cause", None) or error)[0]


def refusal(who: str, rule: str, hint: str = "See `ablate guide cluster`") -> AblateError:
    """Returns the error of an engine that cannot train."""
    return AblateError(str(Problem(f"{who} {rule}", hint=hint, source="--engine ray")))
