"""The accuracies of `studies/mnist1d.yaml` beside those that the authors of MNIST-1D published."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "results" / "mnist1d"
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


MODELS = {
    "Logistic regression": "config.model=logistic",
    "MLP": "baseline",
    "CNN": "config.model=cnn",
    "GRU": "config.model=gru",
}


def accuracies(variant, condition):
    """The accuracies of a model on fresh data of a condition, one a seed."""
    trials = pd.read_parquet(RESULTS / "trials.parquet")
    return trials.loc[(trials["variant"] == variant) & (trials["task"] == condition), "accuracy"]


def mean_and_half(variant, condition):
    """The mean accuracy of a model, and half of its 95 % interval."""
    ours = accuracies(variant, condition)
    return ours.mean(), stats.t.ppf(0.975, len(ours) - 1) * stats.sem(ours)


@pytest.mark.parametrize("model", MODELS)
def test_readme_has_both(model):
    cells = [model]
    for condition in ("ordered", "shuffled"):
        mean, half = mean_and_half(MODELS[model], condition)
        cells.append(f"{100 * mean:.1f} [{100 * (mean - half):.1f}, {100 * (mean + half):.1f}]")
        cells.append(", ".join(f"{100 * each:.1f}" for each in PUBLISHED[MODELS[model], condition]))
    assert f"| {' | '.join(cells)} |" in (ROOT / "README.md").read_text()


@pytest.mark.parametrize(("variant", "condition"), PUBLISHED)
def test_each_published_accuracy_lies_within_ours_widened_by_its_own_error(variant, condition):
    ours, half = mean_and_half(variant, condition)
    assert np.abs(np.array(PUBLISHED[variant, condition]) - ours).max() <= half + ERROR
