"""Two plans train their baseline alike unless a setting of its training has changed."""

import pytest
from harness import TOY_CLAIMED, prepare

from ablate.core.dated_plan import Change, DatedPlan, PlanChanges
from ablate.pipeline.preregister.dated_plans import _settings
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
        (SETTINGS | {"over": "mean", "scale.w256": 2.0, "along": "config.w", "family": "claims"}, True),
    ],
    ids=["same", "changed", "removed", "another metric", "fewer settings", "over conditions"],
)
def test_plans_train_their_baseline_alike(earlier, is_alike):
    assert trains_baseline_alike(plan(earlier), plan(SETTINGS), given={}) == is_alike


def test_a_setting_that_the_study_file_adds_is_a_change():
    given = {"config": {"lr": 0.1}}
    assert not trains_baseline_alike(plan({"metric.name": "loss"}), plan(SETTINGS), given)


CONDITIONS = "conditions: {narrow: {}, wide: {model.width: 8}, wider: {model.width: 16}}\n"


def test_a_plan_has_the_forms_of_verdicts_where_the_study_gives_them(write):
    forms = {"over": "mean", "along": "model.width", "scale.narrow": 1.0, "family": "ordered"}
    scale = "scale: {narrow: 1, wide: 1, wider: 2}\n"
    study = write(f"{TOY_CLAIMED}{CONDITIONS}{scale}over: mean\nalong: model.width\nfamily: ordered\n")
    settings = _settings(prepare(study))
    assert {path: settings[path] for path in forms} == forms
    without = _settings(prepare(write(TOY_CLAIMED)))
    assert not {path.partition(".")[0] for path in without} & {
        "over",
        "along",
        "scale",
        "family",
        "conditions",
    }


@pytest.mark.parametrize(
    ("path", "comparisons", "claims"),
    [
        ("over", "changed", "changed"),
        ("scale.narrow", "changed", "changed"),
        ("family", "changed", "changed"),
        ("along", "", ""),
        ("compare", "changed", ""),
    ],
)
def test_a_form_that_changes_after_results_marks_the_verdicts_that_depend_on_it(path, comparisons, claims):
    changes = PlanChanges(first="", changes=[Change(path, "not given", "now")])
    assert changes.mark(["wide"]) == comparisons
    assert changes.mark(["wide"], "accuracy") == claims
