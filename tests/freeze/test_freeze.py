"""The package does what is recorded."""

import filecmp
import shutil

import pytest
from harness import ablate_here

from . import today
from .folders import ROOT
from .recording import same
from .recordings import RECORDINGS
from .refusals import expanded, normal_form
from .trials import machine


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] if recording.slow else [])
        for name, recording in RECORDINGS.items()
    ],
)
def test_it_does_what_is_recorded(name):
    recording = RECORDINGS[name]
    if recording.machine not in ("", machine()):
        pytest.skip(f"recorded {recording.machine.removeprefix('# ')}")
    difference = recording.difference()
    assert not difference, f"\n{difference}"


def test_every_published_folder_is_read():
    folders = sorted((ROOT / "results").glob("**/trials.parquet"))
    assert len(folders) == 50
    for file in folders:
        assert today.evidence_of(file.parent).facts.study, file


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "name",
    [
        "fair-low-rank",
        pytest.param("quickstart", marks=pytest.mark.slow),
        pytest.param("stability", marks=pytest.mark.slow),
    ],
)
def test_a_published_report_is_drawn_again_to_the_byte(name, tmp_path):
    published = ROOT / "results" / name
    shutil.copytree(published, tmp_path / "results" / name)
    done = ablate_here("report", name, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    files = [str(path.relative_to(published)) for path in published.rglob("*") if path.is_file()]
    same_files, *others = filecmp.cmpfiles(published, tmp_path / "results" / name, files, shallow=False)
    assert others == [[], []]
    assert "report.md" in same_files


def test_numbers_may_differ_by_rounding_and_by_nothing_else():
    assert same("a,0.1,b: 2", "a,0.10000000000001,b: 2")
    assert not same("a,0.1", "a,0.1001")
    assert not same("a 0x1.8p+1", "a 0x1.9p+1")
    assert not same("better,1", "worse,1")


def test_of_a_refusal_place_and_rule_are_kept(tmp_path):
    refusal = f"{tmp_path}/study.yaml:5: seeds: must be\n  a number; given 0; allowed: 5. Did you mean 1?"
    assert normal_form(refusal, tmp_path) == "study.yaml:5: seeds: must be a number"


def test_a_case_may_repeat_a_piece():
    assert expanded("n\n<3..5: # x, >y") == "n\n3 x, 4 x, 5 x, y"
