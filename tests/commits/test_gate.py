"""`ablate gate`: a stream of tries of a repository, through the command line."""

import json
import math
import os
import shutil
import signal
import subprocess
import sys
from dataclasses import asdict
from unittest.mock import ANY

import numpy as np
import pytest
from committed import KILL_DRIVER, PRINTED, Repository, drawn, tried_alone

from ablate.analysis.level_of_tries import TOTAL_LEVEL, LevelLeft
from ablate.base.errors import AblateError
from ablate.base.kept import Journal
from ablate.commits.lines import LINE
from ablate.commits.stream import NUM_BASE_RUNS, PAIRS, State


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
    """The state after the first runs of the base, and the level."""
    return State.at_start((-losses[:NUM_BASE_RUNS]).tolist()), LevelLeft()


def expected(begun, base, tried):
    """What the rule says of a try, by the losses of both sides, and what it leaves."""
    answer, after, left = tried_alone(
        *begun, lambda n: -tried[n], lambda ns: [(-side[ns]).tolist() for side in (base, tried)]
    )
    found = {
        **asdict(answer),
        "smallest_effect": after.smallest_effect(left.next_level),
        "alpha_left": left.to_come,
        "confirmations": after.confirmations,
    }
    return found, (after, left)


@pytest.mark.slow
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
    # The level of what was kept has returned.
    assert answer["alpha_left"] == TOTAL_LEVEL
    refused = repository.call("gate", "ledger.jsonl", "--base", "base", "--head", "worse")
    assert (refused.returncode, "with this --base" in refused.stderr) == (2, True)
    assert not repository.left_behind
    runs = [line for line in repository.lines("ledger.jsonl") if "run" in line]
    assert len({(line["commit"], line["seed"]) for line in runs}) == len(runs)


@pytest.mark.slow
def test_seeds_that_repeat_one_another_are_named(tmp_path):
    made = Repository(tmp_path / "repository")
    made.losses("base", np.tile([1.0123451, 0.9912347, 1.0034562, 0.9851233, 1.0209874], 10))
    made.losses("good", np.tile([0.9671236, 0.9577653, 0.9589124, 0.9516245, 0.9602347], 10))
    assert "some runs of base" in said(made, "good")["notes"][0]


@pytest.mark.fast_cases(1)
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


@pytest.mark.slow
def test_after_a_kill_in_a_confirmation_it_decides_as_if_there_had_been_none(repository, monkeypatch):
    repository.losses("good", drawn(1, -0.05))
    monkeypatch.setenv("HOME", str(repository.folder.parent))
    # Under two seeds, the first run ends the process that started it.
    seeds = f"{{seed}} = {NUM_BASE_RUNS + 2} -o {{seed}} = {NUM_BASE_RUNS + 3}"
    script = f'if [ {seeds} ] && mkdir "$HOME/killed{{seed}}"; then {KILL_DRIVER}; sleep 9; fi; exec "$@"'
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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize("read", ["loss", r"loss=^loss: (\S+)"])
def test_runs_that_ignore_their_seed_are_refused(repository, read):
    repository.losses("bad", drawn(1))
    script = """echo 'loss: 1 {seed}'; echo '{{"loss": 1}}' > "$ABLATE_DIR/metrics.json" """
    script = script.split(";")[read == "loss"]
    words = ("--base", "base", "--head", "bad", "--read", read, "--", "sh", "-c", f"{script} #{{seed}}")
    done = repository.call("gate", "ledger.jsonl", *words)
    assert (done.returncode, "with different seeds" in done.stderr) == (2, True)


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_try_that_is_the_base_itself_is_answered_from_the_ledger(repository):
    repository.losses("bad", drawn(1, 0.05))
    said(repository, "bad")
    before = (repository.folder / "ledger.jsonl").read_bytes()
    repository.losses("again", drawn(0))  # Another commit of the same files.
    answer = said(repository, "again", "base")
    assert (answer["verdict"], answer["difference"], answer["p"]) == ("discard", 0, None)
    assert (answer["confirmations"], answer["alpha_left"], len(answer["notes"])) == (0, TOTAL_LEVEL, 1)
    assert (repository.folder / "ledger.jsonl").read_bytes() == before


@pytest.mark.slow
def test_a_ledger_of_an_older_format_goes_on_or_is_refused_by_name_and_stays(repository):
    """Format 2 had no digests; of a base whose runs were cut short the rest is run."""
    repository.losses("bad", drawn(1, 0.05))
    answer = said(repository, "bad")
    ledger = repository.folder / "ledger.jsonl"
    old = [without(line, "digest") for line in repository.lines("ledger.jsonl")]
    old[NUM_BASE_RUNS]["format"] = 1
    text = "".join(f"{json.dumps(line)}\n" for line in old)
    ledger.write_text(text)
    done = repository.call("gate", "ledger.jsonl", "--base", "base", "--head", "bad")
    assert (done.returncode, ledger.read_text()) == (2, text)
    assert "is a ledger of format 1" in done.stderr
    old[NUM_BASE_RUNS]["format"] = 2
    ledger.write_text("".join(f"{json.dumps(line)}\n" for line in old))
    repository.losses("other", drawn(2, 0.05))
    said(repository, "other")
    lines = repository.lines("ledger.jsonl")
    assert [without(line, "digest") for line in lines[: len(old)]] == old
    assert lines[-1]["state"]["seed"] == old[-1]["state"]["seed"] + 1 + PAIRS
    ledger.write_text("".join(f"{json.dumps(line)}\n" for line in old[:4]))
    assert said(repository, "bad") == {**answer, "time_ratio": ANY}
    assert sum("run" in line for line in repository.lines("ledger.jsonl")) == NUM_BASE_RUNS + 1


def without(line, *names):
    return {name: value for name, value in line.items() if name not in names}


def edits(lines):
    """What the edit does → the lines after it, and the number of the line that is refused."""
    state = NUM_BASE_RUNS
    last = len(lines) - 1

    def changed(at, **fields):
        return [*lines[:at], lines[at] | fields, *lines[at + 1 :]], at + 1

    yield changed(3, value=1.4)
    yield changed(3, value="1.5")
    yield changed(3, value=math.nan)
    yield changed(3, seed=4)
    yield changed(3, seed=True)
    yield changed(3, seconds=-1.0)
    yield changed(3, tree="0" * 40)
    yield changed(3, another=1)
    yield changed(state, format=True)
    yield changed(state, call=None)
    yield changed(state, verdict="discard")
    yield changed(state, state={**lines[state]["state"], "confirmations": -1})
    yield changed(state, state={**lines[state]["state"], "base": []})
    yield changed(state, state={**lines[state]["state"], "all_runs": {"variance": 0.0, "df": 9}})
    yield changed(last, verdict="retest")
    yield changed(last, verdict="better")
    yield changed(last, confirmations=0)
    yield changed(last, state=lines[state]["state"])
    yield changed(last, digest=None)
    yield changed(last, digest=7)
    for name in lines[last]:
        yield [*lines[:last], without(lines[last], name)], last + 1
    yield [*lines[:3], *lines[4:]], 4
    yield [*lines[:3], lines[4], lines[3], *lines[5:]], 4
    yield [*lines, lines[state]], last + 2
    yield [*lines, lines[3]], last + 2
    yield [*lines[:last], 7], last + 1
    yield lines[:state] + lines[state + 1 :], state + 1


@pytest.mark.slow
def test_an_edited_ledger_is_refused_by_its_line_and_stays(repository):
    repository.losses("other", drawn(1, 0.05))
    repository.losses("good", drawn(2, -0.05))
    for head in ("other", "good"):
        said(repository, head)
    lines = repository.lines("ledger.jsonl")
    ledger = repository.folder / "ledger.jsonl"
    for at, (edited, number) in enumerate(edits(lines)):
        text = "".join(f"{json.dumps(line)}\n" for line in edited)
        ledger.write_text(text)
        with pytest.raises(AblateError, match=rf"ledger.jsonl:{number}: .*start a new one"):
            Journal(ledger, LINE, "start a new one")
        if at % 10 == 0:
            done = repository.call("gate", "ledger.jsonl", "--base", "good", "--head", "other")
            assert (done.returncode, ledger.read_text()) == (2, text), done.stderr
            assert f"ledger.jsonl:{number}: " in done.stderr
    # What only looks otherwise is read.
    ledger.write_text("".join(f"{json.dumps(line, sort_keys=True, indent=None)} \r\n" for line in lines))
    assert said(repository, "good", "good")["p"] is None


@pytest.mark.slow
def test_kept_runs_of_compare_that_were_edited_are_refused_and_those_of_an_older_version_count(repository):
    repository.losses("bad", drawn(1, 0.1))
    words = ("compare", "base", "bad", "--margin", "0.01", "--seeds", "4")
    assert repository.call(*words).returncode == 1
    for name in ("compare.jsonl", "compare.answers.jsonl"):
        file = repository.folder / "results/store" / name
        text = file.read_text()
        for old, new in (
            (
                "{",
                "[",
            ),
            (': "', ": 1"),
            ('"digest"', '"other"'),
            (text[9], "\\"),
        ):
            file.write_text(text.replace(old, new, 1))
            done = repository.call(*words)
            assert (done.returncode, file.read_text()) == (2, text.replace(old, new, 1))
            assert f"{name}:1: " in done.stderr
        file.write_text(text)
    kept = repository.folder / "results/store/compare.jsonl"
    older = [without(line, "digest") for line in repository.lines("results/store/compare.jsonl")]
    kept.write_text("".join(f"{json.dumps(line)}\n" for line in older))
    assert repository.call(*words).returncode == 1
    assert len(kept.read_text().splitlines()) == 8


@pytest.mark.slow
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


def test_a_call_that_was_killed_before_it_had_said_what_is_kept_says_so_again(repository):
    repository.losses("good", drawn(1, -0.05))
    words = ("gate", "ledger.jsonl", "--base", "base", "--head", "good")
    first = repository.call(*words)
    assert (first.returncode, json.loads(first.stdout)["verdict"]) == (0, "keep")
    kept = (repository.folder / "ledger.jsonl").read_bytes()
    again = repository.call(*words)
    assert (again.returncode, again.stdout) == (0, first.stdout)
    assert (repository.folder / "ledger.jsonl").read_bytes() == kept


@pytest.mark.slow
def test_names_that_are_no_utf8_lose_no_run(repository):
    """A word of the call is refused before a run, and a file of such a name is told escaped."""
    repository.losses("good", drawn(1, -0.05))
    name = os.fsdecode(b"eval\xff.py")
    (repository.folder / name).write_text("")
    repository.losses("try", drawn(2, -0.05))
    call = (*PRINTED, os.fsdecode(b"\xff"))
    for words in (("--head", "good", "--", *call), ("--head", os.fsdecode(b"good\xff"))):
        refused = repository.call("gate", "ledger.jsonl", "--base", "base", *words)
        assert (refused.returncode, refused.stdout) == (2, "")
    assert not (repository.folder / "ledger.jsonl").exists()
    answer = said(repository, "try")
    assert r"eval\udcff.py" in answer["changed_measures"]
    assert repository.lines("ledger.jsonl")[-1]["verdict"] == answer["verdict"]
