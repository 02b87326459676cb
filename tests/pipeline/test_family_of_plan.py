"""The plan and the report of a study count the same comparisons and claims, M, whatever its shape."""

import json
import re

import pytest
from harness import TOY, ablate_here

from ablate.records.folder import StudyFolder
from ablate.report.sentences.levels import family
from ablate.report.tables.verdicts import planned_rows

BASE = {"name": "shape", "workload": "toy", "plugins": [str(TOY)], "task": {"name": "coin"}, "seeds": 2}
TWO = {"model.effect": [0.2], "model.noise": [0.0, 0.3]}
ONE_ROW = "model.effect=0.2 beats baseline on accuracy"
BETWEEN = "model.effect=0.2 beats model.noise=0.3 on accuracy"
OTHER_METRIC = "model.effect=0.2 beats baseline on loss"
BOTH = {"model.effect": 0.2, "model.noise": 0.3}
SHAPES = {
    "plain": ({"factors": TWO}, 3),
    "placebo": ({"factors": TWO, "placebo": True}, 4),
    "claims that are no rows": ({"factors": TWO, "claims": [ONE_ROW, BETWEEN, OTHER_METRIC]}, 5),
    "all pairs": ({"factors": TWO, "compare": "all_pairs", "claims": [BETWEEN], "placebo": True}, 7),
    "against a level": ({"factors": TWO, "compare": "model.effect=0.2", "claims": [ONE_ROW]}, 3),
    "factorial": (
        {
            "factors": {"model.effect": [0.2], "model.width": [8, 16]},
            "design": "factorial",
            "claims": [
                "model.effect=0.2 beats model.effect=0.0 on accuracy",
                "model.width=8 beats baseline on loss",
            ],
        },
        4,
    ),
    "path": (
        {
            "variants": {"both": BOTH | {"model.width": 8}},
            "design": {"name": "path", "to": "both", "seeds": 2},
            "placebo": True,
        },
        4,
    ),
    "path, all pairs": (
        {
            "variants": {"both": BOTH},
            "design": {"name": "path", "to": "both", "seeds": 2},
            "compare": "all_pairs",
        },
        3,
    ),
    "two tasks": ({"tasks": [{"name": "coin"}, {"name": "die"}], "factors": TWO, "claims": [ONE_ROW]}, 7),
    "looks": ({"factors": TWO, "seeds": {"min": 2, "max": 4}, "claims": [BETWEEN]}, 4),
}


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
def test_the_plan_and_the_report_agree(shape, tmp_path):
    changes, size = SHAPES[shape]
    study = BASE | changes
    if "tasks" in changes:
        del study["task"]
    (tmp_path / "study.yaml").write_text(json.dumps(study))
    planned = json.loads(ablate_here("plan", "study.yaml", "--json", cwd=tmp_path).stdout)
    assert planned["power"]["comparisons"] == size
    done = ablate_here("run", "study.yaml", "--jobs", "0", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    folder = StudyFolder(tmp_path / "results", "shape")
    rows = planned_rows(folder.comparisons())
    assert family(rows, len(folder.facts().plan.looks) or 1) == size
    corrected = re.search(
        r"corrected for (\d+) comparisons?(?: and (\d+) claims?)?", " ".join(done.stdout.split())
    )
    assert corrected
    assert sum(int(count) for count in corrected.groups(default="0")) == size
    # Once it has run, too: its claims keep their dates.
    again = json.loads(ablate_here("plan", "study.yaml", "--json", cwd=tmp_path).stdout)
    assert again["power"]["comparisons"] == size


@pytest.mark.slow
def test_a_claim_after_results_is_in_neither(tmp_path):
    study = BASE | {"factors": TWO}
    (tmp_path / "study.yaml").write_text(json.dumps(study))
    ablate_here("run", "study.yaml", "--jobs", "0", cwd=tmp_path)
    (tmp_path / "study.yaml").write_text(json.dumps(study | {"claims": [BETWEEN]}))
    planned = json.loads(ablate_here("plan", "study.yaml", "--json", cwd=tmp_path).stdout)
    done = ablate_here("run", "study.yaml", "--jobs", "0", cwd=tmp_path)
    assert planned["power"]["comparisons"] == 3
    assert "corrected for 3 comparisons" in " ".join(done.stdout.split())


@pytest.mark.slow
def test_a_sweep_plans_its_winners(tmp_path):
    search = {
        "over": {"model.effect": {"choice": [0.1, 0.2, 0.3]}},
        "sampler": "grid",
        "winners": 2,
        "seeds": 2,
    }
    (tmp_path / "study.yaml").write_text(json.dumps(BASE | {"search": search, "placebo": True}))
    planned = json.loads(ablate_here("plan", "study.yaml", "--json", cwd=tmp_path).stdout)
    done = ablate_here("sweep", "study.yaml", "--jobs", "0", cwd=tmp_path)
    assert planned["power"]["comparisons"] == 3
    assert "corrected for 3 comparisons" in " ".join(done.stdout.split())
