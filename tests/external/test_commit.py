"""The commit of a study of one's own code is that of its repository; that of ablate stands beside it."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from harness import ablate_here
from own import OWN, own_study

from ablate.records.folder import StudyFolder
from ablate.records.store import Store
from ablate.tracking.content import source_tags


def git(folder: Path, *arguments: str) -> str:
    words = ["git", "-C", str(folder), "-c", "user.name=t", "-c", "user.email=t@example.org", *arguments]
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout.strip()


@pytest.mark.slow
def test_record_report_and_show_have_both_commits(tmp_path):
    folder = Path(shutil.copytree(OWN, tmp_path / "own", ignore=shutil.ignore_patterns("__pycache__")))
    (folder / "study.yaml").write_text(json.dumps(own_study("function", seeds=1)))
    git(folder, "init", "-q")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "code")
    head = git(folder, "rev-parse", "HEAD")
    (folder / "notes.txt").write_text("not tracked")
    done = ablate_here("run", "study.yaml", "--jobs", "1", cwd=folder)
    assert done.returncode == 0, done.stderr

    study = StudyFolder(folder / "results", "own")
    trial = min(study.ids())
    environment = Store(folder / "results" / "store", print).load(trial).environment
    assert (environment["commit"], environment["dirty"]) == (head, False)
    assert environment["ablate_commit"] not in (None, head)
    page = (study.path / "report.md").read_text()
    shown = ablate_here("show", trial, cwd=folder).stdout
    for text in (page, shown):
        assert head in text
        assert environment["ablate_commit"] in text
    tags = source_tags(environment)
    assert tags["mlflow.source.git.commit"] == tags["commit"] == head
    assert (tags["dirty"], tags["ablate_commit"]) == ("false", environment["ablate_commit"])
