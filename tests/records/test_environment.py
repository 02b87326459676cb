import subprocess
from pathlib import Path

import pytest

from ablate.records import environment as subject
from ablate.records.environment import command_line

environment = subject.environment.__wrapped__  # Without its cache.


def git(folder, *arguments):
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    subprocess.run(["git", "-C", str(folder), *identity, *arguments], check=True, capture_output=True)


@pytest.fixture
def checkout(tmp_path):
    git(tmp_path, "init", "-q")
    (tmp_path / "study.yaml").write_text("name: x\n")
    (tmp_path / "plugin.py").write_text("x = 1\n")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "all")
    return tmp_path


@pytest.fixture
def clean_package(monkeypatch):
    """The state of this checkout must not decide what the tests see."""
    original = subject._git
    own = str(Path(subject.__file__).resolve().parents[2])

    def git_elsewhere(folder, *arguments):
        return None if str(folder).startswith(own) else original(folder, *arguments)

    monkeypatch.setattr(subject, "_git", git_elsewhere)


@pytest.mark.usefixtures("clean_package")
def test_results_never_make_a_commit_dirty_but_study_and_plugins_do(checkout):
    watched = [checkout / "study.yaml", checkout / "plugin.py"]
    assert environment("ablate", watched)["dirty"] is False
    (checkout / "results").mkdir()
    (checkout / "results" / "x").write_text("new")
    found = environment("ablate", watched)
    assert found["dirty"] is False
    assert len(found["commit"]) == 40
    (checkout / "plugin.py").write_text("x = 2\n")
    assert environment("ablate", watched)["dirty"] is True
    assert environment("ablate", watched[1:])["dirty"] is True
    assert environment("ablate", watched[:1])["dirty"] is False


@pytest.mark.usefixtures("clean_package")
def test_outside_of_git_there_is_no_commit(tmp_path):
    found = environment("ablate run", [tmp_path / "study.yaml"])
    assert (found["commit"], found["dirty"]) == (None, None)
    assert found["command"] == "ablate run"
    assert found["versions"]["python"]


def test_a_password_on_the_command_line_is_not_kept():
    command = ["/usr/bin/ablate", "sweep", "a.yaml", "--storage", "postgresql://me:se@cret@host/db"]
    assert command_line(command).endswith("--storage 'postgresql://me:…@host/db'")
    assert command_line(["ablate", "run", "a b.yaml", "http://host/a@b"]).endswith(
        "run 'a b.yaml' http://host/a@b"
    )


def test_the_commit_of_own_code_is_that_of_its_repository(checkout):
    (checkout / "results").mkdir()
    (checkout / "results" / "page.html").write_text("old")
    git(checkout, "add", ".")
    git(checkout, "commit", "-q", "-m", "published")
    own = subject.OwnCode(checkout, checkout / "results")
    watched = (checkout / "study.yaml",)
    found = environment("ablate run", watched, own)
    ours = environment("ablate run", ())
    head = subprocess.run(
        ["git", "-C", str(checkout), "rev-parse", "HEAD"], capture_output=True, text=True, check=True
    )
    assert (found["commit"], found["dirty"]) == (head.stdout.strip(), False)
    assert (found["ablate_commit"], found["ablate_dirty"]) == (ours["commit"], ours["dirty"])
    assert "ablate_commit" not in ours

    # What git does not track, and results that it does, change nothing.
    (checkout / "notes.txt").write_text("new")
    (checkout / "results" / "page.html").write_text("new")
    assert environment("ablate run", watched, own)["dirty"] is False
    (checkout / "plugin.py").write_text("x = 2\n")
    assert environment("ablate run", watched, own)["dirty"] is True


def test_own_code_outside_of_git_has_no_commit(tmp_path):
    found = environment("ablate run", (), subject.OwnCode(tmp_path, tmp_path / "results"))
    assert (found["commit"], found["dirty"]) == (None, None)
