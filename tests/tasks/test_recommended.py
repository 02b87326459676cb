"""At the size that a task recommends, its baseline learns it."""

import pytest

from ablate.base.registry import CATALOGUE
from ablate.core.metric import sign
from ablate.core.trial import Trial
from ablate.training.trial import train_trial

CATALOGUE.load_builtin()


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "name", [name for name in CATALOGUE.names("task") if CATALOGUE.get("task", name).recommended]
)
def test_the_recommended_size_is_solved(name):
    part = CATALOGUE.get("task", name)
    task = {"name": name, **part.recommended["task"]}
    record = train_trial(Trial("", {**part.recommended, "task": task}, seed=0), lambda *_: False)
    name, metric = next(iter(part.Config.model_validate(task).build().metrics.items()))
    assert record.status == "completed"
    assert sign(metric) * record.metrics[name] >= sign(metric) * metric.solved
