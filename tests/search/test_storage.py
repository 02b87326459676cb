"""Where Optuna keeps a search: how it is named, and that it opens for several at once."""

import json
import subprocess
import sys
from pathlib import Path

import optuna
import pytest
from sqlalchemy.exc import OperationalError

from ablate.search.quiet import quiet
from ablate.search.result import RESULT, result_of, sealed
from ablate.search.storage import StorageError, open_storage, storage_errors, url_of


def test_what_is_not_named_is_a_file_in_the_studys_folder(tmp_path: Path) -> None:
    assert url_of("journal:x.log", tmp_path) == "journal:x.log"
    assert url_of(None, tmp_path / "optuna.db") == f"sqlite:///{tmp_path}/optuna.db"
    assert url_of("sqlite:///x.db", tmp_path / "a?b") == "sqlite:///x.db"
    with pytest.raises(StorageError, match=r"below a name with '\?'; choose another --results"):
        url_of(None, tmp_path / "a?b")


@pytest.mark.parametrize("folder", ["plain", "with space", "with#hash", "deep/er"])
@pytest.mark.parametrize("kind", ["sqlite:///{}/x.db", "journal:{}/x.log"])
def test_what_is_written_is_there_when_it_is_opened_again(tmp_path: Path, folder: str, kind: str) -> None:
    url = kind.format(tmp_path / folder)
    with pytest.raises(StorageError, match="does not answer"):
        open_storage(url)  # A folder that is not there may be misspelt.
    (tmp_path / folder).mkdir(parents=True)
    with quiet():
        study = optuna.create_study(storage=open_storage(url), study_name="s")
        study.add_trial(optuna.create_trial(value=1.0))
        again = optuna.load_study(storage=open_storage(url), study_name="s")
    assert [trial.value for trial in again.trials] == [1.0]
    assert list((tmp_path / folder).iterdir())


def test_optuna_itself_opens_what_was_written(tmp_path: Path) -> None:
    """So does its dashboard."""
    url = f"sqlite:///{tmp_path}/x.db"
    with quiet():
        optuna.create_study(storage=open_storage(url), study_name="s")
        assert optuna.get_all_study_names(url) == ["s"]


@pytest.mark.slow
def test_processes_that_make_the_same_tables_at_once(tmp_path: Path) -> None:
    code = f"from ablate.search.storage import open_storage; open_storage('sqlite:///{tmp_path}/x.db')"
    started = [
        subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True) for _ in range(6)
    ]
    errors = [process.communicate(timeout=60)[1] for process in started]
    assert [process.returncode for process in started] == [0] * 6, errors


def test_a_storage_that_is_gone_is_an_error_of_the_user(tmp_path: Path) -> None:
    expected = r"storage a:…@b: no longer answers: .*; finished trials are kept"
    with pytest.raises(StorageError, match=expected), storage_errors("a:…@b"):
        raise OperationalError("select", {}, Exception("gone"))


@pytest.mark.parametrize("kind", ["folder", "dangling link"])
def test_what_is_no_file_is_named_with_what_to_do(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "optuna.db"
    path.mkdir() if kind == "folder" else path.symlink_to(tmp_path / "gone" / "x.db")
    with pytest.raises(StorageError, match=r"optuna.db is no file: move it away; the search is then"):
        open_storage(f"sqlite:///{path}")


@pytest.mark.parametrize("kind", ["cut", "flipped", "text"])
def test_a_file_that_is_damaged_is_named_with_what_to_do(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "optuna.db"
    url = f"sqlite:///{path}"
    with quiet():
        study = optuna.create_study(storage=open_storage(url), study_name="s")
        study.add_trials([optuna.create_trial(value=1.0)] * 50)
    whole = path.read_bytes()
    damaged = {
        "cut": whole[: len(whole) // 2],
        "flipped": whole[:1000] + bytes(60_000),
        "text": b"no database" * 99,
    }
    path.write_bytes(damaged[kind])
    with pytest.raises(StorageError, match=r"optuna.db is damaged: move it away; the search is then"):  # noqa: SIM117
        with storage_errors(url):
            optuna.load_study(storage=open_storage(url), study_name="s").get_trials()


def test_a_result_that_was_edited_in_the_storage_is_noticed() -> None:
    trial = optuna.create_trial(value=1.0)
    assert result_of(trial) == {}
    result = {"ids": ["a"], "values": {"accuracy": 0.5, "loss": float("nan")}, "by_seed": [0.5, None]}
    trial.set_user_attr(RESULT, json.loads(json.dumps(sealed(result))))
    assert result_of(trial)["values"]["accuracy"] == 0.5
    trial.user_attrs[RESULT]["values"]["accuracy"] = 0.6
    with pytest.raises(StorageError, match="was changed in its storage; move the storage away"):
        result_of(trial)
    trial.set_user_attr(RESULT, ["no mapping"])
    with pytest.raises(StorageError):
        result_of(trial)
    trial.set_user_attr(RESULT, result)  # before there was a digest
    assert result_of(trial)["ids"] == ["a"]
