"""A secret in a URL of the command line is in no file that a command leaves, and in nothing that it prints."""

import subprocess
from pathlib import Path

import numpy as np
import pyarrow.parquet
import pytest
from harness import TOY_STUDY, ablate, prepare, with_database

from ablate.base.errors import StudyError

SECRET = "Hunter2secret"
SEARCH = "search: {over: {model.noise: {float: [0.05, 0.3]}}, trials: 2, seeds: 1, sampler: random}\n"


def content(path: Path) -> bytes:
    """A file's bytes; of a compressed one what is in it too."""
    found = path.read_bytes()
    if path.suffix == ".parquet":
        table = pyarrow.parquet.read_table(path)
        found += repr((table.schema.metadata, table.to_pylist())).encode()
    if path.suffix == ".npz":
        with np.load(path) as arrays:
            found += b"".join(arrays[name].tobytes() for name in arrays)
    return found


def assert_nowhere(folder: Path, *done: subprocess.CompletedProcess[str]) -> None:
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert len(files) > 10
    assert not [path for path in files if SECRET.encode() in content(path)]
    for process in done:
        assert SECRET not in process.stdout + process.stderr


@pytest.mark.slow
@pytest.mark.usefixtures("tracking")
def test_no_file_of_a_run_or_a_sweep_holds_a_secret(write, tmp_path):
    study, results = write(TOY_STUDY + SEARCH), tmp_path / "results"
    with_database(results / "store")
    uri = f"sqlite:///{tmp_path}/other.db?password={SECRET}"
    ran = ablate("run", study, "--seeds", 2, "--jobs", 1, "--tracking-uri", uri, cwd=tmp_path)
    trial = next((results / "store/trials").glob("*.json"))
    assert ran.returncode == 0
    assert f"MLflow: sqlite:///{tmp_path}/other.db?password=…" in ran.stdout
    swept = ablate("sweep", study, "--seeds", 2, "--jobs", 1, cwd=tmp_path)
    assert (swept.returncode, swept.stderr) == (0, "")
    shown = ablate("show", trial.stem, cwd=tmp_path)
    assert "password=…" in shown.stdout
    assert_nowhere(results, ran, swept, shown)


@pytest.mark.parametrize(
    "option",
    [
        f"search.storage=[postgresql://a-long-name-of-a-user-of-the-database-of-all-searches-here:{SECRET}@h/x]",
        f"search.storge=postgresql://me:{SECRET}@h/x",
        f"nonsense postgresql://me:{SECRET}@h/x",
        f"search={{storage: 'postgresql://h/x?token={SECRET}', trials: x}}",
        f"notse='{'x' * 170} postgresql://me:{SECRET}@h/x'",
    ],
)
def test_a_refusal_shows_no_secret(write, option):
    with pytest.raises(StudyError) as caught:
        prepare(write(TOY_STUDY + SEARCH), [option])
    assert SECRET[:6] not in str(caught.value)
