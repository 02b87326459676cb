"""Evidence in a study's folder."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from made_evidence import study

from ablate.core.evidence import Evidence
from ablate.records.folder import StudyFolder


def evidence(*, examples: bool = True) -> Evidence:
    made = study({"baseline": [0.5, 0.7], "a": [0.4, 0.6]})
    rows = [
        (trial, metric, np.array([0.0, 1.0, 0.1, seed], np.float32))
        for seed, trial in enumerate(made.trials["id"])
        for metric in ("accuracy", "loss")
    ]
    return (
        replace(made, examples=pd.DataFrame(rows, columns=["id", "metric", "values"])) if examples else made
    )


@pytest.mark.parametrize("untuned", [False, True])
def test_evidence_by_example_is_read_as_it_was_written(tmp_path: Path, untuned: bool) -> None:
    folder, written = StudyFolder.at(tmp_path), evidence()
    folder.save_evidence(written, untuned=untuned)
    read = folder.evidence(untuned=untuned)
    pd.testing.assert_frame_equal(read.trials, written.trials)
    assert read.examples[["id", "metric"]].equals(written.examples[["id", "metric"]])
    for mine, theirs in zip(read.examples["values"], written.examples["values"], strict=True):
        assert mine.dtype == np.float32
        assert np.array_equal(mine, theirs)
    # A run that has none, such as one on another task, leaves none.
    folder.save_evidence(evidence(examples=False), untuned=untuned)
    assert not list(tmp_path.rglob("examples.parquet"))
    after = folder.evidence(untuned=untuned).examples
    assert list(after.columns) == ["id", "metric", "values"]
    assert len(after) == 0


def test_the_examples_of_untuned_variants_go_with_their_tuning(tmp_path: Path) -> None:
    folder = StudyFolder.at(tmp_path)
    folder.save_evidence(evidence())
    folder.save_evidence(evidence(), untuned=True)
    assert len(list(tmp_path.rglob("examples.parquet"))) == 2
    folder.forget_search("tuning")
    assert list(tmp_path.rglob("examples.parquet")) == [tmp_path / "examples.parquet"]
    assert not folder.has_untuned
