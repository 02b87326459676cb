"""Rows of two models on the examples of one test set are no runs, unless the call says so."""

import numpy as np
import pandas as pd
import pytest

import ablate
from ablate.base.errors import AblateError


def samples(num_each, **columns):
    """Scores of two models on the same examples."""
    rng = np.random.default_rng(0)
    score = rng.normal(0.5, 0.1, 2 * num_each).round(4)
    return pd.DataFrame({"model": ["base"] * num_each + ["wide"] * num_each, "rouge": score} | columns)


def analysed(rows, tmp_path, **options):
    given = {"metric": "rouge", "direction": "max", "baseline": "base", "results": tmp_path} | options
    return ablate.analyse(rows, **given)


@pytest.mark.parametrize("name", ["instance_id", "task_id", "promptId", "id", "prompt", "uid"])
def test_shared_names_are_of_examples(name, tmp_path):
    rows = samples(12, **{name: [f"cnn-{row % 12}" for row in range(24)]})
    with pytest.raises(AblateError, match="may be examples of one run"):
        analysed(rows, tmp_path)


@pytest.mark.parametrize("name", ["idx", "index", "id"])
def test_many_shared_numbers_are_of_examples(name, tmp_path):
    with pytest.raises(AblateError, match="may be examples of one run"):
        analysed(samples(40, **{name: [*range(40)] * 2}), tmp_path)


@pytest.mark.slow
def test_rows_are_runs_where_the_call_says_so_and_pairs_where_it_names_a_seed(tmp_path):
    rows = samples(40, idx=[*range(40)] * 2)
    assert analysed(rows, tmp_path, replicates=True).comparisons["n"].tolist() == [40]
    assert analysed(rows, tmp_path, seed="idx").comparisons["n"].tolist() == [40]


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize(
    "columns",
    [
        {"run_id": [f"{row:08x}" for row in range(24)]},
        {"rep": [*range(12)] * 2},
        {"host": [f"gpu-{row % 12}" for row in range(24)]},
        {"created": [f"2026-11-{1 + row % 12:02d}" for row in range(24)]},
        {"fold": ["a", "b", "c"] * 8},
    ],
)
def test_ids_of_runs_numbers_and_hosts_are_no_examples(columns, tmp_path):
    assert analysed(samples(12, **columns), tmp_path, replicates="fold" in columns).comparisons[
        "n"
    ].tolist() == [12]
