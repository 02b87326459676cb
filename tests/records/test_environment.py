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
