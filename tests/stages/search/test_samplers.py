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

from ablate.base.quiet import quiet
from ablate.base.registry import CATALOGUE

SAMPLERS = [name for name in CATALOGUE.names("sampler") if not CATALOGUE.get("sampler", name).exhaustive]
QUICK = [name for name in SAMPLERS if name != "gp"]
GIVEN = {
    "tpe": {"n_startup_trials": 3, "n_ei_candidates": 8, "group": "on"},
    "gp": {"n_startup_trials": 3, "deterministic_objective": "on"},
    "nsga2": {"population_size": 3, "mutation_prob": 0.5, "crossover_prob": 0.8, "swapping_prob": 0.4},
    "qmc": {"sequence": "halton"},
    "cmaes": {"n_startup_trials": 2, "popsize": 4},
}
"""Every parameter that there is."""


def several(name):
    return bool(CATALOGUE.get("sampler", name).several)


@pytest.mark.parametrize("objectives", [1, 2])
@pytest.mark.parametrize("name", SAMPLERS)
def test_settings_lie_in_the_space(name, objectives, recwarn, caplog, capfd):
    if objectives > 1 and not several(name):
        with pytest.raises(ValueError, match="multi-objective"):
            search(config(name), 6, objectives)
        return
    for parameters in ({}, GIVEN.get(name, {})):
        for point in search(config(name, **parameters), 5 if name == "gp" else 16, objectives, batch=2):
            assert 1e-4 <= point["lr"] <= 1e-1
            assert point["width"] * 8 in range(9)
            assert point["depth"] in range(1, 7)
            assert ("heads" in point) == (point["mixer"] == "attention")
            assert point.get("heads", 1) in range(1, 9)
    assert not recwarn.list
    assert not caplog.records
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("name", sorted(GIVEN))
def test_every_parameter_is_given_once_here(name):
    known = CATALOGUE.get("sampler", name).Config.model_fields.keys() - {"name"}
    assert GIVEN[name].keys() | ({"multivariate"} if name == "tpe" else set()) == known


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
    cases = [[name, GIVEN.get(name, {}), 24, 1, 3] for name in QUICK]
    cases += [[name, {}, 24, 2, 3] for name in QUICK if several(name)]
    cases += [["gp", GIVEN["gp"], 8, 1, 2], ["gp", {"n_startup_trials": 3}, 6, 2, 2]]
    one, two = (in_another_process(cases, seed) for seed in (1, 2))
    assert one == two
    assert one == [search(config(name, **given), *more) for name, given, *more in cases]


@pytest.mark.parametrize("name", SAMPLERS)
@pytest.mark.parametrize("kind", ["one number", "choices alone"])
def test_small_spaces(name, kind):
    with quiet():
        study = optuna.create_study(sampler=config(name, **GIVEN.get(name, {})).build().build(2**63 - 1, 5))
        for _ in range(5):
            trial = study.ask()
            if kind == "one number":
                study.tell(trial, trial.suggest_float("x", -1, 1) ** 2)
            else:
                study.tell(trial, float(trial.suggest_categorical("x", [1, 2, 3])))


@pytest.mark.parametrize("sequence", ["sobol", "halton"])
def test_a_sequence_covers_the_space_and_does_not_begin_in_a_corner(sequence):
    with quiet():
        study = optuna.create_study(sampler=config("qmc", sequence=sequence).build().build(7, 17))
        points = []
        for _ in range(17):
            trial = study.ask()
            points.append((trial.suggest_float("a", 0, 1), trial.suggest_float("b", 0, 1)))
            study.tell(trial, 0.0)
    assert all(0.01 < value < 0.99 for value in points[1])
    if sequence == "sobol":
        # The first is drawn at random.
        for axis in range(2):
            assert sorted(int(point[axis] * 16) for point in points[1:]) == list(range(16))


def test_optunas_own_log_is_heard_again_afterwards():
    before = optuna.logging.get_verbosity()
    with quiet():
        assert optuna.logging.get_verbosity() == logging.ERROR
    assert optuna.logging.get_verbosity() == before
