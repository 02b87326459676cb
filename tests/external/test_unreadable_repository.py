"""A study in a repository that git does not read: only git knows which files it ignores, so it is refused."""

from isolated import committed, run, said, script, study


def test_a_repository_of_another_user_is_refused_not_taken_for_a_plain_folder(tmp_path, monkeypatch):
    folder = script(tmp_path / "own", "print('loss', 1)")
    (folder / "state.json").write_text("{}")
    committed(folder, "train.py", ignored="results/\nstate.json\n")
    study(folder, seeds=1)
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    done = run(folder)
    assert done.returncode == 2
    assert "safe.directory" in said(done)
    assert not (folder / "results/store/trials").exists()


def test_a_repository_that_is_gone_is_refused(tmp_path):
    folder = script(tmp_path / "own", "print('loss', 1)")
    (folder / ".git").write_text("gitdir: ../gone")
    study(folder, seeds=1)
    done = run(folder)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
