import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ablate.base.registry import CATALOGUE
from ablate.training.schedules import learning_rates
from ablate.training.section import TrainingSection

CATALOGUE.load_builtin()
SCHEDULES = st.sampled_from(["constant", "linear", "cosine"])


def rates(schedule, steps, warmup_steps=0, lr=1.0, **params) -> list[float]:
    settings = {"schedule": {"name": schedule, **params}, "steps": steps, "warmup_steps": warmup_steps}
    return learning_rates(TrainingSection.model_validate(settings | {"lr": lr}))


def test_worked_values():
    assert rates("linear", 6, warmup_steps=2, lr=2.0) == [1, 2, 1.5, 1, 0.5, 0]
    assert rates("cosine", 3, final=0.5) == pytest.approx([1, 0.75, 0.5])
    assert rates("cosine", 1) == [1]


@settings(max_examples=50)
@given(SCHEDULES, st.integers(1, 60), st.floats(0, 1), st.floats(0, 1), st.floats(1e-6, 10))
def test_warm_up_rises_to_the_peak_and_the_rest_falls_to_the_final_share(schedule, steps, share, final, lr):
    warmup = int(share * steps)
    params = {} if schedule == "constant" else {"final": final}
    values = rates(schedule, steps, warmup, lr, **params)
    assert len(values) == steps
    first = max(warmup, 1)
    assert values[:warmup] == pytest.approx([lr * (i + 1) / warmup for i in range(warmup)])
    assert values[first - 1] == pytest.approx(lr)
    for i in range(first - 1, steps):
        p = (i + 1 - first) / max(steps - first, 1)
        expected = {
            "constant": 1.0,
            "linear": 1 - p + final * p,
            "cosine": final + (1 - final) * math.cos(math.pi * p / 2) ** 2,
        }[schedule]
        assert values[i] == pytest.approx(lr * expected, rel=1e-9, abs=1e-12)
