"""Scripts that train by libraries of others, which write or print their metrics in their own way."""

import csv
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from harness import ablate_here, with_database

from ablate import load

pytestmark = pytest.mark.slow

SCRIPTS = Path(__file__).parent / "libraries"


@dataclass(frozen=True)
class Library:
    """A library, with the command of its script and where its metric is found after a call by hand."""

    metric: str
    command: str
    read: dict[str, str]
    by_hand: Callable[[Path, str], float]


def last_of_csv(folder: Path, _: str) -> float:
    with (folder / "lightning_logs/version_0/metrics.csv").open() as file:
        return [float(row["val_loss"]) for row in csv.DictReader(file) if row["val_loss"]][-1]


def of_results(folder: Path, _: str) -> float:
    return float(json.loads((folder / "eval_results.json").read_text())["eval_loss"])


def printed(_: Path, output: str) -> float:
    (loss,) = re.findall(r"loss=(\S+)", output)
    return float(loss)


LIBRARIES = {
    "lightning": Library(
        "val_loss", "python train_lightning.py --lr {lr} --seed {seed} --out {dir}", {}, last_of_csv
    ),
    "transformers": Library(
        "eval_loss",
        "python train_transformers.py --learning_rate {lr} --seed {seed} --output_dir {dir}",
        {},
        of_results,
    ),
    "accelerate": Library(
        "loss",
        "accelerate launch --num_processes 2 --cpu train_accelerate.py --lr {lr} --seed {seed}",
        {"loss": r"loss=(\S+)"},
        printed,
    ),
}


def called_by_hand(library: Library, folder: Path, lr: float, seed: int) -> float:
    """Returns the metric of a call of the script without ablate."""
    out = folder / f"by_hand/{lr}-{seed}"
    words = library.command.format(lr=lr, seed=seed, dir=out).split()
    program = Path(sys.executable).with_name(words[0])
    done = subprocess.run(
        [program, *words[1:]], cwd=folder, capture_output=True, text=True, check=True, timeout=200
    )
    return library.by_hand(out, done.stdout)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", LIBRARIES)
def test_a_script_of_the_library_gives_what_it_gives_by_hand(tmp_path, name):
    pytest.importorskip(name)
    library = LIBRARIES[name]
    shutil.copy(SCRIPTS / f"train_{name}.py", tmp_path)
    study = {
        "name": "case",
        "workload": {"command": library.command} | ({"read": library.read} if library.read else {}),
        "config": {"lr": 0.01},
        "metrics": {library.metric: {"direction": "min", "margin": 0.005}},
        "factors": {"config.lr": [0.1]},
        "seeds": 2,
    }
    (tmp_path / "study.yaml").write_text(json.dumps(study))
    with_database(tmp_path / "results/store")
    done = ablate_here("run", "study.yaml", "--jobs", "1", cwd=tmp_path)
    assert done.returncode == 0, done.output
    (row,) = load(tmp_path / "results/case").comparisons.query("metric == @library.metric").to_dict("records")
    by_hand = {lr: [called_by_hand(library, tmp_path, lr, seed) for seed in (0, 1)] for lr in (0.01, 0.1)}
    assert row["mean_baseline"] == pytest.approx(sum(by_hand[0.01]) / 2, rel=1e-4)
    assert row["mean_variant"] == pytest.approx(sum(by_hand[0.1]) / 2, rel=1e-4)
