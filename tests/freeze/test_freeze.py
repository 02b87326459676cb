"""The package does what is recorded."""

import shutil
from pathlib import Path

import pandas as pd
import pytest

from .compare import difference, same
from .recordings import COLUMNS, PUBLISHED, RECORDINGS, ROOT, SLOW, call, exact, path_of, rows


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else []) for name in RECORDINGS]
)
def test_it_does_what_is_recorded(name: str) -> None:
    found = difference(path_of(name), RECORDINGS[name]())
    assert not found, f"\n{found}"


def test_numbers_may_differ_by_rounding_and_by_nothing_else() -> None:
    assert same("a,0.1,b: 2", "a,0.10000000000001,b: 2")
    assert not same("a,0.1", "a,0.1001")
    assert not same("a 0x1.8p+1", "a 0x1.9p+1")
    assert not same("better,1", "worse,1")


@pytest.mark.slow
@pytest.mark.parametrize("study", PUBLISHED, ids=lambda path: path.name)
def test_a_report_says_it_too(study: Path, tmp_path: Path) -> None:
    """The whole command, on a copy of what is committed."""
    folder = tmp_path / study.name
    shutil.copytree(study, folder, ignore=shutil.ignore_patterns("figures", "report.*"))
    done = call("report", str(folder), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for name in ("claims", "speed"):
        path = folder / f"{name}.csv"
        frame = pd.read_csv(path, keep_default_na=False) if path.is_file() else pd.DataFrame()
        known = path_of(f"published-{name}").read_text().splitlines()[1:]
        columns = [column for column in COLUMNS[name] if column in {"study", *frame.columns}]
        assert len(frame) == sum(line.startswith(f"{study.name},") for line in known)
        assert len(frame) == 0 or len(rows(columns, frame.assign(study=study.name).to_dict("records"))) > 1


@pytest.mark.slow
def test_the_quickstart_trains_to_the_same_bits(tmp_path: Path) -> None:
    words = (
        "--only",
        "model.norm=batch",
        "--seed",
        "3",
        "--jobs",
        "1",
        "--set",
        "tune=null",
        "--set",
        "speed=off",
    )
    done = call(
        "run", str(ROOT / "studies" / "quickstart.yaml"), "--results", str(tmp_path), *words, cwd=ROOT
    )
    assert done.returncode in (0, 1), done.stderr
    (table,) = tmp_path.glob("*/trials.parquet")
    now = pd.read_parquet(table)
    published = pd.read_parquet(ROOT / "results" / "quickstart" / "trials.parquet")
    common = now.merge(published[["id"]], on="id")
    assert len(common)
    keys = ["variant", "seed"]
    kept = [*keys, "accuracy", "loss"]
    assert exact(common[kept], keys) == exact(published[published["id"].isin(common["id"])][kept], keys)
