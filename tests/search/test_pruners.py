"""A pruner that could never prune is refused before anything trains, and no other."""

import optuna
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from ablate.base.errors import Invalid
from ablate.base.quiet import quiet
from ablate.base.registry import CATALOGUE
from ablate.search.pruners import PRUNERS, check_pruner

CATALOGUE.load_package("search")
REPORTS = tuple(range(5, 51, 5))
GIVEN = {
    "median": {},
    "MedianPruner": {},
    "PatientPruner": {"wrapped_pruner": None, "patience": 3},
    "PercentilePruner": {"percentile": 25.0},
    "ThresholdPruner": {"lower": 0.5},
    "WilcoxonPruner": {},
}
"""Every pruner that can prune, with the least that it must be given."""
BY_STEPS = [name for name in GIVEN if name != "WilcoxonPruner"]
COMPARING = ("median", "MedianPruner", "PercentilePruner", "WilcoxonPruner")


def part(name, **parameters):
    config, given = PRUNERS.config({"name": name, **GIVEN.get(name, {}), **parameters})
    return config.model_validate(given).build()


def refusal(built, **changes):
    """What is wrong with a pruner, nothing where it could prune."""
    given = {"objectives": 1, "reports": REPORTS, "seeds": 6, "earlier": 16}
    try:
        check_pruner(built, **(given | changes))
    except Invalid as error:
        return str(error)
    return ""


def could_prune(built, reports, earlier):
    """Whether a setting that is worse than all `earlier` ones, which were trained to their end, ends before its last
    report.
    """
    with quiet():
        study = optuna.create_study(direction="maximize", pruner=built.make())
        for _ in range(earlier):
            study.add_trial(optuna.create_trial(value=0.0, intermediate_values=dict.fromkeys(reports, 0.0)))
        trial = study.ask()
        for place, step in enumerate(reports[:-1]):
            trial.report(-1.0 - place / 100, step)
            if trial.should_prune():
                return True
    return False


@pytest.mark.slow
@settings(max_examples=60)
@given(st.integers(1, 9), st.sampled_from([0.005, 0.0625, 0.1, 0.125, 0.25, 0.3, 1.0]), st.integers(0, 5))
def test_wilcoxon_is_refused_exactly_when_the_seeds_are_too_few(seeds, p, startup):
    built = part("WilcoxonPruner", p_threshold=p, n_startup_steps=startup)
    refused = refusal(built, seeds=seeds, earlier=1)
    assert bool(refused) != could_prune(built, tuple(range(seeds)), 1), refused
    assert not refusal(built, seeds=built.seeds)


def test_every_pruner_is_tried_here():
    assert {*GIVEN, "none", "NopPruner"} == {*CATALOGUE.names("pruner"), *PRUNERS.names()}


@pytest.mark.parametrize("name", GIVEN)
def test_one_objective_is_what_a_pruner_can_judge(name):
    built = part(name)
    assert refusal(built) == ""
    assert "can prune by one objective only; given '2 objectives'" in refusal(built, objectives=2)


@pytest.mark.parametrize("name", ["none", "NopPruner"])
def test_what_never_prunes_needs_nothing(name):
    assert refusal(part(name), objectives=2, reports=(), earlier=0) == ""


@pytest.mark.parametrize("name", BY_STEPS)
def test_without_intermediate_values_nothing_can_be_pruned(name):
    built = part(name)
    said = refusal(built, reports=(50,))
    assert "needs intermediate values" in said
    assert "training.eval_every" in said
    assert refusal(built, reports=None) == ""
    assert refusal(part("WilcoxonPruner"), reports=(50,)) == ""


@pytest.mark.parametrize("name", COMPARING)
def test_one_batch_compares_with_nothing(name):
    assert "compares with earlier batches, and there is only one" in refusal(part(name), earlier=0)


@pytest.mark.parametrize("name", [name for name in GIVEN if name not in COMPARING])
def test_a_setting_can_be_judged_alone(name):
    assert refusal(part(name), earlier=0) == ""


@pytest.mark.parametrize("name", ["HyperbandPruner", "SuccessiveHalvingPruner"])
def test_what_compares_inside_a_batch_is_refused(name):
    assert "compares settings that are trained together" in refusal(part(name))
    assert name not in PRUNERS.names()


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("PercentilePruner", {"percentile": 101}),
        ("PercentilePruner", {"percentile": True}),
        ("PercentilePruner", {"percentile": "25"}),
        ("median", {"interval_steps": 0}),
        ("median", {"percentile": 25}),
        ("MedianPruner", {"interval_steps": 0}),
        ("MedianPruner", {"n_startup_trials": 2.5}),
        ("PatientPruner", {"patience": -1}),
        ("PatientPruner", {"wrapped_pruner": "median"}),
        ("WilcoxonPruner", {"p_threshold": 0}),
        ("WilcoxonPruner", {"p_threshold": 2.0}),
        ("ThresholdPruner", {"lower": None}),
        ("ThresholdPruner", {"lower": 2.0, "upper": 1.0}),
    ],
)
def test_values_that_optuna_would_not_take_are_refused(name, parameters):
    with pytest.raises((ValidationError, Invalid)):
        part(name, **parameters).check()


def test_defaults_are_those_of_optuna(recwarn):
    assert vars(part("median").make()) == vars(optuna.pruners.MedianPruner())
    assert vars(part("PercentilePruner").make()) == vars(optuna.pruners.PercentilePruner(25.0))
    with quiet():
        expected = optuna.pruners.PatientPruner(None, 3)
        assert vars(part("PatientPruner").make()) == vars(expected)
    assert not recwarn.list
