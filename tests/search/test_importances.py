from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import optuna
import pandas as pd
import pytest
import searches
from optuna.importance import FanovaImportanceEvaluator, PedAnovaImportanceEvaluator

from ablate.base.errors import AblateError
from ablate.core.search_table import Objective, Parameter, SearchFacts, SearchTable
from ablate.records.folder import StudyFolder
from ablate.search.importances import COLUMNS, MIN_TRIALS, importances


@pytest.fixture(scope="module")
def found() -> pd.DataFrame:
    return importances(searches.sweep(40), resamples=8)


def test_what_the_value_was_made_of_comes_first(found: pd.DataFrame) -> None:
    assert tuple(found.columns) == COLUMNS
    assert set(found["evaluator"]) == {"fanova", "ped_anova"}
    for _, mine in found.groupby("evaluator"):
        assert mine.loc[mine["importance"].idxmax(), "parameter"] == "training.lr"
    assert found["importance"].between(0, 1).all()
    assert (found["low"] <= found["high"]).all()


def test_a_conditional_parameter_rests_on_the_settings_that_have_it(found: pd.DataFrame) -> None:
    table = searches.sweep(40).trials
    usable = table[table["status"].isin(["completed", "diverged"]) & np.isfinite(table["accuracy"])]
    heads = found[found["parameter"] == "model.mixer.num_heads"]
    assert set(heads["trials"]) == {int(usable["model.mixer.num_heads"].notna().sum())}
    assert set(heads["condition"]) == {"model.mixer=attention"}
    others = found[found["parameter"] != "model.mixer.num_heads"]
    assert set(others["trials"]) == {len(usable)}
    # What is judged together adds up to one.
    sums = others.groupby("evaluator")["importance"].sum()
    np.testing.assert_allclose(sums, 1)


def linear(n: int = 30, direction: str = "max") -> SearchTable:
    rng = np.random.default_rng(0)
    space = [Parameter("a", "float", -1.0, 1.0), Parameter("b", "int", 0, 9)]
    frame = pd.DataFrame({"a": rng.uniform(-1, 1, n), "b": rng.integers(0, 10, n), "status": "completed"})
    frame["score"] = 3 * frame["a"] + 0.1 * frame["b"]
    objectives = [Objective("score", direction, "own")]
    return SearchTable(SearchFacts(space, objectives, "random", "none", n, [10_000], 4), frame)


@pytest.mark.parametrize("direction", ["max", "min"])
def test_the_numbers_are_those_of_optuna(direction: str) -> None:
    made = linear(direction=direction)
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(direction={"max": "maximize", "min": "minimize"}[direction])
    space = {
        "a": optuna.distributions.FloatDistribution(-1, 1),
        "b": optuna.distributions.IntDistribution(0, 9),
    }
    for row in made.trials.to_dict("records"):
        params = {"a": row["a"], "b": int(row["b"])}
        study.add_trial(optuna.create_trial(params=params, distributions=space, value=row["score"]))
    evaluators = {
        "fanova": FanovaImportanceEvaluator(seed=0),
        "ped_anova": PedAnovaImportanceEvaluator(target_quantile=5 / 30),
    }
    found = importances(made, resamples=2).set_index(["evaluator", "parameter"])["importance"]
    for name, evaluator in evaluators.items():
        expected = optuna.importance.get_param_importances(study, evaluator=evaluator, params=["a", "b"])
        for parameter, value in expected.items():
            assert found[name, parameter] == pytest.approx(value, abs=1e-12)


def test_the_same_settings_give_the_same_numbers(found: pd.DataFrame) -> None:
    pd.testing.assert_frame_equal(found, importances(searches.sweep(40), resamples=8))


def test_infinite_values_are_left_out() -> None:
    made = linear(12)
    made.trials.loc[[0, 1], "score"] = [np.inf, np.nan]
    assert set(importances(made, resamples=2)["trials"]) == {10}


def test_nothing_is_said_of_too_few_or_of_equal_values() -> None:
    assert importances(linear(MIN_TRIALS - 1)).empty
    assert not importances(linear(MIN_TRIALS), resamples=2).empty
    flat = linear(20)
    flat.trials["score"] = 1.0
    assert tuple(importances(flat).columns) == COLUMNS
    assert importances(flat).empty


def test_a_logarithmic_range_is_weighed_by_its_logarithm() -> None:
    """A value that rises with the logarithm is as important as one that rises with the other, linear, path."""
    rng = np.random.default_rng(1)
    space = [Parameter("lr", "float", 1e-4, 1e-1, log=True), Parameter("x", "float", 0.0, 1.0)]
    shares = rng.uniform(0, 1, (60, 2))
    frame = pd.DataFrame({"lr": 10 ** (-4 + 3 * shares[:, 0]), "x": shares[:, 1], "status": "completed"})
    frame["score"] = shares.sum(axis=1)
    objectives = [Objective("score", "max", "own")]
    made = SearchTable(SearchFacts(space, objectives, "random", "none", 60, [10_000], 4), frame)
    found = importances(made, resamples=2).query("evaluator == 'fanova'")
    np.testing.assert_allclose(found["importance"], 0.5, atol=0.1)


def test_what_a_setting_costs_is_known_and_needs_no_importances() -> None:
    made = searches.sweep(30, (searches.ACCURACY, searches.PARAMETERS))
    assert set(importances(made, resamples=2)["objective"]) == {"accuracy"}


def test_optuna_is_left_as_talkative_as_it_was() -> None:
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.INFO)
    importances(linear(10), resamples=1)
    assert optuna.logging.get_verbosity() == optuna.logging.INFO
    optuna.logging.set_verbosity(before)


def test_they_are_kept_in_a_file(tmp_path: Path) -> None:
    folder = StudyFolder(tmp_path, "s")
    folder.path.mkdir()
    assert folder.importances() is None
    made = linear(12)
    folder.save_importances(importances(made))
    pd.testing.assert_frame_equal(folder.importances(), importances(made))
    folder.save_importances(importances(linear(2)))
    assert folder.importances().empty  # type: ignore[union-attr]
    (folder.path / "importances.csv").write_bytes(b"\xff")
    with pytest.raises(AblateError, match="run the sweep again"):
        folder.importances()


def test_to_import_it_loads_no_optuna() -> None:
    code = "import ablate.search.importances, sys; print('optuna' in sys.modules, 'pandas' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]
