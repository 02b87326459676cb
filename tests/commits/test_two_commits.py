"""`ablate compare`: two commits of a repository, judged through the command line."""

import json
import os
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from committed import KILL_DRIVER, PRINTED, Repository, drawn, git
from harness import ablate_here
from scipy import stats

KEPT = "results/store/compare.jsonl"
MARGIN = ("--margin", "0.02")


@pytest.fixture
def repository(tmp_path):
    made = Repository(tmp_path / "repository")
    made.losses("base", drawn(0))
    return made


def found(done):
    assert done.returncode in (0, 1, 3), done.stderr
    answer = json.loads(done.stdout)
    assert answer["exit_code"] == done.returncode
    return answer


@pytest.mark.slow
def test_a_planted_regression_is_found_and_its_numbers_are_those_of_the_paired_t(repository):
    repository.losses("feature/head", drawn(1, 0.03))
    row = found(repository.call("compare", "base", "feature/head", *MARGIN, "--seeds", "10", "--json"))
    assert (row["verdict"], row["exit_code"], row["n"]) == ("worse", 1, 10)
    d = (drawn(0) - drawn(1, 0.03))[:10]
    expected = stats.ttest_1samp(d, 0)
    assert (row["ci_low"], row["ci_high"]) == pytest.approx(expected.confidence_interval(0.95))
    assert not repository.left_behind
    # In turn, and each side first as often as the other.
    order = [line["commit"] for line in repository.lines(KEPT)]
    assert [name.startswith("base (") for name in order[:8]] == [False, True, True, False] * 2


# Twenty runs of each commit are five, four times, with or without the jitter of a GPU.
@pytest.mark.slow
@pytest.mark.parametrize("jitter", [0.0, 1e-8])
def test_seeds_that_repeat_earlier_ones_are_no_further_evidence(tmp_path, jitter):
    made = Repository(tmp_path / "repository")
    noise = np.random.default_rng(5).normal(size=(2, 20)) * jitter
    base = np.tile([1.0123451, 0.9912347, 1.0034562, 0.9851233, 1.0209874], 4) + noise[0]
    head = np.tile([0.9871236, 0.9877653, 0.9789124, 0.9916245, 1.0102347], 4) + noise[1]
    made.losses("base", base)
    made.losses("head", head)
    row = found(made.call("compare", "base", "head", "--margin", "0.002", "--seeds", "20", "--json"))
    expected = stats.ttest_1samp((base - head)[:5], 0).confidence_interval(0.95)
    assert stats.ttest_1samp(base - head, 0).pvalue < 0.01
    assert (row["n"], row["verdict"], row["exit_code"]) == (5, "inconclusive", 3)
    assert (row["ci_low"], row["ci_high"]) == pytest.approx(expected, abs=1e-6)
    assert "15 of 20 seeds repeat the numbers of earlier seeds in both commits" in row["notes"][0]
    text = made.call("compare", "base", "head", "--margin", "0.002", "--seeds", "20").stdout
    assert "; 5 seeds each" in text
    assert "; 5 seeds detect" in text


@pytest.mark.slow
def test_seeds_that_repeat_in_one_commit_alone_are_named(tmp_path):
    made = Repository(tmp_path / "repository")
    made.losses("base", np.tile([1.0123451, 0.9912347, 1.0034562, 0.9851233, 1.0209874], 4))
    made.losses("head", drawn(1) + 1e-7 * np.arange(200))
    row = found(made.call("compare", "base", "head", *MARGIN, "--seeds", "20", "--json"))
    assert row["n"] == 20
    assert "some runs of base" in row["notes"][0]


@pytest.mark.slow
def test_accuracies_that_are_equal_by_chance_are_all_evidence(tmp_path):
    made = Repository(tmp_path / "repository")
    accuracies = np.random.default_rng(3).binomial(100, 0.9, size=(2, 20)) / 100
    made.losses("base", accuracies[0])
    made.losses("head", accuracies[1])
    row = found(made.call("compare", "base", "head", *MARGIN, "--seeds", "20", "--json"))
    assert row["n"] == 20
    assert not any("numbers of" in note or "same numbers" in note for note in row["notes"])


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize(
    ("losses", "verdict", "code"),
    [
        (drawn(1), "equivalent", 0),
        (drawn(1, -0.05), "better", 0),
        (None, "equivalent", 0),  # Its files are others, no run differs.
        (drawn(1, -0.008), "not worse", 0),
        (drawn(1, 0.01), "inconclusive", 3),
    ],
)
def test_what_is_not_worse_ends_well(repository, losses, verdict, code):
    if losses is None:
        repository.commit("head", notes_txt="nothing else")
    else:
        repository.losses("head", losses)
    seeds = "4" if code == 3 or verdict == "not worse" else "5:20"
    done = repository.call("compare", "base", "head", *MARGIN, "--seeds", seeds)
    assert done.returncode == code
    assert f": {verdict}\n" in done.stdout
    if verdict == "better":
        assert re.search(r"difference −0\.0\d+ \[−0\.\d+, −0\.\d+\] at .*, less is better", done.stdout)


@pytest.mark.slow
def test_a_look_that_settles_it_is_the_last(repository):
    repository.losses("head", drawn(1, 0.3))
    row = found(repository.call("compare", "base", "head", *MARGIN, "--seeds", "5:20", "--json"))
    assert (row["n"], row["level"]) == (5, pytest.approx(1 - 0.05 / 10))


@pytest.mark.slow
def test_a_run_that_fails_leaves_it_unmeasured_and_finished_runs_are_kept(repository):
    losses = drawn(1)
    losses[3] = np.nan
    repository.losses("head", losses)
    done = repository.call("compare", "base", "head", *MARGIN, "--seeds", "5")
    assert done.returncode == 4
    assert "head" in done.stderr
    assert "seed 3" in done.stderr
    assert ["run" in line for line in repository.lines(KEPT)] == [True] * 7 + [False]
    broken = repository.call(
        "compare", "base", "head", *MARGIN, "--", "sh", "-c", "echo so it ends; exit {seed}3"
    )
    assert broken.returncode == 4
    assert "exit code 3" in broken.stderr
    assert "so it ends" in broken.stderr
    missing = repository.call("compare", "base", "head", *MARGIN, "--", "no-such-program", "{seed}")
    assert (missing.returncode, "no-such-program" in missing.stderr) == (4, True)


def test_after_a_kill_it_goes_on(repository, monkeypatch):
    repository.losses("head", drawn(1))
    # Once, the run under seed 2 ends the process that started it.
    killed = f'mkdir "$HOME/killed"; then {KILL_DRIVER}; sleep 9; fi'
    script = f'if [ {{seed}} = 2 ] && {killed}; exec "$@"'
    call = ("compare", "base", "head", *MARGIN, "--seeds", "5", "--", "sh", "-c", script, "sh", *PRINTED)
    monkeypatch.setenv("HOME", str(repository.folder.parent))
    assert repository.call(*call, fresh=True).returncode == -signal.SIGKILL
    kept = repository.lines(KEPT)
    assert len(kept) == 4
    assert not repository.left_behind
    assert repository.call(*call).returncode == 0
    assert not repository.left_behind
    assert repository.lines(KEPT)[:4] == kept
    assert len({(line["commit"], line["seed"]) for line in repository.lines(KEPT)}) == 10


@pytest.mark.slow
def test_a_kill_leaves_the_repository_as_it_was_and_the_next_call_tidies_up(
    repository, monkeypatch, tmp_path
):
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setenv("TMPDIR", str(place))
    # Checking out takes a while, and a hook would run where git makes a work tree.
    git(repository.folder, "config", "filter.slow.smudge", "sleep 2; cat")
    hook = repository.folder / ".git/hooks/post-checkout"
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/hook\n")
    hook.chmod(0o755)
    (repository.folder / ".gitattributes").write_text("part/* filter=slow\n")
    repository.commit("head", **{"part/x_txt": ""})
    before = registered(repository)
    words = ["compare", "base", "head", *MARGIN, "--seeds", "2", "--read", r"loss=^loss: (\S+)"]
    command = [sys.executable, "-m", "ablate", *words, "--direction", "min", "--", *PRINTED]
    with subprocess.Popen(command, cwd=repository.folder) as process:
        while not list(place.glob("ablate-commits-*/head/.git")):
            time.sleep(0.02)
        process.kill()
    assert list(place.glob("ablate-commits-*"))
    assert registered(repository) == before
    assert repository.call(*words, "--", *PRINTED, fresh=True).returncode in (0, 3)
    assert not list(place.iterdir())
    assert registered(repository) == before
    assert not (tmp_path / "hook").exists()


def registered(repository):
    """What the user's repository knows, but for its index, which git refreshes."""
    files = sorted(path for path in (repository.folder / ".git").rglob("*") if path.name != "index")
    return files, git(repository.folder, "worktree", "list"), git(repository.folder, "for-each-ref")


def test_commits_of_the_same_files_differ_by_nothing_and_run_once(repository):
    repository.commit("other", notes_txt="")
    (repository.folder / "notes.txt").unlink()
    repository.commit("back")  # Another commit of the same files.
    row = found(repository.call("compare", "base", "back", "--margin", "1e-9", "--json"))
    assert (row["verdict"], row["exit_code"], row["n"]) == ("equivalent", 0, 5)
    assert (row["diff"], row["ci_low"], row["ci_high"], len(row["notes"])) == (0, 0, 0, 1)
    assert [line["seed"] for line in repository.lines(KEPT)] == [0, 1, 2, 3, 4]


@pytest.mark.slow
def test_an_interruption_says_what_is_kept(repository):
    repository.losses("head", drawn(1))
    script = '[ {seed} = 1 ] && sleep 60; exec "$@"'
    words = ["compare", "base", "head", *MARGIN, "--read", r"loss=^loss: (\S+)", "--direction", "min"]
    command = [sys.executable, "-m", "ablate", *words, "--", "sh", "-c", script, "sh", *PRINTED]
    with subprocess.Popen(command, cwd=repository.folder, stderr=subprocess.PIPE, text=True) as process:
        while not (repository.folder / KEPT).exists() or len(repository.lines(KEPT)) < 2:
            time.sleep(0.05)
        process.terminate()
        said = process.communicate()[1]
    assert process.returncode == 130
    assert "what was finished is kept" in said
    assert not repository.left_behind


# Goes on from what lies beside it: a run that finds more than its commit has fails.
GOES_ON = (
    'test ! -e checkpoint && test "$(wc -l < log.txt)" = 1 && test -e data/noise.txt && '
    "test ! -e data/processed && mkdir data/processed && echo {seed} > data/processed/x && "
    "echo {seed} > checkpoint && echo {seed} >> log.txt && "
    'sed -n "s/^{seed} /loss: /p" ../losses.txt && git rev-parse HEAD'
)


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize("command", ["compare", "gate"])
def test_a_run_finds_nothing_that_an_earlier_one_left(repository, command):
    """A checkpoint of the user's, ignored or not; one that a run writes, also beside its data; a tracked log."""
    (repository.folder / ".git/info/exclude").write_text("results/\nlocks/\n*.jsonl\ndata/\n")
    (repository.folder / "part/data").mkdir(parents=True)
    (repository.folder / "part/data/noise.txt").write_text("")
    repository.commit("with-log", **{"part/log_txt": "0\n"})
    repository.losses("second", drawn(1, 0.05))
    for folder in (repository.folder, repository.folder / "part"):
        (folder / "checkpoint").write_text("left by hand")
    repository.folder /= "part"
    words = ("--link", "data", "--", "sh", "-c", GOES_ON)
    if command == "compare":
        row = found(
            repository.call("compare", "with-log", "second", *MARGIN, "--json", "--seeds", "5", *words)
        )
        lines = repository.lines(KEPT)
        assert (row["verdict"], row["n"]) == ("worse", 5)
    else:
        done = repository.call("gate", "tries.jsonl", "--base", "with-log", "--head", "second", *words)
        lines = [line for line in repository.lines("tries.jsonl") if "run" in line]
        assert done.returncode == 1, done.stderr
    for line in lines:
        side = drawn(1, 0.05) if line["commit"].startswith("second") else drawn(0)
        assert line["value"] == side[line["seed"]]
    assert (repository.folder / "checkpoint").read_text() == "left by hand"
    assert git(repository.folder, "status", "--porcelain", "--untracked-files=no") == ""
    assert not repository.left_behind


def with_data(repository):
    (repository.folder / ".git/info/exclude").write_text("results/\nlocks/\n*.jsonl\ndata/\nother\n")
    (repository.folder / "data").mkdir()
    (repository.folder / "data/a.txt").write_text("a")
    (repository.folder / "data/b.txt").write_text("b")
    repository.losses("head", drawn(1))


@pytest.mark.slow
@pytest.mark.parametrize("command", ["compare", "gate"])
def test_a_run_that_changes_linked_data_ends_the_call_and_other_data_are_other_runs(repository, command):
    with_data(repository)
    if command == "compare":
        call = ("compare", "base", "head", *MARGIN, "--seeds", "5", "--link", "data", "--")
        kept = KEPT
    else:
        call = ("gate", "tries.jsonl", "--base", "base", "--head", "head", "--link", "data", "--")
        kept = "tries.jsonl"
    # It changes a file of the data once only, which its arguments do not say.
    once = repository.folder.parent / "changed"
    script = f'if [ {{seed}} = 1 ] && mkdir {once}; then echo c > data/b.txt; fi; exec "$@"'
    words = ("sh", "-c", script, "sh", *PRINTED)
    done = repository.call(*call, *words)
    assert done.returncode == 4
    assert "--link data: changed since the first run began: data/b.txt" in done.stderr
    finished = [line["seed"] for line in repository.lines(kept) if "run" in line]
    assert 1 not in finished[-1:]
    # What ran with the data as they were counts no longer.
    assert repository.call(*call, *words).returncode in (0, 1, 3)
    seeds = [line["seed"] for line in repository.lines(kept) if "run" in line]
    assert seeds.count(0) > finished.count(0)
    if command == "compare":
        assert repository.call(*call, *words).returncode in (0, 1, 3)
        assert len(repository.lines(kept)) == len(seeds) + 1
    (repository.folder / "data/a.txt").write_text("d")
    done = repository.call(*call, *words)
    if command == "gate":
        assert (done.returncode, "tries.jsonl" in done.stderr) == (2, True)
    else:
        assert len(repository.lines(kept)) == len(seeds) + 11


def test_what_runs_add_to_the_original_data_is_named(repository):
    with_data(repository)
    script = f'touch {repository.folder}/data/new.txt; test ! -e data/new.txt && exec "$@"'
    call = ("compare", "base", "head", *MARGIN, "--seeds", "2", "--link", "data", "--")
    done = repository.call(*call, "sh", "-c", script, "sh", *PRINTED)
    assert done.returncode in (0, 1, 3), done.stderr
    assert done.stderr.count("data/new.txt: was added") == 1


TRAIN = """
import os, random, sys
import part
seed = int(sys.argv[1])
open("data/noise.txt").read()
os.environ["OWN"]
print("loss:", part.LOSS + random.Random(seed).gauss(0, 0.01))
"""


@pytest.mark.slow
def test_python_loads_what_its_commit_has_or_is_refused(repository, monkeypatch, tmp_path):
    (repository.folder / ".gitignore").write_text("data/\n")
    (repository.folder / "data").mkdir()
    (repository.folder / "data/noise.txt").write_text("")
    # One that Python runs at its start, too.
    own = {"src/sitecustomize_py": "import os; os.environ['OWN'] = ''"}
    repository.commit("first", **{"train_py": TRAIN, "src/part_py": "LOSS = 1.5\n", **own})
    repository.commit("second", **{"src/part_py": "LOSS = 1.6\n"})
    call = ("compare", "first", "second", *MARGIN, "--seeds", "5", "--link", "data")
    command = ("--", sys.executable, "train.py", "{seed}")
    monkeypatch.setenv("PYTHONPATH", "src")
    assert repository.call(*call, *command).returncode == 1
    assert "noise.txt" in repository.call(*call[:-2], *command).stderr
    # As an editable install of the checkout does, and one of another work tree of the repository.
    elsewhere = tmp_path / "elsewhere"
    git(repository.folder, "worktree", "add", "-q", "--detach", str(elsewhere))
    for folder in (repository.folder, elsewhere):
        monkeypatch.setenv("PYTHONPATH", str(folder / "src"))
        done = repository.call(*call, "--results", folder.name, *command)
        assert done.returncode == 4
        assert f"{folder / 'src/part.py'} was loaded" in done.stderr
    script = str(repository.folder / "train.py")
    monkeypatch.setenv("PYTHONPATH", "src")
    done = repository.call(*call, "--results", "absolute", "--", sys.executable, script, "{seed}")
    assert (done.returncode, f"{script} was loaded" in done.stderr) == (4, True)


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("base", "nowhere", *MARGIN), "nowhere"),
        (("base", "HEAD^{tree}", *MARGIN), "names no commit"),
        (("base", "head:losses.txt", *MARGIN), "names no commit"),
        (("base", "base..head", *MARGIN), "names no commit"),
        (("base", "", *MARGIN), "names no commit"),
        (("base", "h\udcff", *MARGIN), "must be UTF-8"),
        (("base", "head", *MARGIN, "--link", "pipe.jsonl"), "--link pipe.jsonl: is a pipe"),
        (
            ("base", "head", *MARGIN, "--link", "/dev/zero"),
            "--link /dev/zero: is a pipe, a socket or a device",
        ),
        (("base", "head", *MARGIN, "--read", "step=(x)"), "--read: is not the name of a metric"),
        (("base", "head", *MARGIN, "--", "echo", "{seed:999999999}"), "at most 3 digits"),
        (("base", "head", *MARGIN, "--seeds", "5:12"), "5:12"),
        (("base", "head", *MARGIN, "--seeds", "1"), "'1'"),
        (("base", "head", "--margin", "0"), "--margin"),
        (("base", "head", "--margin", "inf"), "--margin"),
        (("base", "head", "--margin", "nan"), "--margin"),
        (("base", "head", *MARGIN, "--seeds", "5:99999999999995"), "at most 1000"),
        (("base", "head", *MARGIN, "--link", "losses.txt"), "--link losses.txt: is in base"),
        (("base", "head", *MARGIN, "--link", ".."), "--link ..: contains"),
        (("base", "head", *MARGIN, "--read", "loss=loss"), "--read: has 0 groups"),
        (("base", "head", *MARGIN, "--", "echo", "{lr}", "{seed}"), "{lr}"),
        (("base", "head", *MARGIN, "--", "printf", "loss: 1\\n%.0s", "{seed}"), "with different seeds"),
    ],
)
def test_a_mistake_in_the_call_is_explained(repository, words, said):
    repository.losses("head", drawn(1))
    os.mkfifo(repository.folder / "pipe.jsonl")
    done = repository.call("compare", *words)
    assert done.returncode == 2
    assert said in done.stderr
    assert not repository.left_behind


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("mkdir $ABLATE_DIR/x.json", "x.json is a folder"),
        ("mkfifo $ABLATE_DIR/files-1.txt; echo loss: 1e999", "loss is inf"),
        ("printf '\\377\\0' > $ABLATE_DIR/files-1.txt; echo loss: none", "'none' is not a number"),
        ("echo 'ablate metrics: [1'", "cannot be read as JSON"),
        ("echo loss: 2; python -c 'raise OSError'; true", "its last lines are those of a run that failed"),
        ("rm -r $ABLATE_DIR; echo > $ABLATE_DIR", "loss was not read"),
    ],
)
def test_what_a_command_leaves_is_a_number_or_an_error(repository, script, said):
    done = repository.call("compare", "base", "base", *MARGIN, "--", "sh", "-c", f"{script} # {{seed}}")
    assert done.returncode == 4
    assert said in done.stderr


def test_changes_that_are_in_no_commit_and_folders_without_a_repository_are_refused(repository, tmp_path):
    repository.losses("head", drawn(1))
    (repository.folder / "losses.txt").write_text("0 1\n")
    done = repository.call("compare", "base", "head", *MARGIN)
    assert (done.returncode, "losses.txt" in done.stderr) == (2, True)
    repository.folder = tmp_path
    assert repository.call("compare", "base", "head", *MARGIN).returncode == 2


@pytest.mark.slow
def test_a_head_that_changes_what_measures_it_or_takes_longer_is_said_so(tmp_path):
    repository = Repository(tmp_path / "repository")
    script = "import sys, time, evaluate; time.sleep(evaluate.SLEEP); print('loss:', evaluate.loss(int(sys.argv[1])))"
    repository.commit("base", train_py=script, evaluate_py="SLEEP = 0\ndef loss(seed): return 1 + seed / 8")
    repository.commit(
        "head", evaluate_py="SLEEP = 0.6\ndef loss(seed): return 0.5 + seed / 8 + seed % 2 / 64"
    )
    call = ("compare", "base", "head", *MARGIN, "--seeds", "2", "--json")
    row = found(repository.call(*call, "--", sys.executable, "train.py", "{seed}"))
    assert row["changed_measures"] == ["evaluate.py"]
    assert row["time_ratio"] > 1.5
    assert len(row["notes"]) == 2


@pytest.mark.slow
def test_another_call_on_the_same_commits_names_the_earlier_answers(repository):
    repository.commit("base2", eval_py="")
    repository.losses("head", drawn(1, 0.01))
    call = ("compare", "base2", "head", "--json", "--measures", "eval.py", "--margin")
    assert not found(repository.call(*call, "0.02", "--seeds", "8"))["notes"]
    assert not found(repository.call(*call, "0.02", "--seeds", "8"))["notes"]
    (note,) = found(repository.call(*call, "0.02", "--seeds", "16"))["notes"]
    assert "--seeds 8 and margin 0.02: " in note
    assert "probability 0.08" in note
    (note,) = found(repository.call(*call, "0.05", "--seeds", "8"))["notes"]
    assert "--seeds 8 and margin 0.02: " in note
    (note,) = found(repository.call(*call, "0.05", "--seeds", "8"))["notes"]
    assert "--seeds 16 and margin 0.02: " in note


@pytest.mark.slow
def test_heads_that_were_tried_before_on_the_same_base_are_counted_with_their_level(repository):
    repository.commit("measured", eval_py="")
    call = ("compare", *MARGIN, "--seeds", "8", "--json", "--measures", "eval.py")
    notes = []
    for number in range(1, 9):
        repository.losses(f"head{number}", drawn(number))
        notes.append(" ".join(found(repository.call(*call, "measured", f"head{number}"))["notes"]))
    assert notes[0] == ""
    assert "1 other comparison" in notes[1]
    assert "head1 (" in notes[1]
    levels = [float(re.search(r"probability (0\.\d+)", note)[1]) for note in notes[1:]]
    assert (levels[1], levels[6]) == (pytest.approx(0.13, abs=0.006), pytest.approx(0.27, abs=0.008))
    # Another base shares nothing, unless a head is the same.
    repository.losses("base2", drawn(20))
    repository.losses("head20", drawn(21))
    assert found(repository.call(*call, "base2", "head20"))["notes"] == []
    (note,) = found(repository.call(*call, "base2", "head1"))["notes"]
    assert "head1 (" in note


@pytest.mark.slow
def test_the_same_commits_measured_by_other_words_are_other_runs(repository):
    repository.commit("measured", eval_py="")
    repository.losses("head", drawn(1))
    call = ("compare", "measured", "head", *MARGIN, "--seeds", "5", "--json", "--measures", "eval.py", "--")
    for number in range(1, 5):
        words = ("sh", "-c", 'exec "$@"', f"tag{number}", *PRINTED)
        notes = found(repository.call(*call, *words))["notes"]
    (note,) = notes
    assert "3 other comparisons used runs of these commits before: head (" in note
    assert "(3 times)" in note
    level = float(re.search(r"probability (0\.\d+)", note)[1])
    assert level == pytest.approx(1 - 0.95**4, abs=0.006)


@pytest.mark.slow
def test_answers_of_older_versions_count_as_measured_by_this_call(repository):
    repository.commit("measured", eval_py="")
    call = ("compare", *MARGIN, "--seeds", "8", "--json", "--measures", "eval.py", "measured")
    repository.losses("head1", drawn(1))
    found(repository.call(*call, "head1"))
    kept = repository.folder / KEPT.replace(".jsonl", ".answers.jsonl")
    (line,) = repository.lines(kept.relative_to(repository.folder))
    older = {name: value for name, value in line.items() if name not in ("digest", "measured")}
    kept.write_text(json.dumps(older) + "\n")
    repository.losses("head2", drawn(2))
    (note,) = found(repository.call(*call, "head2"))["notes"]
    level = float(re.search(r"probability (0\.\d+)", note)[1])
    assert level == pytest.approx(0.091, abs=0.004)  # Two variants by the same runs of a baseline.


@pytest.mark.slow
def test_runs_that_failed_until_they_went_well_are_counted(repository, monkeypatch):
    repository.losses("head", drawn(1))
    monkeypatch.setenv("HOME", str(repository.folder.parent))
    # Each run of the head fails once.
    is_head = f"grep -q '^0 {drawn(1)[0]}$' losses.txt"
    script = f'if {is_head} && mkdir "$HOME/{{seed}}"; then exit 1; fi; exec "$@"'
    call = ("compare", "base", "head", *MARGIN, "--seeds", "3", "--json")
    call = (*call, "--", "sh", "-c", script, "sh", *PRINTED)
    codes = [repository.call(*call).returncode for _ in range(3)]
    assert codes == [4, 4, 4]
    note = " ".join(found(repository.call(*call))["notes"])
    assert "3 of the head and 0 of the base" in note


@pytest.mark.slow
@pytest.mark.parametrize("jobs", ["1", "4"])
def test_two_commands_at_one_commit_are_compared(repository, jobs):
    shifted = ("sh", "-c", 'sed -n "s/^$(({seed} + 50)) /loss: /p" losses.txt', "sh", "{seed}")
    call = ("compare", "base", *MARGIN, "--seeds", "8", "--json", "--jobs", jobs)
    done = repository.call(*call, "--base-command", "sed -n 's/^{seed} /loss: /p' losses.txt", "--", *shifted)
    row = found(done)
    d = (drawn(0) - np.roll(drawn(0), -50))[:8]
    assert (row["n"], row["diff"]) == (8, pytest.approx(d.mean()))
    assert row["base"].startswith("base (")
    assert row["base"].endswith("with `sed -n 's/^{seed} /loss: /p' losses.txt`")
    assert "with `sh -c" in row["head"]
    runs = [line for line in repository.lines(KEPT) if "run" in line]
    assert len({line["run"] for line in runs}) == len(runs) == 16
    # The runs of a command are those of the same command elsewhere.
    repository.losses("head", drawn(1))
    repository.call("compare", "base", "head", *MARGIN, "--seeds", "8", "--json")
    assert len([line for line in repository.lines(KEPT) if "run" in line]) == 24
    notes = found(repository.call("compare", "base", "head", *MARGIN, "--seeds", "8", "--json"))["notes"]
    assert "1 other comparison used runs of these commits" in notes[0]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("base", "head", "--base-command", "echo {seed}", "--", "echo", "{seed}"), "leave 'head' out"),
        (("base", "--base-command", "echo 'a", "--", "echo", "{seed}"), "cannot be split"),
        (("base", "--base-command", "", "--", "echo", "{seed}"), "names no program"),
        (("base", "--base-command", "echo {seed}", "--", "echo", "{seed}"), "is the same as the command"),
        (("base", "--base-command", "echo {lr}", "--", "echo", "{seed}"), "--base-command: {lr} has"),
        (("base", "--base-command", "echo {seed}"), "Missing argument"),
    ],
)
def test_a_mistake_in_a_command_of_the_base_is_explained(repository, words, said):
    repository.losses("head", drawn(1))
    at = words.index("--") if "--" in words else len(words)
    call = ("compare", *words[:at], *MARGIN, "--read", "loss", "--direction", "min", *words[at:])
    done = ablate_here(*call, cwd=repository.folder)
    assert (done.returncode, said in done.stderr) == (2, True), done.stderr


@pytest.mark.slow
def test_several_runs_at_once_have_the_same_numbers_and_end_when_interrupted(repository):
    repository.losses("head", drawn(1, 0.03))
    call = ("compare", "base", "head", *MARGIN, "--seeds", "6", "--json")
    one = found(repository.call(*call, "--results", "one"))
    several = found(repository.call(*call, "--results", "several", "--jobs", "4"))
    assert several == {**one, "time_ratio": several["time_ratio"]}
    script = '[ {seed} -gt 1 ] && sleep 60; exec "$@"'
    words = ["compare", "base", "head", *MARGIN, "--read", r"loss=^loss: (\S+)", "--direction", "min"]
    command = [
        sys.executable,
        "-m",
        "ablate",
        *words,
        "--jobs",
        "4",
        "--",
        "sh",
        "-c",
        script,
        "sh",
        *PRINTED,
    ]
    with subprocess.Popen(command, cwd=repository.folder, stderr=subprocess.PIPE, text=True) as process:
        while not (repository.folder / KEPT).exists() or len(repository.lines(KEPT)) < 4:
            time.sleep(0.05)
        began = time.monotonic()
        process.terminate()
        said = process.communicate()[1]
    assert time.monotonic() - began < 30
    assert process.returncode == 130
    assert "what was finished is kept" in said


@pytest.mark.slow
def test_of_several_runs_at_once_those_that_end_after_a_failure_are_kept(repository):
    losses = drawn(1)
    losses[0] = np.nan
    repository.losses("head", losses)
    script = '[ {seed} = 1 ] && sleep 2; exec "$@"'
    words = ("--", "sh", "-c", script, "sh", *PRINTED)
    done = repository.call("compare", "base", "head", *MARGIN, "--seeds", "8", "--jobs", "4", *words)
    assert done.returncode == 4
    lines = repository.lines(KEPT)
    assert [line["seed"] for line in lines if "failed" in line] == [0]
    assert {line["seed"] for line in lines if "run" in line} <= {0, 1, 2}
    assert [line["seed"] for line in lines if "run" in line].count(1) == 2
