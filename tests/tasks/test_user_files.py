"""A user's files: what is refused, and where; parts that share no input; vocabularies."""

import os

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest

from ablate.base.datafile import DataFile
from ablate.base.errors import Invalid
from ablate.tasks.files import (
    UNKNOWN,
    Vocabulary,
    padded,
    read_rows,
    read_table,
    read_text,
    split_rows,
    symbols,
)


def file(folder, content: bytes | str, name: str = "data.csv") -> DataFile:
    (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
    return DataFile(str(folder / name), name)


def test_a_file_that_has_gone_and_one_that_is_no_parquet_are_refused(tmp_path):
    for name in ("gone.csv", "gone.parquet"):
        with pytest.raises(Invalid, match="does not exist"):
            read_table(DataFile(str(tmp_path / name)))
    with pytest.raises(Invalid, match="is no parquet file"):
        read_table(file(tmp_path, "a,b\n1,2\n", "data.parquet"))


def test_a_table_is_the_same_in_every_form_it_may_have(tmp_path):
    columns = {"text": ["a, b", "ü\u2028c"], "n": [1.5, None]}
    pyarrow.parquet.write_table(pyarrow.table(columns), tmp_path / "data.parquet")
    forms = [
        file(tmp_path, '\ufefftext,n\r\n"a, b",1.5\r\n\r\nü\u2028c,\r\n'),
        file(tmp_path, "text\tn\na, b\t1.5\nü\u2028c\t\n", "data.tsv"),
        file(tmp_path, 'text;n\n"a, b";1.5\nü\u2028c;\n', "other.csv"),
        DataFile(str(tmp_path / "data.parquet")),
    ]
    for form in forms:
        assert dict(read_table(form).columns) == {"text": ["a, b", "ü\u2028c"], "n": ["1.5", ""]}
    assert [read_table(form).places[1] for form in forms] == ["line 4", "line 3", "line 3", "row 2"]
    with pytest.raises(Invalid, match=r"label: is no column of data.csv; given 'txt'; allowed: text, n. Did"):
        read_table(forms[0]).column("label", "txt")
    assert list(read_rows(file(tmp_path, 'a "b\tc\n'), "\t", quoted=False)) == [(1, ['a "b', "c"])]


def test_a_file_is_read_again_when_it_has_changed(tmp_path):
    data = file(tmp_path, "first")
    assert read_text(data) is read_text(data)
    file(tmp_path, "second")
    os.utime(data, ns=(1, 1))
    assert read_text(data) == "second"


def test_equal_inputs_are_in_one_part_and_test_does_not_depend_on_seed_or_other_rows(tmp_path):
    data = file(tmp_path, "any")
    keys = [f"text {n % 700}" for n in range(1000)]
    found = [split_rows(data, keys, seed) for seed in (0, 1)]
    for parts in found:
        inputs = [{keys[row] for row in rows} for rows in parts.values()]
        assert len(set.union(*inputs)) == sum(map(len, inputs))
        rows = np.concatenate([*parts.values()])
        assert len(set(rows.tolist())) == len(rows) >= 998
        assert len(parts["validation"]) == (1000 - len(parts["test"])) // 8
        assert 0.15 < len(parts["test"]) / 1000 < 0.25
    assert np.array_equal(found[0]["test"], found[1]["test"])
    assert not np.array_equal(found[0]["validation"], found[1]["validation"])
    more = split_rows(data, [*keys, "one", "more"])["test"]
    assert np.array_equal(more[more < 1000], found[0]["test"])
    with pytest.raises(Invalid, match=r"it has 49 different examples; given '.*'; allowed: at least 50"):
        split_rows(data, [*keys[:49]] * 3)


def test_a_vocabulary_holds_the_most_frequent_symbols_and_marks():
    vocabulary = Vocabulary([symbols("to be, or not to be", "words")], limit=3)
    assert vocabulary.symbols == ["be", "to", ","]
    assert len(vocabulary) == 5
    assert vocabulary.encode(["to", "or", ","]) == [3, UNKNOWN, 4]
    assert vocabulary.digest() != Vocabulary(["be"], limit=3).digest()
    assert Vocabulary(["hello"], limit=9, marks=1).encode("lot") == [1, 4, UNKNOWN]
    assert padded([[5, 6], [8]]).tolist() == [[5, 6], [8, 1]]
