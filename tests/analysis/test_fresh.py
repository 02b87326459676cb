from __future__ import annotations

import dataclasses

import numpy as np
import pandas as pd
import searches
from ablate.analysis.fresh import fresh


def test_fresh_seeds_are_measured_as_the_search_measured() -> None:
    made = searches.sweep(40)
    after = searches.after(made, num_seeds=3)
    facts = dataclasses.replace(after.facts, at="best_validation", column="accuracy_at_best_validation")
    mine = after.trials["variant"] == "winner"
    trials = after.trials.assign(
        accuracy_best_step=10.0, accuracy_at_best_validation=after.trials["accuracy"]
    )
    trials.loc[trials.index[mine][2], ["status", "validation_accuracy"]] = ["diverged", np.nan]
    ids = trials.loc[mine, "id"].tolist()
    curves = pd.DataFrame(
        [(i, step, "validation_accuracy", v) for i in ids for step, v in ((10, 0.8), (20, 0.7))],
        columns=["id", "step", "metric", "value"],
    )
    best = dataclasses.replace(after, facts=facts, trials=trials, curves=curves)
    found = fresh(best, searches.ACCURACY, "winner", "validation", "digits")
    assert found.tolist() == [0.8, 0.8, searches.ACCURACY.floor]
    # A workload that measures it on the way only.
    last = dataclasses.replace(best, facts=after.facts, trials=trials.drop(columns="validation_accuracy"))
    found = fresh(last, searches.ACCURACY, "winner", "validation", "digits")
    assert found.tolist() == [0.7, 0.7, searches.ACCURACY.floor]
