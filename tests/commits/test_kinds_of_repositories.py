"""`ablate compare` and `ablate gate` in repositories of several kinds, through the command line."""

import json
import sys

import pytest
from committed import PRINTED, Repository, drawn, git

COMPARE = ("compare", "base", "head", "--margin", "0.02", "--seeds", "3", "--json")


@pytest.mark.slow
def test_runs_write_nothing_into_the_repository_of_a_hook_that_calls(tmp_path, monkeypatch):
    repository = Repository(tmp_path / "repository")
    repository.losses("base", drawn(0))
    repository.losses("head", drawn(1))
    before = (git(repository.folder, "tag"), git(repository.folder, "config", "--list", "--local"))
    place = repository.folder / ".git"
    monkeypatch.setenv("GIT_DIR", str(place))
    monkeypatch.setenv("GIT_INDEX_FILE", str(place / "index"))
    monkeypatch.setenv("GIT_WORK_TREE", str(repository.folder))
    writes = "git tag left-{seed} && git config own.run {seed} && touch new && git add new"
    done = repository.call(*COMPARE, "--", "sh", "-c", f"{writes}; sed -n 's/^{{seed}} /loss: /p' losses.txt")
    assert done.returncode in (0, 1, 3), done.stderr
    monkeypatch.undo()
    assert (
        git(repository.folder, "tag"),
        git(repository.folder, "config", "--list", "--local"),
    ) == before
    assert not git(repository.folder, "status", "--porcelain")


@pytest.mark.slow
def test_changed_measures_do_not_depend_on_settings_of_git(tmp_path):
    repository = Repository(tmp_path / "repository")
    repository.commit("first", evaluate_py="1", **{"jobs/losses_txt": ""})
    lines = [f"{seed} {value}\n" for seed, value in enumerate(drawn(0))]
    repository.commit("base", evaluate_py="1", **{"jobs/losses_txt": "".join(lines)})
    repository.commit("head", evaluate_py="2")
    git(repository.folder, "config", "diff.relative", "true")
    repository.folder = repository.folder / "jobs"
    done = repository.call(*COMPARE)
    assert json.loads(done.stdout)["changed_measures"] == ["evaluate.py"]


@pytest.mark.slow
def test_submodules_of_the_work_tree_are_in_the_copies_at_the_commit_that_each_side_names(tmp_path):
    inner = Repository(tmp_path / "inner")
    inner.losses("old", drawn(0))
    outer = Repository(tmp_path / "outer")
    add = ("submodule", "add", "-q", str(inner.folder), "inner")
    git(outer.folder, "-c", "protocol.file.allow=always", *add)
    outer.commit("base")
    inner.losses("new", drawn(0) - 1 + 0.01 * drawn(1))
    git(outer.folder / "inner", "pull", "-q")
    outer.commit("head")
    done = outer.call(*COMPARE, "--", *PRINTED[:-1], "inner/losses.txt")
    assert json.loads(done.stdout)["verdict"] == "better", done.stderr
    assert not git(outer.folder, "status", "--porcelain")


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize("scale", [1e-200, 1e-70, 1e70, 1e200])
def test_numbers_whose_squares_are_no_floats_are_refused_and_the_ledger_stays_readable(scale, tmp_path):
    repository = Repository(tmp_path / "repository")
    repository.losses("base", drawn(0) * scale)
    repository.losses("head", drawn(1) * scale)
    for _ in range(2):
        done = repository.call("gate", "tries.jsonl", "--base", "base", "--head", "head")
        assert done.returncode == (2 if scale < 1 else 4)
        assert "Traceback" not in done.stderr
        assert "Restore the ledger" not in done.stderr


def test_a_number_with_an_underscore_is_none(tmp_path):
    repository = Repository(tmp_path / "repository")
    repository.commit("base", train_py="print('loss: 1_0')")
    repository.commit("head", train_py="print('loss: 1_1')")
    done = repository.call(*COMPARE, "--", sys.executable, "train.py")
    assert done.returncode == 4
