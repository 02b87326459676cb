"""Every sampler finds its way on a space with a condition, and finds the same again."""

import json
import logging
import os
import subprocess
import sys
from pathlib import Path

import optuna
import pytest
from sampled import config, search

from ablate.base.errors import Invalid
from ablate.base.quiet import quiet
from ablate.base.registry import CATALOGUE
from ablate.search.samplers import SAMPLERS

DOCUMENTED = {
    "random": {},
    "tpe": {"n_startup_trials": 3, "n_ei_candidates": 8, "group": "on"},
    "nsga2": {"population_size": 3, "mutation_prob": 0.5, "crossover_prob": 0.8, "swapping_prob": 0.4},
}
"""With every parameter that they have."""
NAMED = {
    "CmaEsSampler": {"n_startup_trials": 2, "popsize": 4, "with_margin": "on"},
    "GPSampler": {"n_startup_trials": 3, "deterministic_objective": "on"},
    "NSGAIISampler": {"population_size": 3},
    "NSGAIIISampler": {"population_size": 3, "dividing_parameter": 2},
    "QMCSampler": {"qmc_type": "halton", "scramble": "on"},
    "RandomSampler": {},
    "TPESampler": {"n_startup_trials": 3, "multivariate": "off"},
}
GIVEN = DOCUMENTED | NAMED
QUICK = [name for name in GIVEN if name != "GPSampler"]
SEVERAL = [name for name in GIVEN if name != "CmaEsSampler"]


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize(("name", "objectives"), [*((n, 1) for n in GIVEN), *((n, 2) for n in SEVERAL)])
def test_settings_lie_in_the_space(name, objectives, recwarn, caplog, capfd):
    for arguments in ({}, GIVEN[name]):
        for point in search(config(name, **arguments), 5 if name == "GPSampler" else 16, objectives, batch=2):
            assert 1e-4 <= point["lr"] <= 1e-1
            assert point["width"] * 8 in range(9)
            assert point["depth"] in range(1, 7)
            assert ("heads" in point) == (point["mixer"] == "attention")
            assert point.get("heads", 1) in range(1, 9)
    assert not recwarn.list
    assert not caplog.records
    assert capfd.readouterr() == ("", "")


def test_every_sampler_is_tried_here():
    assert {*DOCUMENTED, "grid"} == {*CATALOGUE.names("sampler")}
    # The other visits every point, and a float without a step has no end of them.
    assert {*NAMED, "BruteForceSampler"} == {*SAMPLERS.names()}


@pytest.mark.parametrize("name", sorted(DOCUMENTED))
def test_every_parameter_is_given_once_here(name):
    known = CATALOGUE.get("sampler", name).Config.model_fields.keys() - {"name"}
    assert DOCUMENTED[name].keys() | ({"multivariate"} if name == "tpe" else set()) == known


def in_another_process(cases, hash_seed):
    done = subprocess.run(
        [sys.executable, Path(__file__).with_name("sampled.py")],
        input="".join(json.dumps(case) + "\n" for case in cases),
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONHASHSEED": str(hash_seed)},
    )
    assert not done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.slow
def test_two_processes_find_the_same_settings():
    cases = [[name, GIVEN[name], 24, 1, 3] for name in QUICK]
    cases += [[name, {}, 24, 2, 3] for name in QUICK if name in SEVERAL]
    cases += [["GPSampler", GIVEN["GPSampler"], 8, 1, 2], ["GPSampler", {"n_startup_trials": 3}, 6, 2, 2]]
    one, two = (in_another_process(cases, seed) for seed in (1, 2))
    assert one == two
    assert one == [search(config(name, **given), *more) for name, given, *more in cases]


@pytest.mark.parametrize("name", GIVEN)
@pytest.mark.parametrize("kind", ["one number", "choices alone"])
def test_small_spaces(name, kind):
    with quiet():
        study = optuna.create_study(sampler=config(name, **GIVEN[name]).build().build(2**32 - 1, 5))
        for _ in range(5):
            trial = study.ask()
            if kind == "one number":
                study.tell(trial, trial.suggest_float("x", -1, 1) ** 2)
            else:
                study.tell(trial, float(trial.suggest_categorical("x", [1, 2, 3])))


def test_the_documented_samplers_have_the_arguments_that_they_always_had():
    """What is chosen by the stream of a search depends on these texts."""
    written = [repr(config(name)) for name in ("random", "grid", "tpe", "nsga2")]
    assert written == [
        "Config(name='random')",
        "Config(name='grid')",
        "Config(name='tpe', n_startup_trials=10, n_ei_candidates=24, multivariate=None, group=False)",
        "Config(name='nsga2', population_size=None, mutation_prob=None, crossover_prob=0.9, swapping_prob=0.5)",
    ]


def test_of_a_class_only_what_differs_from_its_defaults_is_written():
    plain = config("GPSampler", n_startup_trials=10, deterministic_objective="off", independent_sampler=None)
    assert plain == config("GPSampler")
    assert repr(plain) == "Config(name='GPSampler')"
    assert plain.model_dump() == {"name": "GPSampler"}
    changed = config("GPSampler", n_startup_trials=5)
    assert changed.model_dump() == {"name": "GPSampler", "n_startup_trials": 5}
    assert config(**changed.model_dump()) == changed


def test_a_package_that_is_missing_is_named(monkeypatch):
    monkeypatch.setattr("ablate.search.classes.find_spec", lambda name: None)
    for name, packages in {"CmaEsSampler": "cmaes", "GPSampler": "scipy torch"}.items():
        with pytest.raises(Invalid, match=f"not installed: .*`pip install {packages}`"):
            config(name).build().check(objectives=1, numbers=2, suggest=None)


def test_optunas_own_log_is_heard_again_afterwards():
    before = optuna.logging.get_verbosity()
    with quiet():
        assert optuna.logging.get_verbosity() == logging.ERROR
    assert optuna.logging.get_verbosity() == before
