"""`ablate gate`: a stream of tries of a repository, through the command line."""

import json
import os
import shutil
import signal
import subprocess
import sys
from dataclasses import asdict

import numpy as np
import pytest
from committed import PRINTED, Repository, drawn

from ablate.commits.stream import ALPHAS, NUM_BASE_RUNS, PAIRS, TOTAL_ALPHA, State, attempt


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


def begun(losses):
    """The state after the first runs of the base."""
    return State.at_start((-losses[:NUM_BASE_RUNS]).tolist())


def expected(state, base, tried):
    """What the rule says of a try, by the losses of both sides, and the state that follows."""
    answer, after = attempt(
        state,
        lambda n: -tried[n],
        lambda ns: [(-side[ns]).tolist() for side in (base, tried)],
        lambda begun: None,
    )
    left = {"smallest_effect": after.smallest_effect, "alpha_left": after.alpha_left}
    return {**asdict(answer), **left, "confirmations": after.confirmations}, after


def test_a_stream_keeps_what_is_better_and_goes_on_from_there(repository):
    """Each decision is that of the rule, on runs that no other decision rests on but those of the base."""
    shifts = {"base": 0, "bad": 0.05, "good": -0.05, "worse": -0.02}
    values = {tag: drawn(n, shift) for n, (tag, shift) in enumerate(shifts.items())}
    for tag in ("bad", "good", "worse"):
        repository.losses(tag, values[tag])
    state = begun(values["base"])
    for tag, base, verdict in (
        ("bad", "base", "discard"),
        ("good", "base", "keep"),
        ("worse", "good", "discard"),
    ):
        answer = said(repository, tag, base)
        found, state = expected(state, values[base], values[tag])
        assert answer["verdict"] == verdict
        assert answer == answer | found
    assert answer["alpha_left"] == pytest.approx(TOTAL_ALPHA - ALPHAS[0])
    refused = repository.call("gate", "ledger.jsonl", "--base", "base", "--head", "worse")
    assert (refused.returncode, "with this --base" in refused.stderr) == (2, True)
    assert not repository.left_behind
    runs = [line for line in repository.lines("ledger.jsonl") if "run" in line]
    assert len({(line["commit"], line["seed"]) for line in runs}) == len(runs)


@pytest.mark.parametrize(
    ("head", "seed", "state"), [("fails", NUM_BASE_RUNS + 2, "confirm"), ("base", 2, None)]
)
def test_a_run_that_fails_is_not_judged(repository, head, seed, state):
    losses = drawn(1, -0.05)
    losses[seed] = np.nan
    repository.losses("fails", losses)
    base = "fails" if head == "base" else "base"
    done = repository.call("gate", "ledger.jsonl", "--base", base, "--head", head)
    assert (done.returncode, done.stdout) == (4, "")
    assert f"seed {seed}" in done.stderr
    assert (
        next((line["verdict"] for line in repository.lines("ledger.jsonl")[::-1] if "state" in line), None)
        == state
    )


def test_after_a_kill_in_a_confirmation_it_decides_as_if_there_had_been_none(repository, monkeypatch):
    repository.losses("good", drawn(1, -0.05))
    monkeypatch.setenv("HOME", str(repository.folder.parent))
    # Under two seeds, the first run ends the process that started it.
    seeds = f"{{seed}} = {NUM_BASE_RUNS + 2} -o {{seed}} = {NUM_BASE_RUNS + 3}"
    script = f'if [ {seeds} ] && mkdir "$HOME/killed{{seed}}"; then kill -KILL $PPID; sleep 9; fi; exec "$@"'
    call = ("--", "sh", "-c", script, "sh", *PRINTED)
    words = ("gate", "ledger.jsonl", "--base", "base", "--head", "good", *call)
    for _ in range(2):
        assert repository.call(*words, fresh=True).returncode == -signal.SIGKILL
    lines = repository.lines("ledger.jsonl")
    # The other try takes fresh seeds, and the confirmation that has begun counts.
    shutil.copy(repository.folder / "ledger.jsonl", repository.folder / "copy.jsonl")
    repository.losses("other", drawn(2, -0.05))
    other = repository.call("gate", "copy.jsonl", "--base", "base", "--head", "other", *call)
    assert json.loads(other.stdout)["confirmations"] == 2
    assert repository.lines("copy.jsonl")[len(lines)]["seed"] == NUM_BASE_RUNS + 1 + PAIRS
    answer = said(repository, "good", "base", *call)
    assert answer == answer | expected(begun(drawn(0)), drawn(0), drawn(1, -0.05))[0]
    assert repository.lines("ledger.jsonl")[: len(lines)] == lines
    assert sum("run" in line for line in repository.lines("ledger.jsonl")) == NUM_BASE_RUNS + 1 + 2 * PAIRS


def test_a_second_process_waits_for_the_ledger(repository):
    tags = [repository.losses(f"try{n}", drawn(n, 0.1)) for n in (1, 2)]
    slow = ("sh", "-c", 'sleep .05; exec "$@"', "sh", *PRINTED)
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
    assert runs == [*range(NUM_BASE_RUNS), NUM_BASE_RUNS, NUM_BASE_RUNS + 1 + PAIRS]


def test_a_ledger_of_another_call_and_files_that_are_none_are_refused_and_stay(repository):
    repository.losses("bad", drawn(1, 0.1))
    said(repository, "bad")
    before = (repository.folder / "ledger.jsonl").read_bytes()
    words = ("--base", "base", "--head", "bad")
    done = repository.call("gate", "ledger.jsonl", *words, "--", "echo", "loss: {seed}")
    assert (done.returncode, "repeat the call" in done.stderr) == (2, True)
    assert (repository.folder / "ledger.jsonl").read_bytes() == before
    for text in ("not JSON", "[1]", "7", '{"a": 1}'):
        (repository.folder / "notes.txt").write_text(text)
        done = repository.call("gate", "notes.txt", *words)
        assert (done.returncode, (repository.folder / "notes.txt").read_text()) == (2, text)


@pytest.mark.parametrize("read", ["loss", r"loss=^loss: (\S+)"])
def test_runs_that_ignore_their_seed_are_refused(repository, read):
    repository.losses("bad", drawn(1))
    script = """echo 'loss: 1 {seed}'; echo '{{"loss": 1}}' > "$ABLATE_DIR/metrics.json" """
    script = script.split(";")[read == "loss"]
    words = ("--base", "base", "--head", "bad", "--read", read, "--", "sh", "-c", f"{script} #{{seed}}")
    done = repository.call("gate", "ledger.jsonl", *words)
    assert (done.returncode, "under different seeds" in done.stderr) == (2, True)


def test_a_ledger_behind_a_link_is_written_there_and_one_that_is_no_file_is_refused(repository):
    repository.losses("bad", drawn(1, 0.05))
    disk = repository.folder.parent / "disk"
    disk.mkdir()
    (repository.folder / "ledger.jsonl").symlink_to(disk / "tries.jsonl")
    said(repository, "bad")
    before = repository.lines("ledger.jsonl")
    said(repository, "bad", "base")
    assert (repository.folder / "ledger.jsonl").is_symlink()
    assert repository.lines("../disk/tries.jsonl")[: len(before)] == before
    os.mkfifo(repository.folder / "pipe.jsonl")
    for ledger in ("pipe.jsonl", os.devnull, "."):
        assert repository.call("gate", ledger, "--base", "base", "--head", "bad").returncode == 2
    assert (repository.folder / "pipe.jsonl").is_fifo()


def test_a_try_that_is_the_base_itself_is_answered_from_the_ledger(repository):
    repository.losses("bad", drawn(1, 0.05))
    said(repository, "bad")
    before = (repository.folder / "ledger.jsonl").read_bytes()
    repository.losses("again", drawn(0))  # Another commit of the same files.
    answer = said(repository, "again", "base")
    assert (answer["verdict"], answer["difference"], answer["p"]) == ("discard", 0, None)
    assert (answer["confirmations"], answer["alpha_left"], len(answer["notes"])) == (0, TOTAL_ALPHA, 1)
    assert (repository.folder / "ledger.jsonl").read_bytes() == before


def test_a_ledger_of_an_older_format_is_refused_by_name_and_stays(repository):
    repository.losses("bad", drawn(1))
    old = [
        {"run": "1", "commit": "base (0123456789)", "seed": 0, "value": 1.5},
        {
            "call": {"command": [*PRINTED]},
            "verdict": "keep",
            "commit": "base (0123456789)",
            "state": {"sd": 1},
        },
    ]
    for count in (1, 2):
        text = "".join(f"{json.dumps(line)}\n" for line in old[:count])
        (repository.folder / "ledger.jsonl").write_text(text)
        done = repository.call("gate", "ledger.jsonl", "--base", "base", "--head", "bad")
        assert done.returncode == 2
        assert "ledger.jsonl: is a ledger of format 1" in done.stderr
        assert (repository.folder / "ledger.jsonl").read_text() == text


def test_a_try_that_changes_what_measures_it_or_takes_longer_is_named(repository):
    """By the words of the command and by names; by patterns alone where they are given."""
    script = 'sh run.sh {seed} && sed -n "s/^{seed} /loss: /p" losses.txt'
    repository.commit("named", run_sh="sleep 0", evaluate_txt="1", other_txt="1")
    repository.losses("long", drawn(1, -0.05))
    repository.commit("long2", run_sh="sleep 0.3", evaluate_txt="2", other_txt="2")
    command = ("--", "sh", "-c", script)
    answer = said(repository, "long2", "named", *command)
    assert answer["verdict"] == "keep"
    assert answer["changed_measures"] == ["evaluate.txt"]
    assert answer["time_ratio"] > 1.5
    assert len(answer["notes"]) == 2
    # The words of a command are files of the folder in which it runs.
    direct = ("--", "sh", "run.sh", "{seed}")
    repository.commit("prints", run_sh='sed -n "s/^$1 /loss: /p" losses.txt')
    repository.commit("prints2", run_sh='sed -n "s/^$1 /loss:  /p" losses.txt', losses_txt="")
    repository.losses("prints3", drawn(2, 0.2))
    call = ("gate", "other.jsonl", "--base", "prints", "--head", "prints3")
    read = ("--read", r"loss=^loss: +(\S+)")
    found = json.loads(repository.call(*call, *read, *direct).stdout)
    assert (found["verdict"], found["changed_measures"]) == ("discard", ["run.sh"])
    found = json.loads(repository.call(*call, *read, "--measures", "loss*", *direct).stdout)
    assert found["changed_measures"] == ["losses.txt"]
    done = repository.call(*call, *read, "--measures", "eval.py", *direct)
    assert (done.returncode, "--measures eval.py" in done.stderr) == (2, True)
