import io
import re
import shutil

import pytest
from rich.console import Console

from ablate.base.errors import AblateError
from ablate.records.folder import StudyFolder
from ablate.report.terminal import print_table, print_verdicts
from ablate.report.words import Column, Table


def printed(folder, **options):
    buffer = io.StringIO()
    reported = StudyFolder.at(folder)
    print_verdicts(reported, reported.facts(), Console(file=buffer, **({"width": 80} | options)))
    return buffer.getvalue()


def test_every_verdict_and_claim_fits_eighty_columns(folder):
    text = printed(folder)
    assert max(len(line) for line in text.splitlines()) <= 80
    assert "\x1b" not in text
    verdict = ["worse", "−0.462", "[−0.474,", "−0.449]"]
    row = next(line for line in text.splitlines() if line.startswith("no positions"))
    assert row.split()[2:] == verdict
    row = next(line for line in printed(folder, width=120).splitlines() if line.startswith("no positions"))
    assert row.split()[2:] == [*verdict, "×", "0.97", "0.523", "0.985"]
    assert text.lstrip().startswith("On 5 seeds, accuracy fell by 46 points without positions")
    for piece in ("inconclusive", "supported", "<script>alert('x')</", "Noise: "):
        assert piece in text


def table(*names, note=""):
    columns = [Column("name", "Name"), Column("verdict", "Verdict"), Column("note", "Note", below=True)]
    rows = [{"name": name, "verdict": "better", "note": note} for name in names]
    buffer = io.StringIO()
    print_table(Table(columns, rows, "names"), Console(file=buffer, width=40))
    return buffer.getvalue()


def test_lines_end_between_words_and_a_reason_stands_below():
    long = "low-rank values (rank 8) + batch norm + 1 head"
    lines = [line.rstrip() for line in table("x", long, note="shown by\nthe seeds").splitlines()]
    assert max(map(len, lines)) <= 40
    first = lines.index("  x: shown by")
    assert set(" ".join(lines[:first]).split()) >= set(long.split())
    assert " ".join(lines[first:]).split()[-4:] == ["shown", "by", "the", "seeds"]


def test_spare_columns_go_where_there_is_no_room():
    columns = [Column("name", "Name"), Column("a", "A"), Column("b", "B" * 30, spare=True)]
    for width, shown in ((80, True), (30, False)):
        buffer = io.StringIO()
        print_table(Table(columns, [{"name": "x", "a": "1", "b": "2"}]), Console(file=buffer, width=width))
        assert ("B" * 30 in buffer.getvalue()) == shown


def test_what_has_no_room_is_counted_where_columns_are_of_one_kind():
    columns = [Column("name", "Condition"), *(Column(key, key * 15, spare=key > "a") for key in "abc")]
    made = Table(columns, [{"name": "x", "a": "1", "b": "2", "c": "3"}], across="variant")
    said = {}
    for width in (80, 45):
        buffer = io.StringIO()
        print_table(made, Console(file=buffer, width=width))
        said[width] = " ".join(buffer.getvalue().split())
    assert "2 of 3 variants of this table have room on a line" in said[45]
    assert "room" not in said[80]


def test_a_note_of_many_rows_is_said_once():
    assert table("x", "y", note="so").count("so") == 2
    assert "x, y and z: so" in table("x", "y", "z", note="so")


def test_verdicts_have_colours_on_a_terminal(folder):
    text = printed(folder, force_terminal=True, color_system="standard")
    assert re.search(r"\x1b\[31mworse", text)


def test_names_are_not_markup(folder, tmp_path):
    shutil.copytree(folder, tmp_path / "x")
    path = tmp_path / "x" / "comparisons.csv"
    path.write_text(path.read_text().replace("model.norm=batch", "[bold]x[/bold]\x1b[31m"))
    text = printed(tmp_path / "x")
    assert "[bold]x[/bold]" in text
    assert "\x1b" not in text


def test_a_folder_without_results_says_what_to_do(folder, tmp_path):
    facts = StudyFolder.at(folder).facts()
    with pytest.raises(AblateError, match=r"has no comparisons\.csv; run the study first"):
        print_verdicts(StudyFolder.at(tmp_path), facts, Console(file=io.StringIO()))
