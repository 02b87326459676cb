"""`speed:` and `target:`: what cannot be timed, or reached, is refused with its line, before anything trains."""

from collections.abc import Callable
from pathlib import Path

import pytest
from harness import TOY_STUDY

from ablate.base.errors import StudyError
from ablate.study.document import read_document
from ablate.study.facts import facts_of
from ablate.study.prepare import prepare
from ablate.study.resolved import resolved_text

PLUGIN = Path(__file__).parents[1] / "clocked.py"
STUDY = f"""\
name: clocked
workload: clocked
plugins: [{PLUGIN}]
task: {{name: count}}
factors: {{model.work: [40]}}
"""


def problems(path: Path) -> list[str]:
    with pytest.raises(StudyError) as caught:
        prepare(path)
    return [str(problem).replace(f"{path}:", "line ") for problem in caught.value.problems]


@pytest.mark.parametrize(
    ("section", "expected"),
    [
        ("speed: fast", "speed: must be on, off or a mapping; given 'fast'; allowed: on, off, {calls, over"),
        ("speed: [step]", "speed: must be on, off or a mapping; given [step]"),
        (
            "speed: {calls: [stpe]}",
            "speed.calls[0]: is not a choice; given 'stpe'; allowed: forward, step, generation. Did you mean 'step'",
        ),
        ("speed: {calls: []}", "speed.calls: must not be empty; given []"),
        (
            "speed: {procesess: 9}",
            "speed.procesess: unknown key; allowed: calls, over, processes, margin. Did",
        ),
        ("speed: {processes: 4}", "speed.processes: must be greater than or equal to 5; given 4"),
        ("speed: {margin: 0.01}", "speed.margin: must be greater than or equal to 0.02; given 0.01"),
        ("speed: {over: {task.seq_len: [8, 16]}}", "speed.over.task.seq_len: shows no slope; given [8, 16]"),
        ("speed: {over: {task.seq_len: [8, 8, 16]}}", "speed.over.task.seq_len: lists 8 twice"),
        (
            "speed: {over: {task.seq_len: [8, long, 16]}}",
            "speed.over.task.seq_len[1]: must be a number above 0",
        ),
        (
            "speed: {over: {task.seq_len: [8, -2, 16]}}",
            "speed.over.task.seq_len[1]: must be a number above 0",
        ),
        ("speed: {over: {a: [1, 2, 3], b: [1, 2, 3]}}", "speed.over: has more than one path"),
        (
            "speed: {over: {task.seq_ln: [2, 4, 6]}}",
            "speed.over.task.seq_ln: the path does not exist: task has no 'seq_ln'; given 'task.seq_ln'; allowed: "
            "name, seq_len. Did you mean 'seq_len'?",
        ),
        ("speed: {over: {task.name: [2, 4, 6]}}", "speed.over.task.name: is no number; given 'count'"),
        ("speed: {over: {model.breaks: [2, 4, 6]}}", "speed.over.model.breaks: is no number; given False"),
        (
            "speed: {over: {task: [2, 4, 6]}}",
            "speed.over.task: is no number; given {name: count, seq_len: 8}",
        ),
        (
            "speed: {over: {task.seq_len: [8.5, 10, 12]}}",
            "speed.over.task.seq_len[0]: must be a whole number (in baseline, model.work=40); given 8.5",
        ),
        (
            "speed: {over: {task.seq_len: [4, 6, 7, 8]}}",
            "speed.over.task.seq_len[2]: must be even (in baseline, model.work=40); given 7; allowed: for instance 8",
        ),
        (
            "target: {acuracy: 0.9}",
            "target.acuracy: no such metric; given 'acuracy'; allowed: accuracy. Did you",
        ),
        (
            "target: {accuracy: 0.1}",
            "target.accuracy: is what guessing has, so that it tells nothing; given 0.1; allowed: more than 0.1, at "
            "most 1",
        ),
        ("target: {accuracy: 1.1}", "target.accuracy: is out of reach, so that it tells nothing; given 1.1"),
        ("target: {accuracy: high}", "target.accuracy: must be a number; given 'high'"),
        ("target: {accuracy: 0.9, loss: 0.1}", "target: has more than one metric"),
    ],
)
def test_what_cannot_be(write: Callable[..., Path], section: str, expected: str) -> None:
    (problem,) = problems(write(STUDY + section + "\n"))
    assert problem.startswith(f"line 6: {expected}"), problem


def test_every_mistake_is_named_at_its_own_line(write: Callable[..., Path]) -> None:
    text = (
        STUDY
        + """\
speed:
  calls: [forward, backward]
  over:
    task.seq_len:
      - 9
      - 12
      - 7
target:
  accuracy: 2
"""
    )
    found = [problem.partition(":")[0] for problem in problems(write(text))]
    assert found == ["line 7", "line 10", "line 12", "line 14"]


@pytest.mark.parametrize(
    ("factors", "where"),
    [
        ("factors: {task.seq_len: [10]}", "factors.task.seq_len"),
        ("variants: {long: {task.seq_len: 10}}", "variants.long.task.seq_len"),
        ("variants: {long: {task: {seq_len: 10}}}", "variants.long"),
    ],
)
def test_sizes_are_not_what_is_compared(write: Callable[..., Path], factors: str, where: str) -> None:
    text = STUDY.replace("factors: {model.work: [40]}", factors)
    (problem,) = problems(write(text + "speed: {over: {task.seq_len: [4, 8, 16]}}\n"))
    rule = "is what `speed` times every variant over, so that no variant can have a task.seq_len of its own"
    assert problem.startswith(f"line 5: {where}: {rule}. Take it out, or compare task.seq_len without"), (
        problem
    )


def test_sizes_are_not_what_is_tuned(write: Callable[..., Path]) -> None:
    tune = "tune: {over: {model.waits: {float: [0, 0.1]}}, trials: 2}\n"
    (problem,) = problems(write(STUDY + tune + "speed: {over: {model.waits: [0.1, 0.2, 0.3]}}\n"))
    assert problem.startswith("line 7: speed.over.model.waits: is what `tune` sets for each variant"), problem


def test_a_variant_that_lacks_the_path_is_named(write: Callable[..., Path]) -> None:
    text = """\
    name: lacking
    task: recall
    model: {d_model: 8, num_layers: 1, mixer: {num_heads: 2}}
    factors: {model.mixer: [gru]}
    speed: {over: {model.mixer.num_heads: [1, 2, 4]}}
    """
    found = problems(write(text))
    expected = (
        "line 5: speed.over.model.mixer.num_heads: is no path of model.mixer=gru; allowed: a path that every"
    )
    assert [problem for problem in found if problem.startswith(expected)], found


def test_a_workload_without_operations_cannot_be_timed(write: Callable[..., Path]) -> None:
    (problem,) = problems(write(TOY_STUDY + "speed: on\n"))
    rule = "needs a workload that says what can be timed, in `operations`, which toy does not"
    assert f"speed: {rule}. Take `speed` out, or override `operations` of the workload" in problem


def test_a_section_is_read_in_order_and_survives_the_resolved_study(write: Callable[..., Path]) -> None:
    path = write(
        STUDY + "speed: {over: {task.seq_len: [16, 4, 8]}, calls: [step, forward]}\ntarget: {accuracy: .9}\n"
    )
    experiment = prepare(path)
    speed = experiment.study.speed
    assert speed is not None
    assert (speed.over, speed.calls) == ({"task.seq_len": [4, 8, 16]}, ["forward", "step"])
    assert {type(size) for size in speed.over["task.seq_len"]} == {int}
    assert facts_of(experiment).target == {"accuracy": 0.9}
    again = write(resolved_text(experiment, path.parent), "again.yaml")
    assert (prepare(again).study.speed, prepare(again).study.target) == (speed, {"accuracy": 0.9})
    plain = write(resolved_text(prepare(write(STUDY)), path.parent), "resolved.yaml")
    assert not {"speed", "target"} & set(read_document(plain).data)


@pytest.mark.parametrize("given", ["on", "true", "{}"])
def test_it_is_switched_on_and_changed_on_the_command_line(write: Callable[..., Path], given: str) -> None:
    path = write(STUDY + f"speed: {given}\n")
    before = prepare(path).study.speed
    assert before is not None
    for sets in (["speed.processes=6"], ["speed={processes: 6}"]):
        assert prepare(path, sets=sets).study.speed == before.model_copy(update={"processes": 6})
    sizes = prepare(path, sets=["speed.over.task.seq_len=[4, 8, 16]"]).study.speed
    assert sizes == before.model_copy(update={"over": {"task.seq_len": [4, 8, 16]}})
    assert prepare(path, sets=["speed=off"]).study.speed is None
    assert prepare(write(STUDY), sets=["speed=on"]).study.speed == before
