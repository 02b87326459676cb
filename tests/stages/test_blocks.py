"""Blocks are random, mirrored and the same for all; on a clock that the operations move themselves."""

import math
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ablate.core.speed import Operation
from ablate.stages.speed import blocks
from ablate.stages.speed.blocks import CALLS, FEWEST, MOST, MOST_WARM, effort, time_blocks, waited


class Machine:
    """A clock, and operations that take known seconds of it, and whatever `noise` gives."""

    def __init__(self, seconds, noise=None, drift=0.0):
        self.now, self.waited, self.called = 0.0, 0.0, []
        self.noise, self.drift = noise, drift
        self.operations = {name: Operation(self._call(name, s), 1, 1) for name, s in seconds.items()}

    def _call(self, name, seconds):
        def call():
            self.called.append(name)
            self.now += seconds * (next(self.noise) if self.noise else 1.0) * (1 + self.drift * self.now)

        return call

    def time(self, budget=1.0, seed=0):
        asked = []
        draws, waits = np.random.default_rng(seed), lambda: self.waited
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(blocks, "perf_counter", lambda: self.now)
            found = time_blocks(self.operations, draws, asked.append, budget=budget, waits=waits)
        return found, asked


def test_visits_are_mirrored_in_an_order_of_chance_that_is_new_in_every_block():
    machine = Machine(dict.fromkeys("abcd", 0.01))
    found, asked = machine.time()
    visits = asked[4:]
    blocks = [visits[i : i + 8] for i in range(0, len(visits), 8)]
    assert len(blocks) == found["a"].blocks > FEWEST
    assert all(block[4:] == block[3::-1] for block in blocks)
    assert all(sorted(block[:4]) == list("abcd") for block in blocks)
    assert len({tuple(block) for block in blocks}) > len(blocks) / 2
    other = Machine(dict.fromkeys("abcd", 0.01)).time(seed=1)[1]
    assert other != asked


@pytest.mark.parametrize("seconds", [1e-4, 0.03, 2.0])
def test_every_operation_gets_as_many_visits_and_like_ones_as_many_calls(seconds):
    machine = Machine({"a": seconds, "b": 3 * seconds, "c": seconds})
    found, asked = machine.time()
    blocks = found["a"].blocks
    assert {name: asked[3:].count(name) for name in "abc"} == dict.fromkeys("abc", 2 * blocks)
    assert found["a"].calls == found["c"].calls >= found["b"].calls >= 2 * blocks
    called = {name: machine.called.count(name) - found[name].calls for name in "abc"}
    # Beside a warm-up, of several calls in a visit the first is dropped, and nothing else.
    dropped = {name: 2 * blocks if found[name].calls > 2 * blocks else 0 for name in "abc"}
    assert all(2 <= called[name] - dropped[name] <= 1 + MOST_WARM for name in "abc")


@pytest.mark.parametrize("seconds", [1e-5, 0.3])
def test_a_delay_of_five_percent_is_what_is_found(seconds):
    found, _ = Machine({"base": seconds, "slow": 1.05 * seconds}).time()
    assert found["base"].log_ratio == 0
    assert found["slow"].log_ratio == pytest.approx(math.log(1.05))
    assert found["slow"].seconds == pytest.approx(1.05 * seconds)


def test_a_machine_that_slows_down_within_blocks_takes_as_much_from_each():
    found, _ = Machine({"base": 0.02, "slow": 0.021, "same": 0.02}, drift=0.05).time()
    assert found["slow"].log_ratio == pytest.approx(math.log(1.05), abs=1e-3)
    assert found["same"].log_ratio == pytest.approx(0, abs=1e-3)


def wrapped(machine, before):
    """Has something happen before each call of the machine's operations."""

    def around(name, call):
        return lambda: (before(name), call())[1]

    machine.operations = {
        name: Operation(around(name, o.run), 1, 1) for name, o in machine.operations.items()
    }


def test_time_in_which_others_had_the_core_is_not_counted():
    machine = Machine({"base": 0.004, "slow": 0.0042})
    draws = np.random.default_rng(0)

    def crowd(name):
        delay = float(draws.exponential(0.01))
        machine.waited += delay
        machine.now += delay

    wrapped(machine, crowd)
    found, _ = machine.time()
    assert found["slow"].log_ratio == pytest.approx(math.log(1.05))
    assert found["base"].seconds == pytest.approx(0.004)


@pytest.mark.skipif(not Path("/proc/thread-self/schedstat").exists(), reason="needs Linux, which says so")
def test_a_thread_waits_for_a_core_that_others_have():
    allowed = os.sched_getaffinity(0)
    busy = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        for pid in (0, busy.pid):
            os.sched_setaffinity(pid, {min(allowed)})
        before, start = waited(), time.thread_time()
        while time.thread_time() - start < 0.1:
            pass
        assert waited() > before
    finally:
        os.sched_setaffinity(0, allowed)
        busy.kill()
        busy.wait()


def test_the_first_call_of_a_visit_is_dropped_where_there_are_several():
    machine = Machine({"a": 0.01, "b": 0.01})
    last = ""

    def cold(name):
        nonlocal last
        machine.now += 1.0 if last != name else 0.0
        last = name

    wrapped(machine, cold)
    found, _ = machine.time(budget=10.0)
    assert found["a"].seconds == found["b"].seconds == pytest.approx(0.01)


@given(st.lists(st.floats(0, 100), min_size=1, max_size=8), st.floats(0.01, 10))
def test_effort_stays_within_its_bounds(seconds, budget):
    calls, blocks = effort({str(i): once for i, once in enumerate(seconds)}, budget)
    assert FEWEST <= blocks <= MOST
    for once, of_visit in zip(seconds, calls.values(), strict=True):
        assert of_visit >= 1
        assert 2 * of_visit * blocks * once <= budget * 1.001 or (of_visit == 1 and blocks == FEWEST)


def test_effort_of_quick_and_slow_calls():
    calls, blocks = effort({"quick": 0.001})
    assert calls["quick"] * 0.001 >= 0.01
    assert blocks == MOST
    assert effort({"slow": 1.5}) == ({"slow": 1}, FEWEST)
    assert effort({"a": 0.02}) == ({"a": CALLS + 1}, 6)
    calls, blocks = effort({"quick": 0.001, "slow": 0.02})
    assert (calls["slow"], blocks) == (CALLS + 1, 6)
    assert calls["quick"] * 0.001 >= 0.01
