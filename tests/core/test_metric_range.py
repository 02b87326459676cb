"""The numbers of a metric: as a user declares them, in a study of own code or to `analyse`, and in evidence by hand."""

import json
import shutil
from dataclasses import replace

import pytest
from harness import ablate_here, problems
from made_evidence import ACCURACY, study
from own import OWN, own_study

from ablate.analysis.compare import compare
from ablate.base.errors import Invalid
from ablate.core.facts import Claim

RUNS = "variant,seed,loss\n" + "".join(
    f"{name},{seed},{3.2 + shift + 0.001 * seed + 0.0003 * ((7 * seed + 31 * len(name)) % 5):.5f}\n"
    for name, shift in (("base", 0.0), ("wide", -0.02))
    for seed in range(5)
)
RANGE = {"floor": 10, "ceiling": 0}
FAULTS = [
    ("ceiling", {"floor": 1, "ceiling": 10}),
    ("ceiling", {"floor": 10, "ceiling": 10}),
    ("margin", RANGE | {"margin": 10}),
    ("solved", RANGE | {"solved": 10}),
    ("solved", RANGE | {"solved": -1}),
    ("resolution", RANGE | {"resolution": 11}),
]
NO_NUMBERS = [
    *(
        (name, {name: value})
        for name in ("floor", "ceiling", "margin", "resolution")
        for value in ("nan", "inf")
    ),
    ("margin", {"margin": -1}),
    ("margin", {"margin": 0}),
    ("resolution", {"resolution": -1}),
]


@pytest.mark.slow
def test_analyse_refuses_numbers_that_no_metric_has_and_judges_nothing(tmp_path):
    (tmp_path / "runs.csv").write_text(RUNS)
    call = ["analyse", "runs.csv", "--baseline", "base", "--metric", "loss", "--direction", "min"]
    for name, numbers in [*NO_NUMBERS, *FAULTS]:
        option = {"solved": "--all-or-nothing"}
        words = [f"{option.get(given, f'--{given}')}={value}" for given, value in numbers.items()]
        done = ablate_here(*call, *words, cwd=tmp_path)
        assert (done.returncode, option.get(name, f"--{name}") in done.stderr) == (2, True), done.stderr
    assert not (tmp_path / "results").exists()
    assert ablate_here(*call, "--floor=10", "--ceiling=0", "--margin=0.5", cwd=tmp_path).returncode == 0


def test_a_study_of_own_code_is_refused_the_same_numbers(tmp_path):
    shutil.copytree(OWN, tmp_path, dirs_exist_ok=True)
    path = tmp_path / "study.yaml"
    for name, numbers in FAULTS:
        metrics = {"accuracy": {"direction": "min"} | numbers}
        path.write_text(json.dumps(own_study("function", metrics=metrics)))
        assert f"metrics.accuracy.{name}: " in "".join(problems(path))


@pytest.mark.parametrize(
    ("metric", "margin", "by"),
    [
        (replace(ACCURACY, resolution=-1.0), None, 0.0),
        (replace(ACCURACY, floor=float("nan")), None, 0.0),
        (replace(ACCURACY, floor=2.0), None, 0.0),
        (ACCURACY, float("inf"), 0.0),
        (ACCURACY, -1.0, 0.0),
        (ACCURACY, None, float("nan")),
    ],
)
def test_evidence_made_by_hand_with_such_numbers_is_not_judged(metric, margin, by):
    claim = Claim("b beats a on accuracy", "beats", "accuracy", ["b"], ["a"], by=by)
    values = {"a": [0.5, 0.6, 0.55], "b": [0.7, 0.8, 0.78]}
    with pytest.raises(Invalid, match="of made"):
        compare(study(values, metrics={"accuracy": metric}, margin=margin, claims=[claim]))
