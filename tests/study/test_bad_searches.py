"""A search that cannot be done is a mistake of the study: named with its line, before anything trains or is written."""

from collections.abc import Callable
from pathlib import Path

import pytest
from harness import ablate_here, problems
from searching import PEAK_STUDY, SWEEP

WIDE = "model.kind: {choice: [plain, wide]}"


@pytest.mark.parametrize(
    ("over", "expected"),
    [
        ("model.y: {float: [0, 1]}", "model.y: the path does not exist: model has no 'y'; allowed: kind, x"),
        ("model.head: {int: [1, 2]}", "Did you mean 'heads'?"),
        ("model.x: {float: [0, 0]}", "model.x: is empty or inverted; given {float: [0, 0]}"),
        (
            "model.x: {float: [1, 0]}",
            "model.x: is empty or inverted; given {float: [1, 0]}; allowed: [low, high]",
        ),
        ("model.x: {float: [0]}", "model.x.float: must have 2 entries; given [0]"),
        ("model.x: {float: [0, .inf]}", "model.x.float[1]: must be a finite number; given inf"),
        ("model.x: {float: [0, one]}", "model.x.float[1]: must be a number; given 'one'"),
        ("training.lr: {float: [0, 1], log: true}", "training.lr: has no logarithm at 0"),
        ("training.lr: {float: [-1, 1], log: true}", "training.lr: has no logarithm at -1"),
        ("model.heads: {int: [0, 4], log: true}", "model.heads: has no logarithm at 0"),
        ("model.heads: {int: [1.5, 3]}", "model.heads.int[0]: must be a whole number; given 1.5"),
        ("model.x: {float: [0, 1], step: 2}", "model.x: holds no step of 2; given"),
        ("model.x: {float: [0, 1], step: 0}", "model.x.step: must be greater than 0; given 0"),
        ("model.x: {float: [1, 2], step: 0.1, log: true}", "model.x: cannot have both log and step"),
        ("model.x: {floot: [0, 1]}", "model.x: must be one kind of space; given {floot: [0, 1]}; allowed:"),
        ("model.x: {float: [0, 1], int: [0, 1]}", "model.x: must be one kind of space"),
        ("model.x: {float: [0, 1], whn: x}", "model.x: has no 'whn'; given"),
        ("model.kind: {choice: []}", "model.kind.choice: must not be empty"),
        ("model.kind: {choice: [plain, plain]}", "model.kind.choice[1]: is listed twice; given 'plain'."),
        ("model.x: {choice: [1, 1.0]}", "model.x.choice[1]: is listed twice; given 1.0"),
        ("model.kind: {choice: [plain, wid]}", "choice[1]: is not a choice; given 'wid'; allowed: plain"),
        ("model.heads: {float: [1.5, 2.5]}", "model.heads.float[0]: must be a whole number; given 1.5"),
        (f"model.heads: {{int: [1, 2], when: model.knd=wide}}, {WIDE}", "Did you mean 'model.kind'?"),
        (
            f"model.heads: {{int: [1, 2], when: wide}}, {WIDE}",
            "heads.when: must be PATH=LEVEL, of another path",
        ),
        (
            f"model.heads: {{int: [1, 2], when: model.kind=wid}}, {WIDE}",
            "allowed: plain, wide. Did you mean 'wide'?",
        ),
        ("model.heads: {int: [1, 2], when: model.heads=1}", "heads.when: must be PATH=LEVEL, of another"),
        (
            "model.heads: {int: [1, 2], when: model.x=1.0}, model.x: {float: [0, 1]}",
            "heads.when: must be PATH=LEVEL, of another path that is searched, over choices",
        ),
        (
            f"model.heads: {{int: [1, 2], when: [model.kind=wide, model.kind=plain]}}, {WIDE}",
            "heads.when: can never hold together with the other conditions; given 'model.kind=plain'",
        ),
        (
            f"model.heads: {{int: [1, 2], when: model.kind=wide}}, {WIDE[:-1]}, when: model.heads=1}}",
            "model.heads: have circular `when` conditions",
        ),
        ("task.name: {choice: [peak, valley]}", "task.name: changes the task, on which all settings must be"),
    ],
)
def test_a_space_that_cannot_be_searched(write: Callable[..., Path], over: str, expected: str) -> None:
    for kind in ("search", "tune"):
        found = problems(write(f"{PEAK_STUDY}{kind}:\n  over: {{{over}}}\n"))
        assert found[0].startswith(f"line 8: {kind}.over.")
        assert expected in found[0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("search: {}", "line 7: search.over: is required"),
        ("search: {over: {}}", "line 7: search.over: must not be empty"),
        ("search: {over: X, trails: 3}", "line 7: search.trails: unknown key; allowed: over, trials, pruner"),
        ("search: {over: X, sampler: tpee}", "line 7: search.sampler: unknown sampler; given 'tpee'"),
        ("search: {over: X, sampler: {name: tpe, n_startup: 3}}", "sampler.n_startup: unknown key; allowed:"),
        ("search: {over: X, pruner: medain}", "line 7: search.pruner: unknown pruner; given 'medain'"),
        ("search: {over: X, objectives: [scor]}", "objectives[0]: no such objective; given 'scor'; allowed:"),
        ("search: {over: X, objectives: [score, score]}", "line 7: search.objectives[1]: is listed twice"),
        ("search: {over: X, objectives: score}", "line 7: search.objectives: must be a list; given 'score'"),
        (
            "search: {over: X, objectives: [score, flops], sampler: cmaes}",
            "line 7: search.sampler: looks for one objective; the search has 2; given 'cmaes'",
        ),
        ("search: {over: X, objectives: [score, flops], pruner: median}", "search.pruner: prunes by one"),
        ("search: {over: X, objectives: [seed_spread]}", "is the spread of a metric, and none is searched"),
        ("search: {over: X, objectives: [score, seed_spread], seeds: 1}", "is a standard deviation over"),
        ("search: {over: X, pruner: median}\ntraining: {reports: 1}", "search.pruner: needs intermediate"),
        (
            "search: {over: X, pruner: wilcoxon, seeds: 1}",
            "line 7: search.pruner: cannot save a training",
        ),
        ("search: {over: X, sampler: grid}", "over.model.x: is continuous; a grid needs a step. Give it"),
        (
            "search: {over: {model.x: {float: [0, 1], step: 0.1}}, sampler: grid, trials: 5}",
            "line 7: search.trials: would leave 6 of the 11 points of the grid out; given 5; allowed: 11",
        ),
        ("search: {over: X, trials: 0}", "line 7: search.trials: must be greater than 0"),
        ("search: {over: X, seeds: 0}", "line 7: search.seeds: must be greater than or equal to 1"),
        ("tune: {over: X}\nfactors: {model.x: [1]}", "tune.over.model.x: is part of what the study compares"),
        (
            "tune: {over: X}\nvariants: {a: {model.x: 1}}",
            "tune.over.model.x: is part of what the study compares",
        ),
        ("tune: {over: X}\nmatch: {parameters: baseline, by: model.x}", "model.x is searched by `tune`"),
        ("tune: {over: X, objectives: [score]}", "line 7: tune.objectives: unknown key"),
        ("variants: {winner: {model.x: 1}}\nsearch: {over: X}", "line 7: variants.winner: is the name of a"),
        ("search: {over: X}\nclaims: [winner-2 beats baseline on score]", "unknown variant 'winner-2'"),
    ],
)
def test_a_search_that_cannot_be_done(write: Callable[..., Path], text: str, expected: str) -> None:
    found = problems(write(f"{PEAK_STUDY}{text.replace('X', '{model.x: {float: [0, 1]}}')}\n"))
    assert len(found) == 1
    assert expected in found[0]


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
