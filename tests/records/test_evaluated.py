"""Kept evaluations: what was edited is refused by name."""

import numpy as np
import pandas as pd
import pytest

from ablate.base.errors import AblateError
from ablate.records.evaluated import COLUMNS, MAP_COLUMNS, MAPS, TABLE, Evaluated
from ablate.records.folder import StudyFolder


@pytest.fixture
def folder(tmp_path):
    folder = StudyFolder.at(tmp_path / "toy")
    rows = [("a1", "baseline", "coin", seed, "final", "test", "accuracy", 0.5) for seed in range(3)]
    maps = [("a1", "baseline", "coin", 0, "mixer", np.ones((1, 2, 3, 3)), "final")]
    saved = Evaluated(pd.DataFrame(rows, columns=COLUMNS), pd.DataFrame(maps, columns=MAP_COLUMNS))
    saved.save(folder)
    read = Evaluated.load(folder)
    pd.testing.assert_frame_equal(read.rows, saved.rows, check_dtype=False)
    assert np.array_equal(read.maps.loc[0, "weights"], np.ones((1, 2, 3, 3)))
    return folder


def test_values_are_read_where_no_maps_were_kept(folder):
    (folder.path / MAPS).unlink()
    read = Evaluated.load(folder)
    assert read.rows["seed"].tolist() == [0, 1, 2]
    assert read.maps.empty


@pytest.mark.slow
def test_edited_maps_are_read_as_they_were_or_refused_by_name(folder):
    path = folder.path / MAPS
    before = path.read_bytes()
    refused = 0
    for place in range(0, len(before), 7):
        edited = bytearray(before)
        edited[place] ^= 0b10010
        for content in (edited, before[:place]):
            path.write_bytes(content)
            try:
                Evaluated.load(folder)
            except AblateError as error:
                assert str(error).startswith(f"{path}: ")
                refused += 1
    assert refused > len(before) / 7


@pytest.mark.parametrize(
    ("old", "new"),
    [(",0,", ",x,"), ("0.5", "good"), ("slice", "part"), (",test", ""), ("a1", '"a'), (",0,", ",1e999,")],
)
def test_an_edited_table_is_refused_by_name(folder, old, new):
    path = folder.path / TABLE
    path.write_text(path.read_text().replace(old, new, 1))
    with pytest.raises(AblateError, match=rf"{TABLE}: cannot be read"):
        Evaluated.load(folder)
