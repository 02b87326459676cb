"""A function of one's own, and others with the faults that people's functions have."""

import os
import random
import subprocess
import sys
import time

import ends


def train(config, seed, report=None):
    generator, accuracy = random.Random(seed), 0.0
    for step in range(1, config["steps"] + 1):
        accuracy = 0.5 + 0.05 * step * config["rate"] + ends.GAP * generator.random()
        if report is not None:
            report(10 * step, accuracy=accuracy)
    print("trained at", config["rate"])
    return {"accuracy": accuracy}


def nothing(config, seed):
    return None


def text(config, seed):
    return {"accuracy": "high"}


def loud(config, seed):
    print("x" * 5_000_000)
    return {"accuracy": 0.5 + seed}


def exits(config, seed):
    sys.exit(0)


def raises(config, seed, report):
    report(10, accuracy=0.25)
    raise RuntimeError("out of luck")


def diverges(config, seed):
    return {"accuracy": float("nan")}


def hangs(config, seed):
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    print("child", child.pid, flush=True)
    time.sleep(60)


def forks(config, seed):
    if os.fork() == 0:
        time.sleep(60)
    return {"accuracy": 0.5 + seed}


def killed(config, seed):
    os.kill(os.getpid(), 9)


def wrong(config, seed, width):
    return {"accuracy": width}


def alone():
    return {"accuracy": 1.0}


def reports_more(config, seed, report):
    for step in (10, 20):
        report(step, accuracy=0.5, grad_norm=step / 10)
    return {"accuracy": 0.5, "calibration": 0.25}
