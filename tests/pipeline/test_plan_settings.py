"""Two plans train their baseline alike unless a setting of its training has changed."""

import pytest

from ablate.core.dated_plan import DatedPlan
from ablate.pipeline.preregister.plan_settings import trains_baseline_alike

SETTINGS = {"config.lr": 0.1, "metric.name": "loss", "metrics.loss.direction": "min"}


def plan(settings: dict[str, object]) -> DatedPlan:
    return DatedPlan(
        declared="", hash="", settings=settings, variants={}, seeds=[0, 1], looks=[], comparisons=1, claims=[]
    )


@pytest.mark.parametrize(
    ("earlier", "is_alike"),
    [
        (SETTINGS, True),
        (SETTINGS | {"config.lr": 0.2}, False),
        (SETTINGS | {"config.removed": 1}, False),
        (SETTINGS | {"metric.name": "acc", "metrics.acc.direction": "max"}, True),
        ({"metric.name": "loss"}, True),
    ],
    ids=["same", "changed", "removed", "another metric", "fewer settings"],
)
def test_plans_train_their_baseline_alike(earlier, is_alike):
    assert trains_baseline_alike(plan(earlier), plan(SETTINGS), given={}) == is_alike


def test_a_setting_that_the_study_file_adds_is_a_change():
    given = {"config": {"lr": 0.1}}
    assert not trains_baseline_alike(plan({"metric.name": "loss"}), plan(SETTINGS), given)
