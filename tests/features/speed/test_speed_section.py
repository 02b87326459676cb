"""`speed:` and `target:`: what cannot be timed, or reached, is refused with its line, before anything trains."""

from collections.abc import Callable
from pathlib import Path

import pytest
from harness import TOY

from ablate.base.errors import StudyError
from ablate.study.document import read_document
from ablate.study.experiment import facts_of
from ablate.study.prepare import prepare, resolved_text

STUDY = f"""\
name: timed
workload: toy
plugins: [{TOY}]
task: {{name: coin}}
factors: {{model.noise: [0.2]}}
"""
UNTIMED = (
    f"name: rated\nworkload: rated\nplugins: [{TOY.with_name('rated.py')}]\nfactors: {{model.limit: [0.1]}}\n"
)


def problems(path: Path) -> list[str]:
    with pytest.raises(StudyError) as caught:
        prepare(path)
    return [str(problem).replace(f"{path}:", "line ") for problem in caught.value.problems]


@pytest.mark.parametrize(
    ("section", "expected"),
    [
        ("speed: fast", "speed: must be on, off or a mapping; given 'fast'; allowed: on, off, {calls, over"),
        ("speed: [step]", "speed: must be on, off or a mapping; given [step]"),
        ("speed: {calls: [stpe]}", "speed.calls[0]: is not a choice; given 'stpe'; allowed: forward, step"),
        ("speed: {calls: []}", "speed.calls: must not be empty; given []"),
        ("speed: {procesess: 9}", "speed.procesess: unknown key; allowed: calls, over, processes, margin."),
        ("speed: {processes: 4}", "speed.processes: must be greater than or equal to 5; given 4"),
        ("speed: {margin: 0.01}", "speed.margin: must be greater than or equal to 0.02; given 0.01"),
        (
            "speed: {over: {model.width: [8, 16]}}",
            "speed.over.model.width: has too few values; given [8, 16]",
        ),
        ("speed: {over: {model.width: [8, 8, 16]}}", "speed.over.model.width: lists 8 twice"),
        ("speed: {over: {model.width: [8, long, 16]}}", "speed.over.model.width[1]: must be a number above"),
        ("speed: {over: {model.width: [8, -2, 16]}}", "speed.over.model.width[1]: must be a number above 0"),
        ("speed: {over: {a: [1, 2, 3], b: [1, 2, 3]}}", "speed.over: has more than one path"),
        (
            "speed: {over: {model.widht: [2, 4, 6]}}",
            "speed.over.model.widht: the path does not exist: model has no 'widht'; given 'model.widht'; allowed: "
            "effect, noise, width, inert. Did you mean 'width'?",
        ),
        ("speed: {over: {task.name: [2, 4, 6]}}", "speed.over.task.name: is no number; given 'coin'"),
        ("speed: {over: {task: [2, 4, 6]}}", "speed.over.task: is no number; given {name: coin}"),
        ("speed: {over: {model.width: [8.5, 10, 12]}}", "speed.over.model.width[0]: must be a whole number"),
        ("speed: {over: {model.width: [4, 8, 13, 16]}}", "speed.over.model.width[2]: must not be unlucky"),
        ("metric: {target: 0}", "metric.target: is what guessing has, so that it tells nothing; given 0.0"),
        ("metric: {target: high}", "metric.target: must be a number; given 'high'"),
        ("target: {accuracy: 0.9}", "target: unknown key; allowed: name,"),
        ("match: {seconds: baseline, by: training.steps}", "match.seconds: unknown key; allowed:"),
        ("metric: {also: [loss]}", "metric.also: unknown key; allowed: name, margin, at, target"),
    ],
)
def test_what_cannot_be(write: Callable[..., Path], section: str, expected: str) -> None:
    (problem,) = problems(write(STUDY + section + "\n"))
    assert problem.startswith(f"line 6: {expected}"), problem


@pytest.mark.parametrize(
    ("factors", "where"),
    [
        ("factors: {model.width: [10]}", "factors.model.width"),
        ("variants: {long: {model.width: 10}}", "variants.long.model.width"),
        ("variants: {long: {model: {width: 10}}}", "variants.long"),
    ],
)
def test_sizes_are_not_what_is_compared(write: Callable[..., Path], factors: str, where: str) -> None:
    text = STUDY.replace("factors: {model.noise: [0.2]}", factors)
    (problem,) = problems(write(text + "speed: {over: {model.width: [4, 8, 16]}}\n"))
    rule = "is what `speed` times every variant over, so that no variant can have a model.width of its own"
    assert problem.startswith(f"line 5: {where}: {rule}. Take it out, or compare model.width without"), (
        problem
    )


def test_sizes_are_not_what_is_tuned(write: Callable[..., Path]) -> None:
    tune = "tune: {over: {training.seconds: {float: [0, 0.1]}}, trials: 2}\n"
    (problem,) = problems(write(STUDY + tune + "speed: {over: {training.seconds: [0.1, 0.2, 0.3]}}\n"))
    assert problem.startswith("line 7: speed.over.training.seconds: is what `tune` sets for each variant"), (
        problem
    )


def test_a_variant_that_lacks_the_path_is_named(write: Callable[..., Path]) -> None:
    text = """\
    name: lacking
    task: recall
    model: {d_model: 8, num_layers: 1, mixer: {num_heads: 2}}
    factors: {model.mixer: [gru]}
    speed: {over: {model.mixer.num_heads: [1, 2, 4]}}
    """
    found = problems(write(text))
    expected = "line 5: speed.over.model.mixer.num_heads: is no path of model.mixer=gru; allowed: the path of"
    assert [problem for problem in found if problem.startswith(expected)], found


@pytest.mark.parametrize("path", ["training.steps", "training.lr"])
def test_steps_and_learning_rate_are_no_sizes(write: Callable[..., Path], path: str) -> None:
    text = "name: sized\ntask: recall\nmodel: {d_model: 8, num_layers: 1, mixer: {num_heads: 2}}\n"
    text += f"factors: {{model.norm: [rms]}}\nspeed: {{over: {{{path}: [1, 2, 3]}}}}\n"
    (problem,) = problems(write(text))
    assert problem.startswith(
        f"line 5: speed.over.{path}: changes nothing about the time of a step; allowed"
    ), problem


def test_a_target_can_be_reached(write: Callable[..., Path]) -> None:
    (problem,) = problems(write(UNTIMED + "metric: {target: 2}\n"))
    rule = "line 5: metric.target: is out of reach, so that it tells nothing; given 2.0; allowed: more than 0, at"
    assert problem.startswith(rule), problem


def test_a_workload_without_operations_cannot_be_timed(write: Callable[..., Path]) -> None:
    (problem,) = problems(write(UNTIMED + "speed: on\n"))
    rule = "needs a workload that says what can be timed, in `operations`, which rated does not"
    assert f"speed: {rule}. Take `speed` out, or override `operations` of the workload" in problem


def test_a_section_is_read_in_order_and_survives_the_resolved_study(write: Callable[..., Path]) -> None:
    path = write(
        STUDY + "speed: {over: {model.width: [16, 4, 8]}, calls: [step, forward]}\nmetric: {target: .9}\n"
    )
    experiment = prepare(path)
    speed = experiment.study.speed
    assert speed is not None
    assert (speed.over, speed.calls) == ({"model.width": [4, 8, 16]}, ["forward", "step"])
    assert {type(size) for size in speed.over["model.width"]} == {int}
    assert facts_of(experiment).target == {"accuracy": 0.9}
    again = write(resolved_text(experiment, path.parent), "again.yaml")
    assert (prepare(again).study.speed, prepare(again).study.metric.target) == (speed, 0.9)
    plain = write(resolved_text(prepare(write(STUDY)), path.parent), "resolved.yaml")
    assert "speed" not in read_document(plain).data


@pytest.mark.parametrize("given", ["on", "true", "{}"])
def test_it_is_switched_on_and_changed_on_the_command_line(write: Callable[..., Path], given: str) -> None:
    path = write(STUDY + f"speed: {given}\n")
    before = prepare(path).study.speed
    assert before is not None
    for sets in (["speed.processes=6"], ["speed={processes: 6}"]):
        assert prepare(path, sets=sets).study.speed == before.model_copy(update={"processes": 6})
    sizes = prepare(path, sets=["speed.over.model.width=[4, 8, 16]"]).study.speed
    assert sizes == before.model_copy(update={"over": {"model.width": [4, 8, 16]}})
    assert prepare(path, sets=["speed=off"]).study.speed is None
    assert prepare(write(STUDY), sets=["speed=on"]).study.speed == before
