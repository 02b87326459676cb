"""Metrics of a user's own code that have the name of something else are refused before anything is trained."""

import json
import shutil

import pytest
from harness import problems
from own import OWN, own_study


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        *((name, "the name of a column") for name in ("id", "variant", "task", "seed", "status", "reason")),
        ("step", "gives the steps"),
        ("config.rate", "the name of a factor"),
        ("seed_spread", "that ablate itself computes"),
    ],
)
def test_a_metric_has_a_name_of_its_own(name, rule, tmp_path):
    shutil.copytree(OWN, tmp_path, dirs_exist_ok=True)
    path = tmp_path / "study.yaml"
    path.write_text(json.dumps(own_study("function", metrics={"accuracy": "max", name: "max"})))
    (problem,) = problems(path)
    assert f"metrics.{name}: " in problem
    assert rule in problem
