"""The table of what was found of kept weights, and its files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import synthetic

from ablate.base.errors import AblateError
from ablate.core.facts import BASELINE
from ablate.records.evaluated import AttentionMap, Evaluated
from ablate.records.folder import StudyFolder
from ablate.report.section import Material, Text
from ablate.report.sections.kept_weights import KeptWeights, evaluation_table

FACTS = synthetic.study(num_seeds=2).facts


def test_the_table_has_means_over_seeds_and_leaves_single_layers_out() -> None:
    rows = [
        {
            "id": f"{seed}",
            "variant": BASELINE,
            "task": "recall",
            "seed": seed,
            "slice": of,
            "metric": m,
            "value": v,
        }
        for of, values in (("task.seq_len=9", (0.5,)), ("test", (0.25, 0.75)))
        for seed, value in enumerate(values)
        for m, v in (("accuracy", value), ("attention_entropy/stack.blocks.0.mixer", 1.0))
    ]
    table = evaluation_table(rows, FACTS)
    assert table is not None
    assert [column.heading for column in table.columns] == ["Variant", "Slice", "Seeds", "Accuracy"]
    assert [row["slice"] for row in table.rows] == ["test", "seq_len=9"]
    assert [column.key for column in table.columns if column.words] == ["slice"]
    assert [row["accuracy"] for row in table.rows] == [".50 ± .35", ".500"]
    assert evaluation_table([], FACTS) is None


def test_what_was_left_out_is_said_without_a_table_too() -> None:
    evidence, empty = synthetic.study(num_seeds=2), pd.DataFrame()
    blocks = list(KeptWeights().blocks(Material(evidence, empty, empty, Evaluated(), "Left out: a reason.")))
    assert blocks == [Text("Left out: a reason.", aside=True)]
    assert list(KeptWeights().blocks(Material(evidence, empty, empty, Evaluated()))) == []


def test_what_was_evaluated_comes_back_and_is_brought_up_to_date(tmp_path: Path) -> None:
    def row(trial: str, of: str, value: float) -> dict[str, object]:
        return {
            "id": trial, "variant": "v", "task": "", "seed": 0, "weights": "final", "slice": of, "metric": "m",
            "value": value,
        }  # fmt: skip

    weights = np.full((1, 2, 3, 3), 1 / 3, np.float32)
    found = AttentionMap("a", BASELINE, "recall", 0, "stack.blocks.0.mixer", weights)
    folder = StudyFolder.at(tmp_path)
    assert folder.evaluated() == Evaluated()
    first = Evaluated([row("a", "test", 0.1), row("a", "long", 0.2), row("b", "test", 0.3)], [found])
    folder.save_evaluated(first)
    loaded = folder.evaluated()
    assert loaded.rows == first.rows
    np.testing.assert_array_equal(loaded.maps[0].weights, first.maps[0].weights)
    newer = loaded.updated(Evaluated([row("a", "test", 0.5)]))
    assert [(r["id"], r["slice"], r["value"]) for r in newer.rows] == [
        ("b", "test", 0.3), ("a", "test", 0.5),
    ]  # fmt: skip
    assert [r["id"] for r in newer.of({"b"}).rows] == ["b"]
    current, reason = newer.current({"b"}, "none")
    assert [r["id"] for r in current.rows] == ["b"]
    assert reason == "Left out: 1 trial that is no longer in the study."
    current, reason = newer.current({"a", "b"}, "best")
    assert current == Evaluated([], [])
    assert reason == "Left out: the final weights of 2 trials; the study keeps the best ones."
    current, reason = newer.current({"a", "b"}, "final")
    assert (current.rows, reason) == (newer.rows, "")
    (tmp_path / "attention.npz").write_bytes(b"PK cut")
    with pytest.raises(AblateError, match="cannot be read"):
        folder.evaluated()
