"""`speed:` and `target:` of a study."""

import pytest
from harness import TOY, prepare

from ablate.study.document import read_document
from ablate.study.facts import facts_of
from ablate.study.files import resolved_text

STUDY = f"""\
name: timed
workload: toy
plugins: [{TOY}]
task: {{name: coin}}
factors: {{model.noise: [0.2]}}
"""


def test_a_section_is_read_in_order_and_survives_the_resolved_study(write):
    path = write(
        STUDY + "speed: {over: {model.width: [16, 4, 8]}, calls: [step, forward]}\nmetric: {target: 0.9}\n"
    )
    experiment = prepare(path)
    speed = experiment.config.speed
    assert speed is not None
    assert (speed.over, speed.calls) == ({"model.width": [4, 8, 16]}, ["forward", "step"])
    assert {type(size) for size in speed.over["model.width"]} == {int}
    assert facts_of(experiment).target == {"accuracy": 0.9}
    again = write(resolved_text(experiment, path.parent), "again.yaml")
    assert (prepare(again).config.speed, prepare(again).config.metric.target) == (speed, 0.9)
    plain = write(resolved_text(prepare(write(STUDY)), path.parent), "resolved.yaml")
    assert "speed" not in read_document(plain).data


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize("given", ["on", "true", "{}"])
def test_it_is_switched_on_and_changed_on_the_command_line(write, given):
    path = write(STUDY + f"speed: {given}\n")
    before = prepare(path).config.speed
    assert before is not None
    for sets in (["speed.processes=6"], ["speed={processes: 6}"]):
        assert prepare(path, sets=sets).config.speed == before.model_copy(update={"processes": 6})
    sizes = prepare(path, sets=["speed.over.model.width=[4, 8, 16]"]).config.speed
    assert sizes == before.model_copy(update={"over": {"model.width": [4, 8, 16]}})
    assert prepare(path, sets=["speed=off"]).config.speed is None
    assert prepare(write(STUDY), sets=["speed=on"]).config.speed == before
