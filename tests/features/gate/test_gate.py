"""`ablate gate`: a stream of tries of a repository, through the command line."""

import json
import os
import shutil
import signal
import subprocess
import sys

import numpy as np
import pytest
from committed import PRINTED, Repository, drawn

from ablate.features.gate.rule import FIRST, PAIRS, decide, share, start


@pytest.fixture
def repository(tmp_path):
    made = Repository(tmp_path / "repository")
    made.losses("base", drawn(0))
    return made


def said(repository, head, base="base", *words, **kwargs):
    done = repository.call("gate", "ledger.jsonl", "--base", base, "--head", head, *words, **kwargs)
    assert done.returncode in (0, 1, 3), done.stderr
    (line,) = done.stdout.splitlines()
    answer = json.loads(line)
    assert answer["exit_code"] == done.returncode == {"keep": 0, "discard": 1, "retest": 3}[answer["verdict"]]
    return answer


def test_a_stream_keeps_what_is_better_and_goes_on_from_there(repository):
    """Each decision is that of the rule, on runs that no other decision rests on but those of the base."""
    values = {
        tag: drawn(n, shift)
        for n, (tag, shift) in enumerate({"base": 0, "bad": 0.05, "good": -0.05, "worse": -0.02}.items())
    }
    for tag in ("bad", "good", "worse"):
        repository.losses(tag, values[tag])
    state, seed = start((-values["base"][:FIRST]).tolist()), FIRST

    bad = said(repository, "bad")
    decision, state = decide(state, -values["bad"][seed])
    assert (bad["verdict"], bad["p"]) == ("discard", decision.p)
    assert bad["alpha_left"] == pytest.approx(0.05)

    good, seed = said(repository, "good"), seed + 1 + PAIRS
    seeds = slice(seed + 1, seed + 1 + PAIRS)
    sides = [(-values[tag][seeds]).tolist() for tag in ("good", "base")]
    decision, state = decide(state, -values["good"][seed], *sides)
    assert (good["verdict"], good["p"], good["alpha"]) == ("keep", decision.p, share(1))
    assert good["smallest_effect"] == state.smallest
    assert good["alpha_left"] == pytest.approx(0.05 - share(1))

    refused = repository.call("gate", "ledger.jsonl", "--base", "base", "--head", "worse")
    assert (refused.returncode, "is not the base" in refused.stderr) == (2, True)
    later, seed = said(repository, "worse", "good"), seed + 1 + PAIRS
    assert later["p"] == decide(state, -values["worse"][seed])[0].p
    assert not repository.left_behind
    runs = [line for line in repository.lines("ledger.jsonl") if "run" in line]
    assert len({(line["commit"], line["seed"]) for line in runs}) == len(runs)


def test_a_try_that_fails_is_discarded_and_a_base_that_fails_measures_nothing(repository):
    losses = drawn(1, -0.05)
    losses[FIRST + 2] = np.nan
    repository.losses("fails", losses)
    answer = said(repository, "fails")
    assert (answer["verdict"], answer["confirmations"]) == ("discard", 1)
    assert f"seed {FIRST + 2}" in answer["fault"]
    losses[2] = np.nan
    repository.losses("broken", losses)
    done = repository.call("gate", "other.jsonl", "--base", "broken", "--head", "base")
    assert done.returncode == 4
    assert done.stdout == ""


def test_after_a_kill_in_a_confirmation_it_decides_as_if_there_had_been_none(repository, monkeypatch):
    repository.losses("good", drawn(1, -0.05))
    monkeypatch.setenv("HOME", str(repository.folder.parent))
    script = f'if [ {{seed}} = {FIRST + 3} ] && mkdir "$HOME/killed"; then kill -KILL $PPID; sleep 9; fi; exec "$@"'
    call = ("--", "sh", "-c", script, "sh", *PRINTED)
    words = ("gate", "ledger.jsonl", "--base", "base", "--head", "good", *call)
    assert repository.call(*words, fresh=True).returncode == -signal.SIGKILL
    begun = repository.lines("ledger.jsonl")
    # The other try takes fresh seeds, and the confirmation that has begun counts.
    shutil.copy(repository.folder / "ledger.jsonl", repository.folder / "copy.jsonl")
    repository.losses("other", drawn(2, -0.05))
    other = repository.call("gate", "copy.jsonl", "--base", "base", "--head", "other", *call)
    assert json.loads(other.stdout)["confirmations"] == 2
    assert repository.lines("copy.jsonl")[len(begun)]["seed"] == FIRST + 1 + PAIRS
    resumed = said(repository, "good", "base", *call)
    lines = repository.lines("ledger.jsonl")
    assert lines[: len(begun)] == begun
    (repository.folder / "ledger.jsonl").unlink()
    assert said(repository, "good", "base", *call) == resumed
    runs = sum("run" in line for line in lines)
    assert runs == sum("run" in line for line in repository.lines("ledger.jsonl")) == FIRST + 1 + 2 * PAIRS


def test_a_second_process_waits_for_the_ledger(repository):
    tags = [repository.losses(f"try{n}", drawn(n, 0.1)) for n in (1, 2)]
    slow = ("sh", "-c", 'sleep .1; exec "$@"', "sh", *PRINTED)
    command = [sys.executable, "-m", "ablate", "gate", "ledger.jsonl", "--base", "base", "--direction", "min"]
    calls = [
        subprocess.Popen(
            [*command, "--head", tag, "--read", r"loss=^loss: (\S+)", "--", *slow],
            cwd=repository.folder,
            env=os.environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for tag in tags
    ]
    ended = [(*call.communicate(timeout=100), call.returncode) for call in calls]
    assert [code for _, _, code in ended] == [1, 1], ended
    assert sum("waiting" in stderr for _, stderr, _ in ended) == 1
    runs = [line["seed"] for line in repository.lines("ledger.jsonl") if "run" in line]
    assert runs == [*range(FIRST), FIRST, FIRST + 1 + PAIRS]


def test_a_ledger_of_another_call_and_files_that_are_none_are_refused_and_stay(repository):
    repository.losses("bad", drawn(1, 0.1))
    said(repository, "bad")
    before = (repository.folder / "ledger.jsonl").read_bytes()
    done = repository.call(
        "gate", "ledger.jsonl", "--base", "base", "--head", "bad", "--", "echo", "loss: {seed}"
    )
    assert (done.returncode, "another call" in done.stderr) == (2, True)
    assert (repository.folder / "ledger.jsonl").read_bytes() == before
    for text in ("not JSON", "[1]", "7"):
        (repository.folder / "notes.txt").write_text(text)
        done = repository.call("gate", "notes.txt", "--base", "base", "--head", "bad")
        assert (done.returncode, (repository.folder / "notes.txt").read_text()) == (2, text)


@pytest.mark.parametrize("read", ["loss", r"loss=^loss: (\S+)"])
def test_runs_that_ignore_their_seed_are_refused(repository, read):
    repository.losses("bad", drawn(1))
    script = """echo 'loss: 1 {seed}'; echo '{{"loss": 1}}' > "$ABLATE_DIR/metrics.json" """
    script = script.split(";")[read == "loss"]
    words = (
        "gate",
        "ledger.jsonl",
        "--base",
        "base",
        "--head",
        "bad",
        "--read",
        read,
        "--",
        "sh",
        "-c",
        f"{script} #{{seed}}",
    )
    done = repository.call(*words)
    assert (done.returncode, "under different seeds" in done.stderr) == (2, True)
