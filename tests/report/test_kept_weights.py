"""The table of what was found of kept weights, and its files."""

import numpy as np
import pandas as pd
import pytest
import synthetic

from ablate.base.errors import AblateError
from ablate.core.facts import BASELINE
from ablate.records.evaluated import COLUMNS, MAP_COLUMNS, Evaluated
from ablate.records.folder import StudyFolder
from ablate.report.section import ReportData, Text
from ablate.report.sections.kept_weights import KeptWeights, evaluation_table
from ablate.report.words import message

FACTS = synthetic.study(num_seeds=2).facts


def test_the_table_has_means_over_seeds_and_leaves_single_layers_out():
    names = ["id", "variant", "task", "seed", "slice", "metric", "value"]
    rows = [
        (f"{seed}", BASELINE, "recall", seed, of, m, v)
        for of, values in (("task.seq_len=9", (0.5,)), ("test", (0.25, 0.75)))
        for seed, value in enumerate(values)
        for m, v in (("accuracy", value), ("attention_entropy/stack.blocks.0.mixer", 1.0))
    ]
    table = evaluation_table(pd.DataFrame(rows, columns=names), FACTS)
    assert table is not None
    assert [column.heading for column in table.columns] == ["Variant", "Slice", "Seeds", "Accuracy"]
    assert [row["slice"] for row in table.rows] == ["test", "seq_len=9"]
    assert [column.key for column in table.columns if column.words] == ["slice"]
    assert [row["accuracy"] for row in table.rows] == ["0.50 ± 0.35", "0.500"]
    assert evaluation_table(pd.DataFrame(columns=list(COLUMNS)), FACTS) is None


def test_what_was_left_out_is_said_without_a_table_too():
    evidence, empty = synthetic.study(num_seeds=2), pd.DataFrame()
    blocks = list(KeptWeights().blocks(ReportData(evidence, empty, empty, Evaluated(left_out=2))))
    assert blocks == [Text(message("evaluate.gone", 2), aside=True)]
    assert list(KeptWeights().blocks(ReportData(evidence, empty, empty))) == []


def found(*rows, maps=(), weights="final"):
    every = [(trial, "v", "", 0, weights, of, "m", value) for trial, of, value in rows]
    return Evaluated(
        pd.DataFrame(every, columns=list(COLUMNS)), pd.DataFrame(maps, columns=list(MAP_COLUMNS))
    )


def test_what_was_evaluated_comes_back_and_is_brought_up_to_date(tmp_path):
    weights = np.full((1, 2, 3, 3), 1 / 3, np.float32)
    seen = ("a", BASELINE, "recall", 0, "stack.blocks.0.mixer", weights, "final")
    folder = StudyFolder.at(tmp_path)
    assert Evaluated.load(folder).rows.empty
    first = found(("a", "test", 0.1), ("a", "long", np.nan), ("b", "test", 0.3), maps=[seen])
    first.save(folder)
    loaded = Evaluated.load(folder)
    pd.testing.assert_frame_equal(loaded.rows, first.rows, check_dtype=False)
    np.testing.assert_array_equal(loaded.maps["weights"][0], weights)
    newer = loaded.updated(found(("a", "test", 0.5)))
    assert newer.rows[["id", "slice"]].to_numpy().tolist() == [["a", "long"], ["b", "test"], ["a", "test"]]
    assert newer.rows["value"].tolist()[1:] == [0.3, 0.5]
    assert newer.maps.empty
    for ids, kind, kept, left_out in (
        ({"b"}, "final", ["b"], 1),
        ({"a", "b"}, "best", [], 2),
        ({"a", "b"}, "final", ["a", "b", "a"], 0),
    ):
        current = newer.current(ids, kind)
        assert (current.rows["id"].tolist(), current.left_out) == (kept, left_out)
    assert loaded.current({"a"}, "final").maps["id"].tolist() == ["a"]
    assert loaded.current({"a"}, "best").maps.empty
    (tmp_path / "attention.npz").write_bytes(b"PK cut")
    with pytest.raises(AblateError, match="cannot be read"):
        Evaluated.load(folder)
