"""A small part of the campaign of `make torture`; and that it would find what it looks for."""

import os
import random
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from torture.campaign import campaign
from torture.case import Place, Shared
from torture.intervals import close, paired
from torture.process import Done
from torture.repositories import Repository
from torture.studies import STUDIES, Watched
from torture.survivors import survivors
from torture.tables import differences, tables

SEED = 148
CASES = {"mutations": 4, "sets": 1, "kills": 1, "damage": 1, "own": 1, "analyse": 3, "compare": 2, "gate": 1}


@pytest.mark.slow
def test_a_small_part_of_the_campaign():
    results = campaign(CASES, SEED, lanes=1)
    broken = [f"{result.kind} {result.number}: {text}" for result in results for text in result.violations]
    assert not broken
    assert len(results) == sum(CASES.values())
    assert {"refused", "recovered"} <= {result.outcome for result in results}
    studies = [result for result in results if result.kind == "kills"]
    assert sum(result.counts["kills"] for result in studies) == 2


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


def test_what_a_run_leaves_in_the_repository_of_a_user_is_found(place):
    repository = Repository(place, mark="700000000000001")
    repository.commit("base", ["0.1", "0.2"])
    state = repository.state()
    repository.look(state, "undisturbed")
    assert not place.violations
    repository.git("config", "user.name", "somebody")
    repository.git("worktree", "add", "-q", "--detach", str(place.path / "left"))
    (repository.path / "values.txt").write_text("3\n")
    repository.look(state, "disturbed")
    changed, left = place.violations
    assert "values.txt" in changed
    assert "user.name=somebody" in changed
    assert "1 work trees" in left


def test_a_process_that_survives_is_found_and_ended():
    mark = str(random.SystemRandom().randrange(10**14, 10**15))
    process = subprocess.Popen(
        ["sleep", f"300.{mark}"], env={"PATH": os.environ["PATH"]}, start_new_session=True
    )
    # Until it has begun, it is a copy of this process.
    while mark.encode() not in Path(f"/proc/{process.pid}/cmdline").read_bytes():
        time.sleep(0.01)
    assert survivors(mark, grace=0) == [f"sleep 300.{mark}"]
    assert process.wait(10) == -9
    assert not survivors(mark, grace=0)


def test_a_paired_interval_is_that_of_a_table():
    # d = 1, 2, 3: mean 2, standard error 1/√3, t(0.975; 2) = 4.303.
    given = paired([0, 0, 0], [1, 2, 3], 0.95)
    assert close(given, (2, 2 - 4.302652729911275 / 3**0.5, 2 + 4.302652729911275 / 3**0.5))
    assert not close(given, (2, -0.48, 4.49))
