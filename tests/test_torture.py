"""A small part of the campaign of `make torture`; and that it would find what it looks for."""

import shutil
from pathlib import Path

import pytest
from torture.campaign import campaign
from torture.case import Place, Shared
from torture.process import Done
from torture.studies import STUDIES, Watched
from torture.tables import differences, tables

SEED = 148
CASES = {"mutations": 4, "sets": 1, "kills": 1, "damage": 1}


@pytest.mark.slow
def test_a_small_part_of_the_campaign():
    results = campaign(CASES, SEED, lanes=1)
    broken = [f"{result.kind} {result.number}: {text}" for result in results for text in result.violations]
    assert not broken
    assert len(results) == sum(CASES.values())
    assert {"refused", "recovered"} <= {result.outcome for result in results}
    assert sum(result.counts.get("kills", 0) for result in results) == 2


@pytest.fixture
def place(tmp_path: Path) -> Place:
    (tmp_path / "place").mkdir()
    return Place(tmp_path / "place", Shared(tmp_path))


@pytest.mark.parametrize(
    ("code", "output", "seconds", "found"),
    [
        (1, "Traceback (most recent call last):\n  here\nKeyError: 'a'", 1, "traceback: KeyError: 'a'"),
        (None, "", 60, "did not end within 60 s"),
        (-11, "", 1, "ended with -11"),
        (2, "1 problem in the study", 11, "refused after 11 s"),
        (0, "", 1, "without a word"),
        (0, "\x1b[2J", 1, "control characters"),
        (0, "\u202ereversed", 1, "bidirectional characters"),
        (2, "1 problem in the study", 9, ""),
        (0, "done", 100, ""),
    ],
)
def test_what_no_command_may_do_is_found(place, code, output, seconds, found):
    place.hold(Done(["plan"], code, output, seconds))
    assert [found in text for text in place.violations] == ([True] if found else [])


def test_a_trial_that_is_lost_or_trained_again_is_found(place):
    trials = place.path / "results/store/trials"
    trials.mkdir(parents=True)
    watched = Watched(place, STUDIES["run"])
    for name in "abc":
        (trials / f"{name}.json").write_text("{}")
    watched.look()
    assert not place.violations
    (trials / "a.json").unlink()
    (trials / "b.json").write_text("{ }")
    watched.ledger.write_text("c 0\n")
    watched.look()
    ends = ("a is lost", "b was written again", "c was trained again")
    assert [text.endswith(end) for text, end in zip(place.violations, ends, strict=True)] == [True] * 3


def test_the_last_bit_of_a_table_counts(tmp_path):
    source = Path(__file__).parents[1] / "results" / "quickstart"
    for name in ("trials.parquet", "comparisons.csv"):
        shutil.copy(source / name, tmp_path)
    expected = tables(tmp_path)
    assert not differences(tables(tmp_path), expected)
    text = (tmp_path / "comparisons.csv").read_text()
    place = text.rindex("5")
    (tmp_path / "comparisons.csv").write_text(f"{text[:place]}6{text[place + 1 :]}")
    (tmp_path / "trials.parquet").unlink()
    found = differences(tables(tmp_path), expected)
    assert found[0] == "trials.parquet is missing"
    assert found[1].startswith("comparisons.csv: ")
