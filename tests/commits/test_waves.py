"""`ablate gate` with several heads: tries that are judged against one base, one at a time or several at once."""

import json
import signal
from unittest.mock import ANY

import numpy as np
import pytest
from committed import KILL_DRIVER, PRINTED, Repository, drawn

from ablate.analysis.level_of_tries import LevelLeft
from ablate.commits.at_once import measures_time
from ablate.commits.stream import NUM_BASE_RUNS, PAIRS, SEEDS, Sides, State, attempt

HEADS = ("bad", "good", "best", "base")
SHIFTS = {"bad": 0.1, "good": -0.05, "best": -0.1}


@pytest.fixture
def repository(tmp_path):
    made = Repository(tmp_path / "repository")
    made.losses("base", drawn(0))
    for number, (tag, shift) in enumerate(SHIFTS.items(), 1):
        made.losses(tag, drawn(number, shift))
    return made


def words_of(ledger, *heads, base="base"):
    words = ["gate", ledger, "--base", base]
    for head in heads:
        words += ["--head", head]
    return words


def answers_of(done):
    assert done.returncode in (0, 1, 3), done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def losses_of(tag):
    if tag == "base":
        return -drawn(0)
    return -drawn([*SHIFTS].index(tag) + 1, SHIFTS[tag])


def expected(tags):
    """What the rule says of tries, by their numbers alone."""
    base = losses_of("base")
    sides = [losses_of(tag) for tag in tags]
    return attempt(
        State.at_start(base[:NUM_BASE_RUNS].tolist()),
        LevelLeft(),
        len(tags),
        screen=lambda seeds: [side[seed] for side, seed in zip(sides, seeds, strict=True)],
        confirm=lambda seeds: {
            n: Sides(base[list(own)].tolist(), sides[n][list(own)].tolist()) for n, own in seeds.items()
        },
        on_confirmations=lambda order, state: None,
    )


def test_of_several_that_pass_the_best_is_kept_and_the_others_are_to_be_tried_again(repository):
    done = repository.call(*words_of("ledger.jsonl", *HEADS))
    assert done.returncode == 0
    answers = answers_of(done)
    assert [answer["commit"].split()[0] for answer in answers] == [*HEADS]
    assert [answer["verdict"] for answer in answers] == ["discard", "retest", "keep", "discard"]
    assert [answer["exit_code"] for answer in answers] == [1, 3, 0, 1]
    assert any("try it again on the new base" in note for note in answers[1]["notes"])
    judged = expected(HEADS[:3])
    for answer, by_rule in zip(answers, judged.answers, strict=False):
        assert (answer["p"], answer["alpha"], answer["difference"]) == (
            by_rule.p,
            by_rule.alpha,
            by_rule.difference,
        )
        assert (answer["confirmations"], answer["alpha_left"]) == (2, judged.left.to_come)
    # The smallest p of screening has the largest level, and what was kept gives its own back.
    assert answers[2]["alpha"] > answers[1]["alpha"]
    assert judged.left.budget == pytest.approx(0.04 - answers[1]["alpha"])
    confirmations = [line for line in repository.lines("ledger.jsonl") if line.get("verdict") == "confirm"]
    assert [line["commit"].split()[0] for line in confirmations] == ["best", "good"]
    # The same call says the same again, and another goes on from what was kept.
    assert repository.call(*words_of("ledger.jsonl", *HEADS)).stdout == done.stdout
    (again,) = answers_of(repository.call(*words_of("ledger.jsonl", "good", base="best")))
    assert again["verdict"] == "discard"


@pytest.mark.slow
def test_the_numbers_are_the_same_whatever_runs_at_once(repository):
    one = answers_of(repository.call(*words_of("one.jsonl", *HEADS)))
    several = answers_of(repository.call(*words_of("several.jsonl", *HEADS), "--jobs", "3"))
    assert several == [{**answer, "time_ratio": ANY} for answer in one]
    files = [repository.lines(name) for name in ("one.jsonl", "several.jsonl")]
    runs = [{(line["run"], line["value"]) for line in lines if "run" in line} for lines in files]
    assert runs[0] == runs[1]


@pytest.mark.slow
@pytest.mark.parametrize("jobs", ["1", "3"])
def test_a_wave_that_is_killed_goes_on_as_if_it_had_not_been(repository, monkeypatch, jobs):
    monkeypatch.setenv("HOME", str(repository.folder.parent))
    # A run of a screening and one of a confirmation end the process that started them.
    seeds = f"{{seed}} = {NUM_BASE_RUNS + SEEDS} -o {{seed}} = {NUM_BASE_RUNS + SEEDS + 3}"
    script = f'if [ {seeds} ] && mkdir "$HOME/killed{{seed}}"; then {KILL_DRIVER}; sleep 9; fi; exec "$@"'
    words = (*words_of("ledger.jsonl", *HEADS), "--jobs", jobs, "--", "sh", "-c", script, "sh", *PRINTED)
    for _ in range(2):
        assert repository.call(*words, fresh=True).returncode == -signal.SIGKILL
    lines = repository.lines("ledger.jsonl")
    starts = [line for line in lines if line.get("verdict") == "confirm"]
    assert len(starts) == 2
    # Another wave does not have these seeds, and the confirmations that have begun count.
    (repository.folder / "copy.jsonl").write_text((repository.folder / "ledger.jsonl").read_text())
    others = (*words_of("copy.jsonl", "good", "bad"), *words[words.index("--jobs") :])
    assert answers_of(repository.call(*others))[0]["confirmations"] == 3
    runs = repository.lines("copy.jsonl")[len(lines) :]
    assert min(line["seed"] for line in runs if "run" in line) == NUM_BASE_RUNS + 3 * SEEDS

    answers = answers_of(repository.call(*words))
    undisturbed = answers_of(repository.call(*words_of("other.jsonl", *HEADS)))
    assert answers == [{**answer, "time_ratio": ANY} for answer in undisturbed]
    assert repository.lines("ledger.jsonl")[: len(lines)] == lines
    after = repository.lines("ledger.jsonl")
    assert [line for line in after if line.get("verdict") == "confirm"] == starts
    assert sum("run" in line for line in after) == NUM_BASE_RUNS + 3 + 2 * 2 * PAIRS
    assert not repository.left_behind


@pytest.mark.slow
def test_a_try_that_is_not_measured_leaves_the_others_an_answer(repository):
    screened = drawn(4, -0.1)
    screened[NUM_BASE_RUNS] = np.nan
    repository.losses("crashes", screened)
    confirmed = drawn(5, -0.2)
    confirmed[NUM_BASE_RUNS + SEEDS + 2] = np.nan
    repository.losses("unsteady", confirmed)
    constant = np.full(200, 1.0)
    constant[NUM_BASE_RUNS + 2 * SEEDS] = 1.1
    repository.losses("constant", constant)
    heads = ("crashes", "unsteady", "constant", "good")
    done = repository.call(*words_of("ledger.jsonl", *heads))
    (answer,) = answers_of(done)
    assert (answer["verdict"], answer["confirmations"]) == ("keep", 3)
    # The places of those that could not be confirmed are spent.
    assert answer["alpha"] == LevelLeft().level_of(3)
    assert [
        f"without an answer: {text}" in done.stderr for text in ("crashes", "unsteady", "5 runs of one")
    ] == [True] * 3
    # The same call says the same again, without running anything.
    assert repository.call(*words_of("ledger.jsonl", *heads)).stdout == done.stdout
    assert repository.call(*words_of("ledger.jsonl", "crashes", "good")).returncode == 2
    # Where none is measured nothing is answered.
    done = repository.call(*words_of("other.jsonl", "crashes"))
    assert (done.returncode, done.stdout) == (4, "")


def test_what_is_a_time_is_told_by_its_name():
    assert not any(measures_time(name) for name in ("ms_ssim", "loss", "timestep_loss", "accuracy", "psnr"))
    assert all(
        measures_time(name) for name in ("ms", "val/latency", "tokens/s", "samplesPerSecond", "Throughput")
    )


def test_two_heads_of_the_same_files_are_refused(repository):
    repository.losses("again", drawn(2, SHIFTS["good"]))
    done = repository.call(*words_of("ledger.jsonl", "good", "again"))
    assert (done.returncode, "have the same files: name one" in done.stderr) == (2, True)
    assert not (repository.folder / "ledger.jsonl").exists()


@pytest.mark.parametrize("metric", ["step_seconds", "time", "tokens_per_s", "stepTime"])
def test_times_are_never_measured_in_parallel(repository, metric):
    read = ("--read", rf"{metric}=^loss: (\S+)", "--jobs", "2")
    for words in (words_of("ledger.jsonl", "good"), ["compare", "base", "good", "--margin", "0.1"]):
        done = repository.call(*words, *read)
        assert (done.returncode, "--jobs: cannot measure" in done.stderr) == (2, True)
