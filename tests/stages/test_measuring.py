"""What a process finds of a group is of its configs, not of the order in which it turns to them, nor of its threads."""

import hashlib
import os
import threading
import time
from pathlib import Path

import pytest
import torch

from ablate.core.speed import Operation
from ablate.core.workload import Workload
from ablate.stages.speed import calls
from ablate.stages.speed.calls import Request, measure_group
from ablate.stages.speed.group import Group

BURNT = 0.005
"""Seconds of CPU of each thread."""


class Caching(Workload):
    """Its steps share what the first of them in a process makes, and then keeps."""

    def __init__(self):
        self.kept = None

    def operations(self, config):
        def step():
            if self.kept is None:
                self.kept = torch.zeros(1 << 20)
            torch.zeros(config["size"])

        return {"step": Operation(step, 1, 1)}


class Threaded(Workload):
    """Two threads that each need a core."""

    def operations(self, config):
        def burn():
            start, block = time.thread_time(), bytes(1 << 18)
            while time.thread_time() - start < BURNT:
                hashlib.sha256(block)  # without the interpreter's lock

        def step():
            other = threading.Thread(target=burn)
            other.start()
            burn()
            other.join()

        return {"step": Operation(step, 1, 1)}


def measured(workload, threads=1, **sizes):
    group = Group("key", {key: {"size": size} for key, size in sizes.items()})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(workload, "__abstractmethods__", frozenset())
        made = workload()
    made.threads = threads
    return measure_group(made, group, Request(0, ["step"], [group], budget=0.001), lambda key: None)


@pytest.mark.slow
def test_what_a_process_keeps_is_no_memory_of_the_baseline():
    configs = measured(Caching, base=1000, same=1000, more=3000)["configs"]
    assert configs["base"]["memory"] == configs["same"]["memory"] == 4000
    assert configs["more"]["memory"] == 12000


@pytest.mark.slow
@pytest.mark.skipif(
    not Path("/proc/thread-self/schedstat").exists(), reason="needs Linux, which says who waits"
)
def test_threads_that_wait_for_one_another_take_their_time():
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        found = measured(Threaded, threads=2, base=1)["configs"]["base"]["calls"]["step"]
    finally:
        os.sched_setaffinity(0, allowed)
    # One core gives no more than a second a second, however busy it is.
    assert found["seconds"] >= 2 * BURNT


def test_the_load_of_other_programs_is_what_they_put_on_the_machine(monkeypatch):
    """Children of this process are none of them, as for whole runs."""

    class Others:
        def cores(self):
            return 2.5

    class Passing(Workload):
        def operations(self, config):
            return {"step": Operation(lambda: None, 1, 1)}

    monkeypatch.setattr(calls, "OtherPrograms", Others)
    monkeypatch.setattr(calls, "peak_of_step", lambda build: None)
    found = measured(Passing, base=1, other=2)
    assert found["busy"] == 2.5
    assert [*found["configs"]] == ["base", "other"]
    assert found["configs"]["other"]["calls"]["step"]["flops"] is None
