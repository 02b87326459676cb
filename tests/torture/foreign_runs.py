"""Runs that other programs kept: samples of lm-eval, MLflow experiments, a known noise; whole and spoiled."""

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

from .case import Place, Shared
from .damage import harm
from .intervals import close, paired
from .process import ENVIRONMENT, Done
from .values import changed

SLOWEST = 15
"""Seconds of a call on an idle machine."""


def analysed(place: Place, runs: object, *words: object, codes: tuple[int, ...] = (0, 2)) -> Done:
    given = [str(word).replace("\0", "") for word in words]
    return place.hold_quick(place.start("analyse", runs, *given), SLOWEST, codes=codes)


def comparisons_of(place: Place, name: str) -> list[dict[str, Any]]:
    """The rows of a report's comparisons."""
    import pandas as pd

    return pd.read_csv(place.path / "results" / name / "comparisons.csv").to_dict("records")  # type: ignore[return-value]


def samples(rng: Random, place: Place) -> str:
    """A folder of lm-eval, whole or spoiled."""
    count = rng.randint(3, 30)
    truth: dict[str, list[int]] = {}
    for model in ("base", "wide"):
        truth[model] = [int(rng.random() < 0.6) for _ in range(count)]
        folder = place.path / "lm" / model
        folder.mkdir(parents=True)
        lines = []
        for number, value in enumerate(truth[model]):
            data: dict[str, Any] = {
                "doc_id": number,
                "doc_hash": f"h{number}",
                "doc": {"q": f"question {number}"},
            }
            lines.append({**data, "filter": "none", "acc": value})
        if rng.random() < 0.5:
            rng.shuffle(lines)
        file = folder / "samples_task_2026-01-01T00-00-00.jsonl"
        file.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    is_spoiled = rng.random() < 0.7
    if is_spoiled:
        files = sorted((place.path / "lm").rglob("*.jsonl"))
        place.heard.append(f"spoiled: {_spoil_samples(rng, rng.choice(files), files)}")
    words = ["--baseline", "base", "--metric", "acc", "--direction", "max"]
    if rng.random() < 0.3:
        words += ["--column", "source", rng.choice(("doc.q", "doc.gone", "doc", "acc"))]
    done = analysed(place, "lm", *words)
    if done.code == 0 and not is_spoiled and "--column" not in words:
        row = comparisons_of(place, "lm")[0]
        expected = paired(truth["base"], truth["wide"], row["level"], with_resolution=False)
        given = (row["diff"], row["ci_low"], row["ci_high"])
        if truth["base"] != truth["wide"] and expected[1] < expected[2] and not close(given, expected):
            place.violation(f"difference and interval are {given}, by scipy {expected}")
    return "refused" if done.code else "accepted"


def _spoil_samples(rng: Random, path: Path, files: list[Path]) -> str:
    if rng.random() < 0.3:
        return harm(rng, path, files)
    if rng.random() < 0.15:
        path.unlink()
        os.mkfifo(path)
        return "a fifo"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    what = [changed(rng, rng.choice(lines), ["acc", "doc_id", "filter", "variant", "seed"]) for _ in range(2)]
    texts = []
    for line in lines:
        try:
            texts.append(json.dumps(line))
        except (ValueError, RecursionError, TypeError):
            texts.append("[" * 50_000)
    path.write_text("\n".join(texts), errors="replace")
    return "; ".join(what)


EXPERIMENT = """
import mlflow, random, sys
mlflow.set_tracking_uri("sqlite:///runs.db")
mlflow.set_experiment("mine")
rng = random.Random(7)
for variant in ("base", "wide"):
    for seed in range(4):
        with mlflow.start_run():
            mlflow.log_params({"variant": variant, "seed": seed})
            mlflow.log_metric("loss", rng.gauss(variant == "wide", 1))
"""


def _experiment(shared: Shared) -> Path:
    """A folder with the database of an MLflow experiment, made once."""

    def make(folder: Path) -> Path:
        environment = {**os.environ, **ENVIRONMENT}
        subprocess.run(
            [sys.executable, "-c", EXPERIMENT], cwd=folder, env=environment, check=True, capture_output=True
        )
        return folder / "runs.db"

    found = shared.once("experiment", make)
    assert isinstance(found, Path)
    return found


SPOILING = (
    *("UPDATE metrics SET value = 1e308, is_nan = 1", "UPDATE latest_metrics SET is_nan = 1 WHERE rowid = 1"),
    *(
        "UPDATE latest_metrics SET value = 'many'",
        "UPDATE latest_metrics SET value = NULL",
        "DELETE FROM latest_metrics",
    ),
    *(
        "UPDATE params SET value = 'x' WHERE key = 'seed'",
        "DELETE FROM params WHERE key = 'seed' AND rowid % 2",
    ),
    *(
        "UPDATE params SET value = '1e999' WHERE key = 'seed' AND rowid < 4",
        "UPDATE params SET key = 'status'",
    ),
    *("UPDATE runs SET status = 'RUNNING'", "UPDATE runs SET status = 'KILLED'"),
    *(
        "UPDATE runs SET lifecycle_stage = 'deleted'",
        "UPDATE alembic_version SET version_num = 'x'",
        "DROP TABLE params",
    ),
    *(
        "DROP TABLE runs",
        "DELETE FROM experiments",
        "UPDATE params SET value = ''",
        "DELETE FROM alembic_version",
    ),
    *("UPDATE latest_metrics SET key = 'seed'", "UPDATE latest_metrics SET value = 9e999", "SELECT 1"),
)
"""SQL that changes an experiment to what nobody logs."""


def experiments(rng: Random, place: Place) -> str:
    """An MLflow experiment, whole or spoiled."""
    database = place.path / "runs.db"
    shutil.copy(_experiment(place.shared), database)
    what = rng.choice((*SPOILING, "bytes"))
    if what == "bytes":
        what = harm(rng, database, [database])
    else:
        # What the schema of MLflow refuses stays as it is.
        with suppress(sqlite3.IntegrityError), sqlite3.connect(database) as connection:
            connection.execute(what)
        connection.close()
    before = len(place.violations)
    done = analysed(
        place, "sqlite:///runs.db", "--experiment", "mine", "--baseline", "base", "--direction", "min",
        "--metric", rng.choice(("metrics.loss", "metrics.loss", "metrics.seed")),
        "--column", "variant", "params.variant", "--column", "seed", "params.seed",
    )  # fmt: skip
    place.violations[before:] = [f"{text} [{what}]" for text in place.violations[before:]]
    return "refused" if done.code else "accepted"


def noise(rng: Random, place: Place) -> str:
    """Single runs against a kept noise, which may have been edited."""
    values = [rng.gauss(1, 0.1) for _ in range(rng.randint(2, 10))]
    (place.path / "base.csv").write_text(
        "variant,seed,loss\n" + "".join(f"base,{seed},{value!r}\n" for seed, value in enumerate(values))
    )
    new = rng.gauss(1, 0.3)
    (place.path / "new.csv").write_text(f"variant,seed,loss\nwide,0,{new!r}\n")
    words = ["--baseline", "base", "--metric", "loss", "--direction", "max"]
    made_with = [word for what in ("evaluation", "data", "machine") for word in ("--made-with", what, "x")]
    kept = analysed(
        place, "base.csv", *words, *made_with, "--made-with", "commit", "c", "--keep-noise", "noise.json"
    )
    if kept.code != 0:
        place.violation(f"the noise was not kept: {kept.output[-300:]!r}")
        return "refused"
    file = place.path / "noise.json"
    original = file.read_bytes()
    if rng.random() < 0.7:
        if rng.random() < 0.4:
            place.heard.append(f"harmed: {harm(rng, file, [file])}")
        else:
            data = json.loads(file.read_text())
            place.heard.append(f"edited: {changed(rng, data, ['loss', 'base', 'seed'])}")
            try:
                file.write_text(json.dumps(data), errors="replace")
            except (ValueError, RecursionError, TypeError):
                file.write_text("[" * 50_000)
    is_whole = file.is_file() and file.read_bytes() == original
    done = analysed(place, "new.csv", *words, *made_with, "--known-noise", "noise.json")
    if not is_whole:
        return "refused" if done.code else "accepted"
    if done.code != 0:
        place.violation(f"a whole noise is refused: {done.output[-300:]!r}")
        return "refused"
    from scipy import stats

    row = comparisons_of(place, "new")[0]
    count = len(values)
    mean = sum(values) / count
    deviation = (sum((value - mean) ** 2 for value in values) / (count - 1)) ** 0.5
    half = stats.t.ppf((1 + row["level"]) / 2, count - 1) * deviation * (1 + 1 / count) ** 0.5
    expected = (new - mean, new - mean - half, new - mean + half)
    given = (row["diff"], row["ci_low"], row["ci_high"])
    if not close(given, expected):
        place.violation(f"difference and interval are {given}, by scipy {expected}")
    return "accepted"
