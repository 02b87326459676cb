import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mlflow_helpers import NOLOAD, tracked

from ablate.core.events import TrialStored
from ablate.core.record import Curve
from ablate.core.trial import Cell
from ablate.core.undeclared import keep_undeclared
from ablate.tracking.content import (
    Content,
    content_of,
    key_of,
    milliseconds,
    run_name,
    variant_labels,
    variant_of,
)
from ablate.tracking.names import MAX_PARAM, clean_key, cleaned, cut

pytestmark = pytest.mark.filterwarnings(NOLOAD)


def content(event: TrialStored, name: str = "run") -> Content:
    return content_of(event.cell, event.record, name=name, label=event.cell.variant)


def names_of(cells: list[Cell], *, task: bool) -> list[str]:
    labels = variant_labels(cells, {})
    return [run_name(cell, labels[variant_of(cell)], task=task) for cell in cells]


def test_names_sort_by_task_where_there_are_several_then_variant_then_seed():
    cells = [tracked(variant, seed).cell for variant in ("baseline", "model.norm=batch") for seed in (2, 11)]
    names = names_of([*cells, tracked("baseline", 3, "copy").cell], task=True)
    assert names[:-1] == sorted(names[:-1])
    assert names[-2:] == ["recall · batch norm · seed 11", "copy · baseline · seed 03"]
    assert names_of(cells[:1], task=False) == ["baseline · seed 02"]


def test_no_two_variants_have_one_label():
    cells = [tracked(variant, 0).cell for variant in ("a", "b", "c", "c · setting 001")]
    assert variant_labels(cells, {"a": "same", "b": "same", "c": "C"}) == {"a": "a", "b": "b", "c": "C"}


@pytest.mark.parametrize(
    ("role", "variant", "stage", "setting"),
    [
        ("judged", "a", "final", None),
        ("tried", "a · setting 003", "tuning", "setting 003"),
        ("rival", "a", "runner-up", "at training.lr=0.01"),
        ("stress", "a", "stress", "at lr 0.1"),
    ],
)
def test_tags_tell_what_a_trial_was_trained_for(role, variant, stage, setting):
    event = tracked(variant, 4)
    names = {"rival": "a at training.lr=0.01 on recall seed 4", "stress": "a on recall seed 4 at lr 0.1"}
    cell = replace(event.cell, role=role, name=names.get(role, event.cell.name))
    tags = content_of(cell, event.record, name="run", label="A").tags
    assert (tags["stage"], tags.get("setting")) == (stage, setting)
    assert (tags["variant"], tags["label"], tags["seed"]) == ("a", "A", "4")


def test_tags_tell_machine_and_versions():
    environment = {"machine": "AMD, 2 cores", "kind": "AMD, cpu", "versions": {"torch": "2.13", "cuda": None}}
    tags = content(tracked("baseline", 0, environment=environment)).tags
    system = {"system.machine": "AMD, 2 cores", "system.kind": "AMD, cpu", "system.torch": "2.13"}
    assert {key: value for key, value in tags.items() if key.startswith("system.")} == system


def test_undeclared_numbers_are_metrics_and_those_of_several_steps_curves():
    event = tracked("baseline", 0)
    reported = {"grad_norm": [(100, 2.0), (900, 1.0)], "ece": [(900, 0.1)], "accuracy": [(900, 0.0)]}
    keep_undeclared(event.record, reported)
    points = [(key, value, step) for key, value, _, step in content(event).points]
    assert [point for point in points if "grad" in point[0]] == [
        ("Curves/grad_norm", 2.0, 100),
        ("Curves/grad_norm", 1.0, 900),
        ("grad_norm", 1.0, 0),
    ]
    assert [point for point in points if "ece" in point[0]] == [("ece", 0.1, 0)]
    assert [point for point in points if point[0] == "accuracy"] == [("accuracy", 0.75, 0)]
    times = [moment for _, _, moment, _ in content(event).points]
    assert max(times) == milliseconds("2026-01-02T03:04:15+00:00")


@pytest.mark.parametrize(("task", "on"), [("", ""), ("recall · ", " on recall")])
def test_a_runner_up_is_named_by_its_setting(task, on):
    norm = "model.norm=batch"
    rival = replace(tracked(norm, 2).cell, role="rival", name=f"{norm} at training.lr=0.01{on} seed 2")
    (name,) = names_of([rival], task=bool(on))
    assert name == f"{task}batch norm · runner-up at training.lr=0.01 · seed 02"


def test_curves_have_a_group_of_their_own_and_final_metrics_stand_at_step_0():
    size = {"parameters": 1234, "flops": 10, "training_flops": 30}
    points = content(tracked("baseline", 0, environment=size)).points
    shown = {"parameters": 1234, "flops_per_example": 10, "training_flops_per_example": 30}
    assert {key: (value, step) for key, value, _, step in points if key in shown} == {
        key: (float(number), 0) for key, number in shown.items()
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


def test_the_key_follows_the_record_and_all_that_a_run_shows_of_its_cell():
    cell, names = tracked("baseline", 0).cell, {"name": "run", "label": "baseline"}
    key = key_of(cell, "digest of its record", **names)
    assert key == key_of(replace(cell), "digest of its record", **names)
    changes = {
        "variant": "a",
        "task": "copy",
        "seed": 1,
        "name": "other",
        "role": "tried",
        "levels": {"model.norm": "batch"},
    }
    others = [
        key_of(replace(cell, **{field: value}), "digest of its record", **names)
        for field, value in changes.items()
    ]
    others += [key_of(cell, "digest of its record", **names | {word: "other"}) for word in names]
    others.append(key_of(cell, "digest of another", **names))
    assert len({key, *others}) == 1 + len(changes) + len(names) + 1


@given(st.text(max_size=300))
@settings(deadline=None)
def test_any_name_is_made_one_that_mlflow_takes(name):
    from mlflow.utils.validation import _validate_metric_name, _validate_param_name

    _validate_metric_name(clean_key(name))
    _validate_param_name(clean_key(name))
    assert clean_key(clean_key(name)) == clean_key(name)


@pytest.mark.slow
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
