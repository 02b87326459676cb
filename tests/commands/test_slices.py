"""A study about evaluation slices and constants of its task, from its claims to its tables."""

import pytest
from harness import ablate_here

from ablate import load

PLUGIN = '''
from ablate import register
from ablate.tasks.recall import Recall


@register("task", "graded_recall")
class GradedRecall(Recall):
    """Recall, judged by means."""

    class Config(Recall.Config):
        """As recall."""

    outcome = "graded"

    def slices(self):
        return {"longer": {"seq_len": 2 * self.config.seq_len}, "near": {"seq_len": 5}}
'''
STUDY = """
name: sliced
plugins: [parts.py]
task: {name: graded_recall, vocab_size: 16, seq_len: 7, num_pairs: 2, test_size: 256, slice_size: 128}
model: {d_model: 8, num_layers: 1, mixer: {name: attention, num_heads: 2}, position: sincos}
training: {steps: 20, batch_size: 32, lr: 5e-3}
metric: {name: "METRIC", margin: 0.05, at: best_validation}
factors: {model.position: [none, learned]}
seeds: 3
claims:
  - baseline beats guessing on accuracy
  - model.position=none matches without_matching_the_key on accuracy within 0.4
  - baseline beats model.position=none by more on accuracy@longer than on accuracy@near
"""


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["accuracy@longer", "accuracy"])
def test_slices_are_measured_judged_and_claimed(tmp_path, metric):
    (tmp_path / "parts.py").write_text(PLUGIN)
    (tmp_path / "s.yaml").write_text(STUDY.replace("METRIC", metric))
    done = ablate_here("run", "s.yaml", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    found = load(tmp_path / "results/sliced")
    trials, claims = found.trials.set_index(["variant", "seed"]), found.claims
    longer = trials["accuracy@longer"].unstack()
    # Learned positions end at the length of training; the other slice is shorter.
    assert longer.isna().all(axis=1).to_dict() == {
        "baseline": False,
        "model.position=learned": True,
        "model.position=none": False,
    }
    assert trials["accuracy@near"].notna().all()
    # Each is a share of so many test examples.
    assert ((trials[["accuracy@near"]] * 128) % 1 == 0).all(axis=None)
    rows = found.comparisons.set_index(["variant", "metric"])
    assert ("model.position=learned", "accuracy@longer") not in rows.index or metric == "accuracy@longer"
    row = rows.loc[("model.position=none", "accuracy@longer")]
    column = "accuracy@longer" + ("_at_best_validation" if metric == "accuracy@longer" else "")
    means = trials[column].unstack().mean(axis=1)
    assert row["diff"] == pytest.approx(means["model.position=none"] - means["baseline"])
    against, like, more = claims["diff"]
    column = "accuracy_at_best_validation" if metric == "accuracy" else "accuracy"
    score = trials[column].unstack().mean(axis=1)
    assert against == pytest.approx(score["baseline"] - 1 / 8)
    assert like == pytest.approx(score["model.position=none"] - 0.5625)
    near = trials["accuracy@near"].unstack().mean(axis=1)
    of = longer.mean(axis=1) if metric == "accuracy" else means
    gained = (of - near)[["baseline", "model.position=none"]]
    assert more == pytest.approx(gained.iloc[0] - gained.iloc[1])
