"""Files that end within a number, as those of a killed run do: what is left of the number is no value."""

import json

import pytest
from click.testing import CliRunner

from ablate.cli import main
from ablate.runs.cells import is_cut
from ablate.runs.formats.logs import LogPatterns
from ablate.runs.formats.tables import read_table_file


@pytest.mark.parametrize(
    ("text", "is_one"),
    [("0.", True), ("-12.", True), ("0,", True), ("1.5e-", True), ("0.8", False), ("0", False)],
)
@pytest.mark.parametrize("earlier", [[], ["0.91", "1"], ["0,91"]])
def test_what_ends_before_its_digits_do(text, earlier, is_one):
    assert is_cut(text, earlier) == is_one


@pytest.mark.parametrize(("text", "is_one"), [("0.", False), ("-12.", False), ("1e-", True)])
def test_a_point_at_the_end_is_a_way_to_write_whole_numbers(text, is_one):
    assert is_cut(text, ["1.", "3"]) == is_one


def read(folder, text):
    path = folder / "a.csv"
    path.write_text(text)
    return read_table_file(path)


def test_a_cut_number_of_a_step_takes_the_step_with_it(tmp_path):
    found = read(tmp_path, "step,loss,acc\n1,1.0,0.601\n2,1.0,0.723\n3,1.0,0.")
    assert found.table["acc"].tolist() == ["0.601", "0.723"]
    assert "line 4 ends within a number" in " ".join(found.notes)


def test_a_cut_number_of_a_run_is_blank(tmp_path):
    found = read(tmp_path, "variant,seed,acc\nbase,0,0.601\nbase,1,0.")
    assert found.table["acc"].tolist() == ["0.601", ""]


@pytest.mark.parametrize(
    "text",
    ["step,acc\n1,0.6\n2,0.\n", "step,acc\n1,0.6\n2,0.7", "step,acc\n1,0.\n2,1", "step,lr\n1,1.\n2,0."],
)
def test_a_whole_file_keeps_its_numbers(text, tmp_path):
    found = read(tmp_path, text)
    assert (len(found.table), found.notes) == (2, [])


def test_a_cut_number_of_a_log_is_none(tmp_path):
    path = tmp_path / "a.log"
    path.write_text("acc: 0.61\nacc: 0.")
    read = LogPatterns({"acc": r"acc: (\S+)"}).rows_of(path)
    assert read.rows == [{"acc": "0.61"}]
    assert "line 2 ends within a number, 0.," in " ".join(read.notes)


def test_a_sentence_of_a_log_may_end_with_its_number(tmp_path):
    path = tmp_path / "a.log"
    path.write_text("seed 3\nFinal reward: 826.")
    assert LogPatterns({"reward": r"reward: ([0-9.]+)"}).rows_of(path).rows == [{"reward": "826"}]


@pytest.mark.slow
def test_the_run_that_was_cut_has_its_last_whole_step(tmp_path):
    for name, shift in (("base", 0.0), ("wide", 0.02)):
        for seed in range(4):
            run = tmp_path / f"r/{name}_s{seed}"
            run.mkdir(parents=True)
            last = round(0.8 + shift + seed / 100, 3)
            text = f"step,acc\n1,0.6\n2,{last}\n3,{last}\n"
            (run / "metrics.csv").write_text(
                text if (name, seed) != ("wide", 2) else text[: text.rindex(".") + 1]
            )
    words = ["analyse", str(tmp_path / "r"), "--baseline", "base", "--metric", "acc", "--json"]
    done = CliRunner().invoke(main, [*words, "--results", str(tmp_path / "out")])
    (row,) = [row for row in json.loads(done.stdout)["verdicts"] if not row["exploratory"]]
    assert row["diff"] == pytest.approx(0.02)
    assert "ends within a number" in " ".join(done.stderr.split())
