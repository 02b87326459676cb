"""Limits of a trial that no process could have are refused, before a shell dies of them."""

import json
import shutil

import pytest
from harness import problems
from own import OPTIONS, OWN, own_study


@pytest.mark.parametrize(
    ("name", "limit"), [("memory", 1e300), ("memory", 1e-9), ("time", -1), ("threads", 0), ("threads", 1.5)]
)
def test_a_limit_that_no_process_could_have_is_refused(name, limit, tmp_path):
    shutil.copytree(OWN, tmp_path, dirs_exist_ok=True)
    path = tmp_path / "study.yaml"
    workload = OPTIONS["function"] | {"resources": {name: limit}}
    path.write_text(json.dumps(own_study("function", workload=workload)))
    assert f"workload.resources.{name}: " in "".join(problems(path))
