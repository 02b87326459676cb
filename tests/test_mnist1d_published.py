"""The accuracies of `studies/mnist1d.yaml` beside those that the authors of MNIST-1D published."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

RESULTS = Path(__file__).parents[1] / "results" / "mnist1d"
ERROR = 0.03
"""Two standard errors of one accuracy on 1,000 test examples."""
# Greydanus and Kobak 2020, the authors' notebooks; where two of them ran a model, both numbers.
PUBLISHED = {
    ("baseline", "ordered"): [0.651, 0.646],
    ("config.model=logistic", "ordered"): [0.315],
    ("config.model=cnn", "ordered"): [0.923],
    ("config.model=gru", "ordered"): [0.891, 0.921],
    ("baseline", "shuffled"): [0.660],
    ("config.model=logistic", "shuffled"): [0.315],
    ("config.model=cnn", "shuffled"): [0.587],
    ("config.model=gru", "shuffled"): [0.533],
}


def accuracies(variant, condition):
    """The accuracies of a model on fresh data of a condition, one a seed."""
    trials = pd.read_parquet(RESULTS / "trials.parquet")
    return trials.loc[(trials["variant"] == variant) & (trials["task"] == condition), "accuracy"]


@pytest.mark.parametrize(("variant", "condition"), PUBLISHED)
def test_each_published_accuracy_lies_within_ours_widened_by_its_own_error(variant, condition):
    ours = accuracies(variant, condition)
    half = stats.t.ppf(0.975, len(ours) - 1) * stats.sem(ours)
    assert np.abs(np.array(PUBLISHED[variant, condition]) - ours.mean()).max() <= half + ERROR
