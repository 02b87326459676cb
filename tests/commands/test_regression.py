"""A study of a task whose targets are numbers, from its claims to its tables, and a user's own such task."""

import pytest
from harness import ablate_here

from ablate import load
from ablate.tasks.kernel_regression import KernelRegression

STUDY = """
name: numbers
task: {name: kernel_regression, num_pairs: 4, test_size: 256, slice_size: 128, label_noise: 0.1}
model: {d_model: 8, num_layers: 1, mixer: {name: attention, num_heads: 2}, position: none}
training: {steps: 30, batch_size: 32, lr: 1e-2}
metric: {name: METRIC, margin: 0.05}
factors: {model.norm_placement: [post]}
seeds: 2
claims:
  - baseline beats guessing on METRIC
  - baseline does not lose to bayes on r2 within 0.5
"""
PLUGIN = '''
import numpy as np
import torch
from ablate import register
from ablate.core.signature import Signature
from ablate.tasks.generated import Generated
from ablate.tasks.regression import Regression
from ablate.tasks.task import Batch


@register("task", "total")
class Total(Generated, Regression):
    """The sum of four numbers."""

    outcome = "graded"

    def __init__(self, config):
        self.config = config
        self.signature = Signature(4, num_outputs=1, num_features=1)
        self.set_spread(4.0)
        self.set_support(np.inf)

    def examples(self, generator, count):
        numbers = generator.standard_normal((count, 4, 1)).astype(np.float32)
        return Batch(torch.from_numpy(numbers), torch.from_numpy(numbers.sum((1, 2))))
'''


@pytest.mark.slow
@pytest.mark.parametrize(("metric", "sign", "guessing"), [("loss", -1, 49 / 36), ("r2", 1, 0.0)])
def test_numbers_are_judged_and_claimed(tmp_path, metric, sign, guessing):
    (tmp_path / "s.yaml").write_text(STUDY.replace("METRIC", metric))
    done = ablate_here("run", "s.yaml", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    found = load(tmp_path / "results/numbers")
    trials = found.trials.set_index(["variant", "seed"])
    # The share of the variance is the error in other units.
    assert (1 - trials["loss"] / (49 / 36)).to_numpy() == pytest.approx(trials["r2"].to_numpy(), abs=1e-5)
    means = trials[metric].unstack().mean(axis=1)
    row = found.comparisons.set_index("metric").loc[metric]
    assert row["diff"] == pytest.approx(sign * (means["model.norm_placement=post"] - means["baseline"]))
    against, like = found.claims["diff"]
    assert against == pytest.approx(sign * (means["baseline"] - guessing))
    bayes = KernelRegression.Config(name="", num_pairs=4).build().constants()["bayes"]["r2"]
    assert like == pytest.approx(trials["r2"].unstack().mean(axis=1)["baseline"] - bayes)
    assert trials[["r2@noisier", "r2@fewer", "r2@more"]].notna().all(axis=None)


def test_ones_own_is_checked(tmp_path):
    (tmp_path / "total.py").write_text(PLUGIN)
    done = ablate_here("check", "total.py", cwd=tmp_path)
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("holds") == 6
