"""The GPUs that trials get, on a machine whose `nvidia-smi` is a stand-in."""

import json
import os
import stat

import pytest
from harness import plan_here, prepare, problems, run_here, toy_changed

from ablate.base.errors import AblateError
from ablate.execution.devices import refuse_too_few, shares_of, visible_devices
from ablate.records.store import Store

SEEN = """
import json, os, sys, time
place = os.path.join(os.environ["SEEN"], f"{time.time_ns()}.json")
began = time.time()
time.sleep(0.3)
with open(place, "w") as file:
    json.dump([os.environ.get("CUDA_VISIBLE_DEVICES"), began, time.time()], file)
print("val loss", 1.0 + float(sys.argv[1]) + 0.1 * int(sys.argv[2]))
"""


@pytest.fixture
def gpus(tmp_path, monkeypatch):
    """A machine with so many GPUs, by a stand-in of `nvidia-smi`."""
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)

    def give(count):
        folder = tmp_path / "bin"
        folder.mkdir(exist_ok=True)
        program = folder / "nvidia-smi"
        lines = "".join(f"echo '{index}, NVIDIA H200'\n" for index in range(count))
        program.write_text(f"#!/bin/sh\n{lines}")
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")

    return give


@pytest.fixture
def study(tmp_path, monkeypatch):
    """A command that notes which GPUs it sees, and when, with these resources."""
    folder = tmp_path / "study"
    folder.mkdir()
    seen = tmp_path / "seen"
    seen.mkdir()
    monkeypatch.setenv("SEEN", str(seen))
    (folder / "see.py").write_text(SEEN)

    def written(given, /, **changes):
        workload = {
            "command": "python see.py {rate} {seed}",
            "read": {"loss": r"val loss (\S+)"},
            "resources": given,
            "parallel": "on",
        }
        data = {
            "name": "seen",
            "workload": workload,
            "config": {"rate": 0.5},
            "metrics": {"loss": "min"},
            "factors": {"config.rate": [1.0]},
            "seeds": 3,
        }
        path = folder / "study.yaml"
        path.write_text(json.dumps(data | changes))
        return path

    return written


def of_study(gpus):
    return {"resources": {"gpus": gpus}}


def seen_by_trials(tmp_path):
    return [json.loads(path.read_text()) for path in sorted((tmp_path / "seen").iterdir())]


def most_at_once(seen):
    """By what a trial sees: the most trials that ran at the same time."""
    most = {}
    for share, began, _ in seen:
        together = [other for other in seen if other[0] == share and other[1] <= began < other[2]]
        most[share] = max(most.get(share, 0), len(together))
    return most


def test_what_is_visible_is_what_the_driver_lists_or_the_variable_names(gpus, monkeypatch):
    gpus(3)
    assert visible_devices() == ["0", "1", "2"]
    for given, visible in {
        "2,0": ["2", "0"],
        "": [],
        "-1": [],
        "1,-1,2": ["1"],
        "0, 7,1": ["0"],
        "GPU-8f2a,MIG-3c": ["GPU-8f2a", "MIG-3c"],
    }.items():
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", given)
        assert visible_devices() == visible


def test_without_the_driver_nothing_is_visible_but_what_the_variable_names(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert visible_devices() == []
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "5")
    assert visible_devices() == ["5"]


def test_shares_are_spread_over_the_devices():
    assert shares_of("0123", 1) == ["0", "1", "2", "3"]
    assert shares_of("01", 0.5) == ["0", "1", "0", "1"]
    assert shares_of("0", 1 / 3) == ["0"] * 3
    assert shares_of("01234", 2) == ["0,1", "2,3"]
    assert shares_of("0", 2) == []
    assert shares_of("", 0.5) == []


def test_more_than_are_visible_are_refused_with_what_is_visible(gpus, monkeypatch):
    gpus(4)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3")
    with pytest.raises(AblateError) as refused:
        refuse_too_few(2, visible_devices())
    for words in ("takes 2", "1 GPU visible", ", 3, of 4", "NVIDIA H200", "CUDA_VISIBLE_DEVICES is '3'"):
        assert words in str(refused.value)


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize(
    ("given", "number", "shares", "at_once"),
    [
        ({"gpus": 1}, 2, {"0", "1"}, 1),
        ({"gpus": 0.5}, 1, {"0"}, 2),
        ({"gpus": 2}, 4, {"0,1", "2,3"}, 1),
        ({"gpu": "on"}, 2, {"0", "1"}, 1),
    ],
)
def test_each_trial_of_own_code_sees_its_share(gpus, study, tmp_path, given, number, shares, at_once):
    gpus(number)
    outcome, _ = run_here(study(given), jobs=None)
    assert not outcome.failed
    seen = seen_by_trials(tmp_path)
    assert len(seen) == 6
    assert {share for share, _, _ in seen} == shares
    assert max(most_at_once(seen).values()) <= at_once


@pytest.mark.slow
def test_what_the_driver_of_the_run_sees_is_what_is_divided(gpus, study, tmp_path, monkeypatch):
    gpus(4)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3,1")
    run_here(study({"gpus": 1}), jobs=None)
    assert {share for share, _, _ in seen_by_trials(tmp_path)} == {"3", "1"}


@pytest.mark.slow
def test_more_jobs_than_shares_share_nothing(gpus, study, tmp_path):
    gpus(1)
    run_here(study({"gpus": 1}), jobs=3)
    assert most_at_once(seen_by_trials(tmp_path)) == {"0": 1}


@pytest.mark.slow
def test_a_variant_with_fewer_gpus_sees_no_more_than_its_own(gpus, study, tmp_path):
    gpus(2)
    run_here(study({"gpus": 1}, factors={"workload.resources.gpus": [2]}), jobs=None)
    assert {share for share, _, _ in seen_by_trials(tmp_path)} == {"0", "0,1"}


@pytest.mark.parametrize("jobs", [0, None])
def test_a_run_that_takes_more_than_are_visible_trains_nothing(gpus, study, tmp_path, jobs):
    gpus(1)
    with pytest.raises(AblateError, match="takes 2: 1 GPU visible here"):
        run_here(study({"gpus": 2}), jobs=jobs)
    assert not seen_by_trials(tmp_path)


def test_a_plan_says_how_many_run_at_once_and_needs_no_gpu(gpus, study):
    gpus(4)
    assert "on 2 workers, each with 2 of 4 visible GPUs" in plan_here(study({"gpus": 2}))
    gpus(0)
    assert "6 trials to train" in plan_here(study({"gpus": 2}))


def test_ids_stay_where_the_number_changes_no_result(study):
    def ids(resources):
        return [cell.id for cell in prepare(study(resources)).cells()]

    on_one = ids({"gpu": "on"})
    assert ids({"gpus": 1}) == ids({"gpus": 0.5}) == on_one
    assert len({*on_one, *ids({}), *ids({"gpus": 2}), *ids({"gpus": 4})}) == 4 * len(on_one)


def test_what_is_no_number_of_gpus_is_refused(study):
    for given, words in {
        1.5: "must be a share of one GPU, or a whole number of them",
        0: "greater than 0",
        -1: "greater than 0",
    }.items():
        assert words in " ".join(problems(study({"gpus": given})))
    assert "has both `gpu: off` and `gpus`" in " ".join(problems(study({"gpu": "off", "gpus": 1})))


def test_gpus_of_the_study_that_do_not_reach_own_code_are_refused_with_where_to_write_them(study):
    (problem,) = problems(study({}, **of_study(2)))
    assert "does not reach code of your own" in problem
    assert "workload: {resources: {gpus: 2}}" in problem
    assert prepare(study({"gpu": "on"}, **of_study(0.5)))


@pytest.mark.slow
def test_a_model_of_ablate_gets_the_share_that_the_study_gives_it(gpus, tmp_path):
    gpus(2)
    identity = "    def identity(self, config):\n        return {'device': 'cuda'}\n\n"
    irrelevant = "    def irrelevant(self)"
    prints = 'print(f"training under seed {trial.seed}")'
    on_cuda = toy_changed(
        tmp_path,
        "cuda",
        (irrelevant, identity + irrelevant),
        (prints, 'print("sees", os.environ.get("CUDA_VISIBLE_DEVICES"))'),
    )
    for resources, shares in {"{}": {"0", "1"}, "{gpus: 2}": {"0,1"}, "{gpus: 0.5}": {"0", "1"}}.items():
        path = tmp_path / "study.yaml"
        path.write_text(f"{on_cuda}resources: {resources}\ntraining: {{seconds: 0.2}}\n")
        results = tmp_path / f"results{len(resources)}"
        run_here(path, jobs=None, results=results)
        store = Store(results / "store")
        outputs = [store.load(cell.id).output for cell in prepare(path).cells()]
        assert {output.split()[1] for output in outputs} == shares
