"""Margins that are wide for their metric: half of its range, fifty standard deviations of the baseline."""

import numpy as np
import pytest
from made_evidence import ACCURACY, LOSS, study

from ablate.analysis.runs import Runs
from ablate.analysis.wide_margin import wide_margin
from ablate.core.metric import Metric

BASE = [0.80, 0.81, 0.79, 0.80]
SD = np.std(BASE, ddof=1)


def wide(margin, base=BASE, metric=ACCURACY):
    evidence = study({"baseline": base, "a": base}, metric="m", metrics={"m": metric}, margin=margin)
    (task,) = evidence.facts.tasks
    return wide_margin(Runs(evidence), task, "m", margin)


def test_half_of_the_declared_range():
    assert wide(0.449, metric=Metric("max", 0.5, floor=0.1, ceiling=1.0)) is None
    found = wide(0.45, metric=Metric("max", 0.5, floor=0.1, ceiling=1.0))
    assert found.share == pytest.approx(0.5)
    assert found.spreads is None
    assert found.in_points == pytest.approx(0.0045)


def test_fifty_standard_deviations_of_the_baseline():
    loss = [2.0, 2.001, 1.999, 2.0]
    sd = np.std(loss, ddof=1)
    assert wide(49.9 * sd, loss, LOSS) is None
    found = wide(50.1 * sd, loss, LOSS)
    assert found.spreads == pytest.approx(50.1)
    assert found.share is found.largest is found.in_points is None


def test_two_runs_and_equal_runs_say_nothing_of_noise():
    assert wide(0.1, [2.0, 2.0001], LOSS) is None
    assert wide(0.1, [2.0, 2.0, 2.0], LOSS) is None
    assert wide(2.0, [2.0, 2.0, 2.0], LOSS).largest == 2.0


def test_a_share_that_nobody_declares_ranges_to_one():
    found = wide(0.5, metric=Metric("max"))
    assert found.share == 0.5
    assert found.spreads == pytest.approx(0.5 / SD)
    assert wide(0.02, metric=Metric("max")) is None
    assert wide(0.02, metric=ACCURACY) is None
    assert wide(None) is None
