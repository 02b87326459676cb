"""The package does what is recorded."""

import csv
import shutil

import pandas as pd
import pytest
from harness import ablate_here

from .compare import difference, same
from .recordings import COLUMNS, PUBLISHED, RECORDINGS, SLOW, machine, path_of, rows, with_codes


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "name",
    # Studies that are refused are met with in `tests/study`, what is judged in `tests/analysis`.
    [
        pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else [])
        for name in RECORDINGS
        if not name.startswith(("refused", "judge"))
    ],
)
def test_it_does_what_is_recorded(name):
    of_machine = path_of(name).read_text().partition("\n")[0]
    if of_machine.startswith("# on ") and of_machine != machine():
        pytest.skip(f"recorded {of_machine.removeprefix('# ')}")
    found = difference(path_of(name), RECORDINGS[name]())
    assert not found, f"\n{found}"


def test_numbers_may_differ_by_rounding_and_by_nothing_else():
    assert same("a,0.1,b: 2", "a,0.10000000000001,b: 2")
    assert not same("a,0.1", "a,0.1001")
    assert not same("a 0x1.8p+1", "a 0x1.9p+1")
    assert not same("better,1", "worse,1")


@pytest.mark.slow
@pytest.mark.parametrize("study", PUBLISHED, ids=lambda path: path.name)
def test_a_report_says_it_too(study, tmp_path):
    """The whole command, on a copy of what is committed."""
    shutil.copytree(study, tmp_path / study.name, ignore=shutil.ignore_patterns("figures", "report.*"))
    done = ablate_here("report", str(tmp_path / study.name), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for name in ("claims", "comparisons", "speed"):
        path = tmp_path / study.name / f"{name}.csv"
        found = with_codes(pd.read_csv(path)).to_dict("records") if path.is_file() else []
        with path_of(f"published-{name}").open() as file:
            known = [row for row in csv.DictReader(file) if row["study"] == study.name]
        kept = [column for column in COLUMNS[name] if column not in ("study", "se", "df")]
        was, now = (rows(kept, frame) for frame in (known, found))
        assert len(was) == len(now)
        assert [pair for pair in zip(was, now, strict=True) if not same(*pair)] == []
