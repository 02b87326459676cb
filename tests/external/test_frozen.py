"""What a trial of one's own code gets of a repository, frozen and copied."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from ablate.base.errors import AblateError
from ablate.external import tree as trees
from ablate.external.data import check_unchanged, read_data
from ablate.external.frozen import freeze, make_copy
from ablate.external.repository import link_repository
from ablate.external.tree import read_tree, root_of


def git(folder: Path, *words: str) -> None:
    identity = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always")
    subprocess.run(["git", "-C", str(folder), *identity, *words], check=True, capture_output=True)


def said(folder: Path, *words: str) -> str:
    done = subprocess.run(["git", "-C", str(folder), *words], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def filled(folder: Path, **files: str) -> Path:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return folder


def repository(folder: Path, **files: str) -> Path:
    filled(folder, **files)
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "first")
    return folder


def copied(folder: Path, place: Path, **options: object) -> Path:
    make_copy(freeze(read_tree(folder, **options), place / "code"), place / "copy")  # type: ignore[arg-type]
    return place / "copy"


def names(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir()}


OF_A_RUN = {
    "out/ckpt.pt": "x",
    "out/state.json": "{}",
    "ckpt.pt": "x",
    "data.csv": "1",
    "big.json": "1" * 2**21,
}


def test_tracked_files_and_untracked_code_are_copied_and_what_a_run_has_left_is_not(tmp_path):
    tracked = {
        "train.py": "",
        "pkg/a=b:c.py": "",
        "model.ckpt": "tracked",
        ".hidden.json": "{}",
        "README.md": "",
    }
    root = repository(tmp_path / "repo", **tracked, **{".gitignore": "*.log\nignored.py\n"})
    filled(root, **OF_A_RUN, **{"new.py": "", "c.json": "{}", ".env": "A=1", "a.log": "", "ignored.py": ""})
    filled(root, **{"wandb/run.json": "{}", "clone/x.py": ""})
    git(filled(root / "clone"), "init", "-q")
    (root / "results/store/trials").mkdir(parents=True)
    filled(
        root, **{"results/store/trials/0.json": "{}", "results/own/study.yaml": "a: 1", "other.yaml": STUDY}
    )
    found = names(copied(root / "pkg", tmp_path / "place", results=root / "results"))
    assert found == {*tracked, ".gitignore", "new.py", "c.json", ".env", "clone/x.py"}


STUDY = "name: other\nworkload: {command: x}\nmetrics: {loss: min}\n"


def test_without_git_caches_are_left_out_too(tmp_path):
    root = filled(
        tmp_path / "own", **OF_A_RUN, **{"train.py": "", "c.yaml": "", "env/pyvenv.cfg": "", "env/x.py": ""}
    )
    filled(root, **{"__pycache__/a.py": "", "mlruns/0/meta.yaml": "", "study.yaml": STUDY})
    assert root_of(root) == root
    assert names(copied(root, tmp_path / "place")) == {"train.py", "c.yaml"}


def test_a_folder_that_its_repository_ignores_is_a_root_of_its_own(tmp_path):
    root = repository(tmp_path / "repo", **{".gitignore": "mine/\n", "mine/train.py": ""})
    assert root_of(root / "mine") == root / "mine"
    assert names(copied(root / "mine", tmp_path / "place")) == {"train.py"}


def test_links_point_where_they_did_and_submodules_come_with_it(tmp_path):
    outside = filled(tmp_path / "outside", **{"a.txt": "outside"})
    inner = repository(
        tmp_path / "inner", **{"lib.py": "", "weights.bin": "version https://git-lfs.github.com/spec/v1"}
    )
    root = repository(tmp_path / "repo", **{"train.py": "1"})
    for name, aim in {"inside": "train.py", "escaping": "../outside/a.txt", "absolute": str(outside)}.items():
        (root / name).symlink_to(aim)
    git(root, "submodule", "add", "-q", str(inner), "sub")
    git(root, "add", "-A")
    copy = copied(root, tmp_path / "place")
    assert os.readlink(copy / "inside") == "train.py"
    assert (copy / "escaping").read_text() == (copy / "absolute/a.txt").read_text() == "outside"
    assert (copy / "sub/lib.py").exists()
    assert (copy / "sub/weights.bin").read_text().startswith("version https")


def test_a_copy_is_ones_own_and_its_files_are_unread(tmp_path):
    root = repository(tmp_path / "repo", **{"train.py": "1", "run.sh": "2"})
    (root / "run.sh").chmod(0o755)
    copy = copied(root, tmp_path / "place")
    (copy / "train.py").write_text("changed")
    assert (root / "train.py").read_text() == (
        freeze(read_tree(root), tmp_path / "place/code") / "train.py"
    ).read_text()
    assert os.access(copy / "run.sh", os.X_OK)
    status = (copy / "run.sh").stat()
    assert status.st_atime_ns < status.st_mtime_ns == (root / "run.sh").stat().st_mtime_ns


def test_studies_in_another_folder_of_results_are_no_code(tmp_path):
    root = filled(tmp_path / "study", **{"train.py": "", "data/plan.json": "{}"})
    before = read_tree(root, root / "results").digest
    filled(
        root,
        **{
            "other/store/trials/0.json": "{}",
            "other/store/trials/0.npz": "",
            "other/store/studies/begun.json": "{}",
            "other/store/code/0/train.py": "",
            "other/begun/plan.json": "[]",
            "paper/copied/study.yaml": "a: 1",
            "paper/copied/trials.parquet": "",
            "paper/copied/comparisons.csv": "",
        },
    )
    assert read_tree(root, root / "results").digest == before
    assert names(copied(root, tmp_path / "place")) == {"train.py", "data/plan.json"}


def test_documents_change_what_is_copied_and_not_what_results_depend_on(tmp_path):
    root = repository(
        tmp_path / "repo", **{"train.py": "import torch, numpy\nfrom pkg import a\n", "README.md": ""}
    )
    before = read_tree(root)
    filled(root, **{"README.md": "new"})
    after = read_tree(root)
    assert (before.digest != after.digest, before.identity == after.identity) == (True, True)
    assert after.imports == {"torch", "numpy", "pkg"}
    (root / "train.py").chmod(0o755)
    assert read_tree(root).identity != before.identity


@pytest.mark.parametrize(
    "name", ["models/license_plate.py", "copying_task.py", "authors.json", "authors", "copying.txt"]
)
def test_a_name_that_begins_like_that_of_a_document_counts_as_any_other(name, tmp_path):
    root = repository(tmp_path / "repo", **{"train.py": "", name: "1"})
    before = read_tree(root)
    filled(root, **{name: "2"})
    assert (read_tree(root).identity == before.identity) == (name in ("authors", "copying.txt"))


def test_code_in_capitals_beside_a_checkpoint_is_copied(tmp_path):
    root = filled(tmp_path / "code", **{"train.py": "", "models/fit.R": "", "models/last.ckpt": ""})
    assert {*read_tree(root).files} == {"train.py", "models/fit.R"}


def test_data_that_are_too_large_to_digest_take_nothing_from_those_that_are_not(tmp_path, monkeypatch):
    monkeypatch.setattr("ablate.external.data.MAX_DIGESTED", 10)
    monkeypatch.setattr("ablate.external.data.MAX_DIGESTED_IN_ALL", 15)
    filled(tmp_path, **{"data/a.bin": "0" * 16, "data/z.csv": "1"})
    before = read_data("data", at=(), folder=tmp_path, root=tmp_path)
    filled(tmp_path, **{"data/z.csv": "2"})
    assert read_data("data", at=(), folder=tmp_path, root=tmp_path).identity != before.identity


def test_changed_data_are_named_in_any_number(tmp_path):
    filled(tmp_path, **{"data/a.csv": "1", "data/b.csv": "1"})
    entry = read_data("data", at=("data",), folder=tmp_path, root=tmp_path)
    filled(tmp_path, **{"data/a.csv": "12", "data/b.csv": "12"})
    with pytest.raises(AblateError, match=r"^data: changed [\w ]+: data/a.csv, data/b.csv\."):
        check_unchanged([entry])


def test_what_is_excluded_and_data_are_left_out(tmp_path):
    files = {"a/x.json": "", "a/b/y.json": "", "a/z.json": "", "data/d.json": "", "top.py": ""}
    root = repository(tmp_path / "repo", **files)
    found = read_tree(root / "a", exclude=["b", "x.*", "../top.py"], data=["../data"])
    assert {*found.files} == {"a/z.json"}


def test_too_much_to_copy_is_refused_with_the_heaviest_folders(tmp_path, monkeypatch):
    root = repository(tmp_path / "repo", **{f"big/{n}.py": "" for n in range(8)}, **{"train.py": ""})
    monkeypatch.setattr(trees, "MAX_FILES", 5)
    with pytest.raises(AblateError, match=r"9 files .* most are in big \(8 files"):
        read_tree(root)


@pytest.mark.parametrize("kind", ["main", "linked", "submodule", "unborn"])
def test_git_of_a_copy_finds_the_commit_and_what_is_done_there_changes_no_repository(kind, tmp_path):
    root = repository(tmp_path / "repo", **{"train.py": "1", ".gitignore": ""})
    if kind == "linked":
        git(root, "worktree", "add", "-q", "--detach", str(tmp_path / "linked"))
        root = tmp_path / "linked"
    elif kind == "submodule":
        outer = repository(tmp_path / "outer", **{"x.py": ""})
        git(outer, "submodule", "add", "-q", str(root), "sub")
        root = outer / "sub"
    elif kind == "unborn":
        root = filled(tmp_path / "new", **{"train.py": "1"})
        git(root, "init", "-q")
    copy = copied(root, tmp_path / "place")
    link_repository(root, copy)
    assert said(copy, "rev-parse", "--show-toplevel") == str(copy)
    if kind == "unborn":
        return
    git(root, "tag", "v1")
    shutil.rmtree(copy / ".git")
    link_repository(root, copy)
    first = said(root, "rev-parse", "HEAD")
    assert said(copy, "describe", "--tags") == "v1"
    assert said(copy, "config", "user.name") == said(root, "config", "user.name")
    before = [said(root, *words) for words in (("for-each-ref",), ("config", "--local", "--list"))]
    assert (said(copy, "rev-parse", "HEAD"), said(copy, "status", "--porcelain")) == (first, "")
    (copy / "train.py").write_text("2")
    git(copy, "commit", "-qam", "of a trial")
    git(copy, "tag", "made")
    git(copy, "branch", "made-by-a-trial")
    git(copy, "config", "user.name", "a trial")
    assert said(copy, "config", "user.name") == "a trial"
    assert [said(root, *words) for words in (("for-each-ref",), ("config", "--local", "--list"))] == before
    assert said(copy, "rev-parse", "HEAD~") == first
    assert (said(root, "rev-parse", "HEAD"), said(root, "status", "--porcelain")) == (first, "")
    assert (root / "train.py").read_text() == "1"


@pytest.mark.parametrize("others", [0, 40], ids=["by a loop", "by a program"])
def test_a_copy_has_the_links_modes_and_times_of_a_small_and_of_a_large_tree(tmp_path, others):
    root = filled(
        tmp_path / "repo", **{"run.sh": "", "pkg/a.py": "x = 1"}, **{f"{n}.py": "" for n in range(others)}
    )
    (root / "run.sh").chmod(0o750)
    (root / "pkg/link.py").symlink_to("a.py")
    os.utime(root / "pkg/a.py", ns=(1, 10**18 + 1))
    copy = copied(root, tmp_path / "place")
    assert names(copy) == names(root)
    assert os.readlink(copy / "pkg/link.py") == "a.py"
    for path in names(root):
        one, two = (root / path).lstat(), (copy / path).lstat()
        assert (one.st_mode, one.st_size) == (two.st_mode, two.st_size)
        if not (root / path).is_symlink():
            assert one.st_mtime_ns == two.st_mtime_ns
            assert two.st_atime_ns < two.st_mtime_ns
