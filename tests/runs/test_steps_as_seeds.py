"""Steps of one run are no seeds; and the best step is not that of the judged metric, without a word."""

import numpy as np
import pandas as pd
import pytest

import ablate
from ablate.base.errors import AblateError


def table(steps="epoch", **columns):
    """Two variants whose rows are numbered from 1 to 6."""
    rng = np.random.default_rng(0)
    rows = []
    for variant in ("base", "wide"):
        for step in range(1, 7):
            rows.append({"variant": variant, steps: step, "acc": 0.8 + 0.01 * rng.normal()})
    return pd.DataFrame(rows).assign(**columns)


def analysed(rows, tmp_path, **options):
    given = {"metric": "acc", "direction": "max", "baseline": "base", "results": tmp_path} | options
    return ablate.analyse(rows, **given)


@pytest.mark.parametrize(
    "name", ["epoch", "step", "_step", "global_step", "trainer/global_step", "training_iteration", "Epochs"]
)
def test_a_column_of_steps_is_no_column_of_seeds(name, tmp_path):
    for call in ({"column": {"seed": name}}, {"seed": name}):
        with pytest.raises(AblateError, match="numbers the steps of runs"):
            analysed(table(name), tmp_path, **call)


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize(
    ("columns", "is_refused"),
    [
        ({}, False),
        ({"seed": 42}, True),
        ({"run_id": [f"r{row // 6}" for row in range(12)]}, True),
        ({"run_id": [f"r{row}" for row in range(12)]}, False),
    ],
)
def test_iterations_are_repetitions_unless_a_run_has_several(columns, is_refused, tmp_path):
    rows = table("iteration", **columns)
    if is_refused:
        with pytest.raises(AblateError, match="numbers the steps of runs"):
            analysed(rows, tmp_path, column={"seed": "iteration"})
        return
    found = analysed(rows, tmp_path, column={"seed": "iteration"})
    assert found.comparisons["n"].tolist() == [6]


@pytest.mark.slow
def test_a_fixed_seed_beside_folds_or_another_seed_is_none_of_a_run(tmp_path):
    for name in ("data_seed", "rep"):
        found = analysed(table(name, seed=42), tmp_path / name, column={"seed": name}, replicates=True)
        assert found.comparisons["n"].tolist() == [6]


def test_a_pattern_that_takes_steps_from_names_is_refused(tmp_path):
    rows = table().assign(variant=lambda rows: rows["variant"] + "_epoch" + rows["epoch"].astype(str))
    rows = rows.drop(columns="epoch")
    with pytest.raises(AblateError, match="numbers the steps of runs"):
        analysed(rows, tmp_path, seed="_epoch([0-9]+)")
    seeds = rows.assign(variant=rows["variant"].str.replace("epoch", "epoch50_s"))
    found = analysed(seeds, tmp_path, seed="epoch50_s([0-9]+)")
    assert found.comparisons["n"].tolist() == [6]


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize(
    ("guide", "is_named"), [("acc", True), ("same", True), ("error", True), ("val", False)]
)
def test_a_best_step_by_the_judged_number_is_named(guide, is_named, tmp_path):
    rng = np.random.default_rng(1)
    rows = pd.concat([table(seed=seed) for seed in range(3)], ignore_index=True)
    acc = 0.8 + 0.01 * rng.normal(size=len(rows))
    noise = 0.005 * rng.normal(size=len(rows))
    rows = rows.assign(acc=acc, same=acc, error=1 - acc, val=acc + noise)
    also = {name: "min" if name == "error" else "max" for name in ("same", "error", "val")}
    found = analysed(rows, tmp_path, at=f"best {guide}", also=also)
    cautions = [text for text in found.evidence.facts.cautions if "partly luck" in text]
    assert len(cautions) == is_named
