import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mlflow_helpers import NOLOAD, tracked

from ablate.core.events import TrialStored
from ablate.core.record import Curve
from ablate.tracking.content import (
    MAX_PARAM,
    Content,
    clean_key,
    cleaned,
    content_of,
    cut,
    milliseconds,
    run_names,
)

pytestmark = pytest.mark.filterwarnings(NOLOAD)


def content(event: TrialStored, name: str = "run") -> Content:
    return content_of(name, event.cell, event.record)


def test_names_sort_by_task_where_there_are_several_then_variant_then_seed():
    cells = [tracked(variant, seed).cell for variant in ("baseline", "model.norm=batch") for seed in (2, 11)]
    names = run_names({cell.id: cell for cell in [*cells, tracked("baseline", 3, "copy").cell]}, {})
    assert [*names.values()][:-1] == sorted([*names.values()][:-1])
    assert [*names.values()][-2:] == ["recall · batch norm · seed 11", "copy · baseline · seed 03"]
    assert run_names({"x": cells[0]}, {}) == {"x": "baseline · seed 02"}


@pytest.mark.parametrize(("task", "on"), [("", ""), ("recall · ", " on recall")])
def test_a_rival_is_named_by_its_setting(task, on):
    norm = "model.norm=batch"
    rival = replace(tracked(norm, 2).cell, role="rival", name=f"{norm} at training.lr=0.01{on} seed 2")
    others = {"other": tracked("baseline", 2, "copy").cell} if on else {}
    name = run_names({"x": rival, **others}, {})["x"]
    assert name == f"{task}batch norm · rival at training.lr=0.01 · seed 02"


def test_curves_have_a_group_of_their_own_and_final_metrics_stand_at_step_0():
    size = {"parameters": 1234, "flops": 10, "training_flops": 30}
    points = content(tracked("baseline", 0, environment=size)).points
    assert {key: (value, step) for key, value, _, step in points if key in size} == {
        key: (float(number), 0) for key, number in size.items()
    }
    _, times, steps = zip(*(point[1:] for point in points if point[0] == "Curves/accuracy"), strict=True)
    assert list(steps) == [100, 200, 300, 400, 500]
    assert list(times) == sorted(set(times))
    final = [point[1:] for point in points if point[0] == "accuracy"]
    assert final == [(0.75, milliseconds("2026-01-02T03:04:15+00:00"), 0)]
    assert [(value, step) for key, value, _, step in points if key == "accuracy/far"] == [(0.5, 0)]
    assert not [key for key, *_ in points if key == "unknown"]


def test_what_is_not_finite_is_nan_on_a_curve_and_absent_among_the_final_metrics():
    curve = Curve(np.array([1, 2, 3]), np.array([1.0, np.inf, np.nan]))
    run = tracked("baseline", 0, metrics={"loss": math.inf}, curves={"loss": curve}, status="diverged")
    values = [value for _, value, *_ in content(run).points]
    assert values[0] == 1.0
    assert len(values) == 3
    assert all(math.isnan(value) for value in values[1:])


def test_the_digest_follows_the_content_and_nothing_else():
    digest = content(tracked("baseline", 0)).digest
    assert digest == content(tracked("baseline", 0)).digest
    for other in (
        content(tracked("baseline", 0), "other name"),
        content(tracked("baseline", 0, metrics={"accuracy": 0.5})),
        content(tracked("baseline", 0, status="diverged")),
        content(tracked("baseline", 0, finished_at="2026-01-02T03:04:16+00:00")),
    ):
        assert other.digest != digest


@given(st.text(max_size=300))
@settings(deadline=None)
def test_any_name_is_made_one_that_mlflow_takes(name):
    from mlflow.utils.validation import _validate_metric_name, _validate_param_name

    _validate_metric_name(clean_key(name))
    _validate_param_name(clean_key(name))
    assert clean_key(clean_key(name)) == clean_key(name)


@given(st.text(alphabet="ab\n", max_size=60), st.integers(3, 40))
def test_cut_text_fits(text, limit):
    assert len(cut(text, limit)) <= limit
    assert cut(text, limit) == text or cut(text, limit).endswith("\n…")
    assert len(cleaned({"notes": "x" * 10_000}, MAX_PARAM)["notes"]) == MAX_PARAM


def test_times_are_milliseconds_since_1970():
    assert milliseconds("1970-01-01T01:00:01+01:00") == 1000
    assert milliseconds("") == 0
    unfinished = content(tracked("baseline", 0, finished_at=""))
    assert unfinished.start == unfinished.end == milliseconds("2026-01-02T03:04:05+00:00")
