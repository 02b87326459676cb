"""A study whose variants were timed, at their own size and at others: evidence, and what a report is made from."""

import math

import numpy as np
from made_speed import speed_frame, timed

from ablate.analysis.claims import judge_claims
from ablate.analysis.compare import compare
from ablate.analysis.speed_tables import scaling, speeds
from ablate.report.section import ReportData

LONG = "model.mixer.value=low_rank(rank=4),model.feedforward.activation=gelu"
NOISE = 0.004 * np.random.default_rng(3).normal(size=(4, 6))
LOGS = dict(zip(("baseline", "slow", "same", LONG), NOISE, strict=True))
SLOW, FAST = math.log(1.9), math.log(0.8)


def logs(slow=SLOW, fast=FAST):
    return {**LOGS, "slow": LOGS["slow"] + slow, LONG: LOGS[LONG] + fast}


MEMORY = {"baseline": 4e6, "slow": 5e6, "same": 4e6, LONG: 3.6e6}
AT_OWN = [
    speed_frame(logs(), seconds=0.0036, memory=MEMORY, size=96.0, busy=0.3),
    speed_frame(logs(), call="forward", seconds=0.0011, size=96.0, busy=0.3),
]
SIZES = (64.0, 128.0, 256.0, 512.0)
AT_SIZES = [
    speed_frame(
        logs(fast=0.35 * math.log(size / 181.02)), size=size, own=False, seconds=size / 3e4, memory=MEMORY
    )
    for size in SIZES
]


def study():
    """Four variants, of which one is slower and one is faster."""
    return timed(*AT_OWN, *AT_SIZES, values={name: [0.9, 0.91, 0.92, 0.9] for name in LOGS})


def report_data(evidence):
    return ReportData(
        evidence,
        compare(evidence),
        judge_claims(evidence),
        tables={"speed": speeds(evidence), "scaling": scaling(evidence)},
    )
