"""A search that cannot be done is a mistake of the study: named with its line, before anything trains or is written."""

from collections.abc import Callable
from pathlib import Path

import pytest
from harness import ablate_here, problems
from searching import PEAK_STUDY, SWEEP


def test_several_tasks_are_swept_one_by_one(write: Callable[..., Path]) -> None:
    text = SWEEP.replace("task: {name: peak}", "tasks: [{name: peak}, {name: valley}]")
    assert problems(write(text)) == [
        "line 7: search: looks at one task, and the study has several. Give `task`, one study for each"
    ]


def test_all_mistakes_of_a_search_are_named_at_once_and_nothing_is_written(
    write: Callable[..., Path],
) -> None:
    path = write(
        PEAK_STUDY
        + """\
search:
  over:
    model.x: {float: [1, 0]}
    training.lr: {float: [0, 1], log: true}
  trials: none
  sampler: tpee
tune: {over: {model.x: {int: [2, 1]}}}
"""
    )
    done = ablate_here("sweep", path, cwd=path.parent)
    assert done.returncode == 2
    lines = [line.strip().split(": ")[0].rpartition(":")[2] for line in done.stderr.splitlines()[1:]]
    assert lines == ["9", "10", "11", "12", "13"]
    assert [p.name for p in path.parent.iterdir()] == ["study.yaml"]
    over = "{model.y: {float: [0, 1]}, model.heads: {int: [1, 4], when: model.kind=wide}}"
    found = problems(
        write(
            PEAK_STUDY
            + f"search:\n  over: {over}\n  objectives: [scor]\ntune: {{over: {{model.z: {{int: [1, 2]}}}}}}\n"
        )
    )
    assert [problem.partition(":")[0] for problem in found] == ["line 8", "line 8", "line 9", "line 10"]


def test_a_sweep_needs_a_search(write: Callable[..., Path]) -> None:
    path = write(PEAK_STUDY)
    done = ablate_here("sweep", path, cwd=path.parent)
    assert done.returncode == 2
    assert "search: is required: it says what a sweep looks for" in done.stderr
    assert [p.name for p in path.parent.iterdir()] == ["study.yaml"]


@pytest.mark.parametrize("kind", ["search", "tune"])
def test_a_storage_is_refused_by_name_with_the_reason(write: Callable[..., Path], kind: str) -> None:
    over = "{over: {model.x: {float: [0, 1]}}, storage: sqlite:///x.db}"
    (said,) = problems(write(f"{PEAK_STUDY}{kind}: {over}\n"))
    assert f"{kind}.storage: is not kept anywhere but in the records" in said
    assert "ablate export --optuna" in said
