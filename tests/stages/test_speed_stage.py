"""Variants are timed in real processes, once: what is kept is what was measured, whatever the variants are called."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from drivers import wait_for, workers_of
from harness import TOY_STUDY, prepare

from ablate.base.errors import AblateError
from ablate.core.speed_facts import SpeedFacts
from ablate.records.store import Store
from ablate.stages.speed import methods
from ablate.stages.speed import timing as speed
from ablate.stages.speed.section import SpeedSection

ROOT = Path(__file__).parents[2]
STUDY = TOY_STUDY.partition("factors")[0] + "factors: {model.width: [8]}\nseeds: 1\n"
BUDGET = 0.002
"""Seconds of a call, so that a test takes little time."""


def section(**given):
    """Fewer processes than a study may ask for."""
    return SpeedSection.model_construct(
        **{"calls": ["step"], "over": {}, "processes": 2, "margin": 0.02, "metric": None, **given}
    )


@pytest.fixture
def measure(tmp_path, monkeypatch):
    monkeypatch.setattr(methods, "BUDGET", BUDGET)

    def measure(path, *, fresh=False, **given):
        said = []
        experiment, store = prepare(path), Store(tmp_path / "store", said.append)
        frame = (
            speed.Timing(experiment, store, section(**given))
            .complete(said.append, fresh=fresh)
            .measurement.frame
        )
        return frame, said

    return measure


@pytest.mark.slow
def test_every_variant_is_timed_once_whatever_it_is_called(write, measure, monkeypatch):
    frame, said = measure(write(STUDY), calls=["forward", "step", "generation"])
    assert [*frame.columns] == [*SpeedFacts.columns]
    assert said[0] == "Timing 2 variants, process 1 of 2 …"
    assert said[1].startswith("Timing 2 variants, process 2 of 2, about ")
    assert len(frame) == 2 * 2 * 2
    assert {*zip(frame.variant, frame.call, frame.process, strict=True)} == {
        (variant, call, process)
        for variant in ("baseline", "model.width=8")
        for call in ("forward", "step")
        for process in (0, 1)
    }
    assert frame["size"].isna().all()
    assert frame.own.all()
    assert (frame.seconds > 0).all()
    assert frame.log_ratio.notna().all()
    assert set(frame[frame.call == "forward"].flops) == {400}
    assert frame[frame.call == "step"].flops.isna().all()
    assert frame.memory.isna().all()
    assert (frame.busy >= 0).all()

    # Another name, a placebo, and one more process: only that process is measured.
    renamed = STUDY.replace("factors: {model.width: [8]}", "variants: {wide: {model.width: 8}}\nplacebo: on")
    again, said = measure(write(renamed), calls=["forward", "step", "generation"], processes=3)
    assert said == ["Timing 2 variants, process 3 of 3 …"]
    assert set(again.variant) == {"baseline", "wide"}
    same = again[again.process < 2].drop(columns="variant").reset_index(drop=True)
    assert same.equals(frame.drop(columns="variant"))
    fewer, said = measure(write(renamed), calls=["forward", "step", "generation"])
    assert not said
    assert fewer.drop(columns="variant").equals(frame.drop(columns="variant"))

    monkeypatch.setattr("ablate.records.environment.machine", lambda: "another")
    anew, said = measure(write(renamed), calls=["forward", "step", "generation"], processes=1)
    assert said == ["Timing 2 variants, process 1 of 1 …"]
    assert len(anew) == 4


@pytest.mark.slow
def test_sizes_are_timed_beside_the_study_s_own_which_is_timed_once(write, measure, tmp_path):
    study = STUDY.replace("{model.width: [8]}", "{model.effect: [0.2]}")
    frame, said = measure(write(study), over={"model.width": [2, 4, 16]}, processes=1)
    assert said == ["Timing 2 variants at 3 sizes, process 1 of 1 …"]
    assert sorted(zip(frame["size"], frame.own, frame.variant, strict=True)) == [
        (size, size == 4, variant) for size in (2, 4, 16) for variant in ("baseline", "model.effect=0.2")
    ]
    (spoilt, *_) = (tmp_path / "store" / "speed").iterdir()
    spoilt.write_text("{")
    again, said = measure(write(study), over={"model.width": [2, 4, 16, 32]}, processes=1)
    assert "is corrupt" in said[0]
    assert said[1] == "Timing 2 variants at 4 sizes, process 1 of 1 …"
    kept = again.merge(frame, on=["size", "variant", "log_ratio", "seconds"])
    assert len(kept) == 4


WIDTH = "model.width: must not be unlucky; given 13; allowed: any other width. Correct it, or leave 13 out"
LOST = "its process was killed by SIGKILL. Make batch, length or model smaller, and run the same command"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "given", "said"),
    [
        (
            "training.fault: [raise]",
            {},
            "training.fault=raise: cannot be timed: RuntimeError: the toy broke (tests/",
        ),
        ("training.fault: [kill]", {}, f"training.fault=kill: cannot be timed: {LOST}"),
        (
            "model.effect: [0.2]",
            {"over": {"model.width": [2, 13, 16]}},
            f"at model.width = 13: cannot be timed: {WIDTH} of speed.over",
        ),
        (
            "model.effect: [0.2]",
            {"calls": ["generation"]},
            "baseline: cannot be timed: its workload offers none of the calls generation",
        ),
    ],
)
def test_a_variant_that_cannot_be_timed_is_named(write, measure, change, given, said):
    with pytest.raises(AblateError) as caught:
        measure(write(STUDY.replace("model.width: [8]", change)), **given)
    assert said in str(caught.value)


DRIVER = """
import sys
from pathlib import Path
from ablate.records.store import Store
from ablate.stages.speed import methods
from ablate.stages.speed import timing as speed
from harness import prepare
from ablate.core.speed_facts import SpeedFacts
from ablate.stages.speed.section import SpeedSection
methods.BUDGET = 0.02
experiment = prepare(Path("study.yaml"))
section = SpeedSection(calls=["step"], processes=200)
speed.Timing(experiment, Store(Path("store")), section).complete(print)
"""


def measuring(folder):
    """Processes that measure, of a driver that was started in a folder."""
    return workers_of(folder, "ablate.stages.speed.measuring")


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, pytest.param(signal.SIGINT, marks=pytest.mark.slow)])
def test_a_driver_that_ends_leaves_no_process_and_loses_no_measurement(write, measure, tmp_path, number):
    path = write(STUDY)
    driver = subprocess.Popen(
        [sys.executable, "-c", DRIVER],
        cwd=tmp_path,
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests")])},
    )
    try:
        wait_for(lambda: [*(tmp_path / "store" / "speed").glob("*.json")] and measuring(tmp_path))
        os.killpg(driver.pid, number) if number == signal.SIGINT else driver.kill()
    finally:
        wait_for(lambda: driver.poll() is not None)
    wait_for(lambda: not measuring(tmp_path))
    (file,) = (tmp_path / "store" / "speed").glob("*.json")
    kept = len(json.loads(file.read_text())["processes"])
    assert 1 <= kept < 200
    frame, said = measure(path, processes=kept + 1)
    assert said == [f"Timing 2 variants, process {kept + 1} of {kept + 1} …"]
    assert len(frame) == 2 * (kept + 1)
