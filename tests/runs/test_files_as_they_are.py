"""Files with what editors, spreadsheets and tools leave in them: read without loss, or refused with the way on."""

import time

import pandas as pd
import pytest

from ablate.base.errors import Invalid
from ablate.runs.checking import checked
from ablate.runs.filters import rows_where
from ablate.runs.formats.shapes import shaped
from ablate.runs.formats.tables import read_table_file
from ablate.runs.options import AnalysisOptions
from ablate.runs.reading import read
from ablate.runs.run_settings import overrides_in

ROWS = "base,0,0.9\nbase,1,0.8\nx,0,0.95\nx,1,0.86\n"
NUMBERED = "".join(f"#{number},{row}\n" for number, row in enumerate(ROWS.split(), start=1))
OPTIONS = AnalysisOptions(baseline="base", metric="acc", direction="max")
TABLES = {
    "a byte-order mark": "\ufeffmodel,seed,acc\n" + ROWS,
    "trailing empty headers": "model,seed,acc,,\n" + ROWS.replace("\n", ",,\n"),
    "a column of names that is called #": "#,model,seed,acc\n" + NUMBERED,
    "names that begin with #": "job,model,seed,acc\n" + NUMBERED,
    "a row that is commented out": "model,seed,acc\n# all\n" + ROWS + "#x,2,0.1\n",
    "numbers that are commented out": "seed,model,acc\n0,base,0.9\n1,base,0.8\n0,x,0.95\n1,x,0.86\n#2,x,0.1\n",
}  # fmt: skip


@pytest.mark.parametrize("case", TABLES)
def test_a_table_is_read_whatever_an_editor_has_left_in_it(case, tmp_path):
    (tmp_path / "a.csv").write_text(TABLES[case])
    rows = read(str(tmp_path / "a.csv"), OPTIONS).rows
    assert sorted(zip(rows["variant"], rows["seed"], rows["acc"], strict=True)) == [
        ("base", "0", "0.9"),
        ("base", "1", "0.8"),
        ("x", "0", "0.95"),
        ("x", "1", "0.86"),
    ]


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_long_value_loses_nothing(ending, tmp_path):
    long = "y" * 140_000
    frame = pd.DataFrame({"model": ["base", "x"], "acc": [0.5, 0.6], "log": long})
    path = tmp_path / f"a.{ending}"
    frame.to_csv(path, index=False) if ending == "csv" else frame.to_parquet(path)
    assert read_table_file(path).table["log"].tolist() == [long, long]


def test_means_with_decimal_commas_beside_semicolons(tmp_path):
    (tmp_path / "a.csv").write_text("model;n;acc\nbase;5;91,2 ± 0,4\nx;5;92,9 ± 0,5\n")
    found = shaped(read_table_file(tmp_path / "a.csv"), AnalysisOptions(metric="acc", baseline="base"))
    assert found.table["acc"].tolist() == ["91.2", "92.9"]
    assert [*found.means[0].spreads.values()] == ["0.4", "0.5"]
    assert "Commas are decimal points in acc" in found.notes


@pytest.mark.slow
def test_a_parquet_file_is_refused_before_it_fills_the_memory(tmp_path):
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.table({"model": pa.array(["a"] * 1_000_000), "acc": np.full(1_000_000, 0.5)})
    with pq.ParquetWriter(tmp_path / "a.parquet", table.schema, compression="zstd") as writer:
        for _ in range(30):
            writer.write_table(table)
    assert (tmp_path / "a.parquet").stat().st_size < 300_000
    begun = time.monotonic()
    with pytest.raises(Invalid, match="60,000,000 cells"):
        read_table_file(tmp_path / "a.parquet")
    assert time.monotonic() - begun < 5


def test_a_parquet_file_of_few_cells_is_bounded_by_its_bytes(tmp_path, monkeypatch):
    monkeypatch.setattr("ablate.runs.formats.tables._MAX_BYTES", 1_000_000)
    pd.DataFrame({"model": ["y" * 1000] * 5000, "acc": 0.5}).to_parquet(tmp_path / "a.parquet")
    with pytest.raises(Invalid, match="unpacks to more than"):
        read_table_file(tmp_path / "a.parquet")


NO_TABLES = {
    "a notebook": ('{"cells": [], "nbformat": 4}', "ablate.analyse"),
    "LaTeX": ("\n\\begin{tabular}{lc}\nA & 1 \\\\\n\\end{tabular}\n", "acc_std"),
    "HTML": ("<!DOCTYPE html><table></table>", "CSV"),
}


@pytest.mark.parametrize("case", NO_TABLES)
def test_what_is_no_table_is_refused_with_the_way_on(case, tmp_path):
    text, way = NO_TABLES[case]
    (tmp_path / "a").write_text(text)
    with pytest.raises(Invalid) as refused:
        read_table_file(tmp_path / "a")
    assert case.rpartition(" ")[2] in refused.value.problems[0].rule
    assert way in refused.value.problems[0].hint


# What to do next


def test_a_query_with_names_that_need_backticks_says_so():
    table = pd.DataFrame({"config.seed": ["0", "3"], "val/loss": ["1", "2"], "model": ["a", "b"]})
    for query, way in (
        ("config.seed != 3", "'`config.seed` != 3'"),
        ("val/loss < 2 and model == 'a'", "`val/loss` < 2"),
    ):
        with pytest.raises(Invalid) as refused:
            rows_where(table, [query])
        assert way in refused.value.problems[0].hint
    assert len(rows_where(table, ["`config.seed` != 3"])) == 1


def test_yaml_is_refused_with_the_way_on(tmp_path):
    (tmp_path / "a.yaml").write_text("base:\n  seed_1: {acc: 0.801, loss: 3.199}\n")
    with pytest.raises(Invalid) as refused:
        read_table_file(tmp_path / "a.yaml")
    (problem,) = refused.value.problems
    assert (problem.rule, "as JSON" in problem.hint) == ("is YAML", True)


def test_rows_below_a_merged_cell_are_said_once(tmp_path):
    (tmp_path / "a.csv").write_text(
        "model,seed,acc\nbase,0,1\n,1,2\n,2,3\n,3,3\nwide,0,1\n,1,2\n,2,3\n,3,4\n"
    )
    with pytest.raises(Invalid) as refused:
        checked(read(str(tmp_path / "a.csv"), OPTIONS), OPTIONS.metrics())
    (problem,) = refused.value.problems
    assert problem.rule == "must not be empty, as it is in 6 rows"
    assert problem.source.endswith("a.csv, line 3: variant")
    assert "written in each of them" in problem.hint


def test_seeds_that_are_names_are_said_once(tmp_path):
    rows = ROWS.replace(",0,", ",anna,").replace(",1,", ",bob,")
    (tmp_path / "a.csv").write_text("model,seed,acc\n" + rows)
    with pytest.raises(Invalid) as refused:
        checked(read(str(tmp_path / "a.csv"), OPTIONS), OPTIONS.metrics())
    (problem,) = refused.value.problems
    assert (problem.given, "Number them" in problem.hint) == ("anna, bob", True)


@pytest.mark.parametrize("missed", ["runz/a.csv", "runs/b.csv"])
def test_a_path_with_another_letter_is_named(missed, tmp_path):
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "a.csv").write_text("model,acc\n")
    with pytest.raises(Invalid) as refused:
        read(str(tmp_path / missed), OPTIONS)
    assert refused.value.problems[0].hint == f"Did you mean {str(tmp_path / 'runs/a.csv')!r}?"


def test_what_a_call_of_hydra_deletes_is_a_change(tmp_path):
    (tmp_path / "overrides.yaml").write_text("- ~sched\n- ~data=big\n- +lr=0.1\n- hydra.job.name=x\n")
    assert overrides_in(tmp_path / "overrides.yaml") == {"sched": "~", "data": "~", "lr": "0.1"}


@pytest.mark.parametrize("metric", ["acc", "loss"])
def test_seeds_and_steps_of_any_name(metric, tmp_path):
    lines = ["model,trial_nr,repeat_num,acc,loss"]
    for model, shift in (("base", 0.0), ("x", 0.1)):
        for repeat in range(4):
            lines += [
                f"{model},{step},{repeat},{0.5 + shift + repeat * step / 100},{step + repeat}"
                for step in (1, 2, 3)
            ]
    (tmp_path / "a.csv").write_text("\n".join(lines))
    columns = {"step": "trial_nr", "seed": "repeat_num"}
    options = AnalysisOptions(baseline="base", metric=metric, direction="max", column=columns, at="step 2")
    rows = read(str(tmp_path / "a.csv"), options).rows
    assert len(rows) == 8
    last = rows[(rows["variant"] == "x") & (rows["seed"] == "3")].iloc[0]
    assert float(last[metric]) == pytest.approx(0.66 if metric == "acc" else 5)
