"""`ablate ui`: MLflow on the results store, on loopback, after bringing it up to date with the finished trials."""

from __future__ import annotations

import csv
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ablate.base.errors import AblateError
from ablate.tracking.content import TrackedRun
from ablate.tracking.database import (
    DATABASE,
    SWITCHES,
    ensure_database,
    experiments,
    first_line,
    import_mlflow,
    quiet,
)
from ablate.tracking.runs import study_runs

if TYPE_CHECKING:
    from ablate.core.evidence import Evidence
    from ablate.records.store import Store

HOST = "127.0.0.1"
_SERVER = {
    "UVICORN_LOG_LEVEL": "warning",
    "MLFLOW_LOGGING_LEVEL": "ERROR",
    "PYTHONWARNINGS": "ignore",
    # Background jobs serve language models only, and would cost processes and tables.
    "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",
}
_KIND = "?workflowType=machine_learning"
"Without it, MLflow opens an experiment, whatever its kind, on the pages for language models, which show no runs."
ARTIFACTS = (
    *("report.html", "report.md", "figures", "study.yaml"),
    *("sweep.parquet", "importances.csv", "tuning.parquet"),
)
"What the parent run keeps of a study's folder."


def serve(results: Path, port: int) -> int:
    """Shows MLflow on `results/store` until interrupted; returns the exit code.

    Raises `AblateError` when there is nothing to show or the port is taken.
    """
    store = results / "store"
    if not store.is_dir():
        raise AblateError(
            f"{results}: has no store/, nothing has been run there; run a study or name --results"
        )
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except (OSError, OverflowError) as error:
            raise AblateError(
                f"port {port} of {HOST} cannot be used ({error}); choose another with --port"
            ) from None
    uri = ensure_database(store / DATABASE, repair=True)
    bring_up_to_date(results, lambda message: print(message, file=sys.stderr))
    command = [sys.executable, "-m", "mlflow", "server", "--backend-store-uri", uri, "--workers", "1"]
    command += [
        "--default-artifact-root",
        str((store / "artifacts").resolve()),
        "--host",
        HOST,
        "--port",
        str(port),
    ]
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with tempfile.TemporaryFile() as messages:
        server = subprocess.Popen(
            command,
            env={**_SERVER, **SWITCHES, **os.environ},
            stdout=messages,
            stderr=messages,
            start_new_session=True,
        )
        try:
            while server.poll() is None and not _answers(port):
                time.sleep(0.1)
            if server.poll() is None:
                pages = f"http://{HOST}:{port}/#/experiments"
                print(f"MLflow on {results}: {pages}{_KIND} (Ctrl-C ends it)")
                for number, study in experiments(store / DATABASE):
                    print(f"  {study}: {pages}/{number}/runs{_KIND}")
                sys.stdout.flush()
            server.wait()
        except KeyboardInterrupt:
            return 0
        finally:
            with suppress(ProcessLookupError):
                os.killpg(server.pid, signal.SIGTERM)  # the server has processes of its own
            server.wait()
        messages.seek(0)
        print(messages.read().decode(errors="replace"), file=sys.stderr)
        raise AblateError(
            f"MLflow's server ended by itself with exit code {server.returncode}; its messages are above"
        )


def bring_up_to_date(results: Path, warn: Callable[[str], None]) -> None:
    """Writes to `results/store/mlflow.db` what it lacks of the studies in `results`.

    A study that is being run is left to its own driver; one that cannot be read is reported and passed over.
    """
    from ablate.records.store import Store

    store = Store(results / "store", warn)
    import_mlflow()
    with quiet():
        for folder in sorted(path.parent for path in results.glob("*/trials.parquet")):
            try:
                _bring_study(folder, store, warn)
            except Exception as error:
                warn(f"{folder}: MLflow is not up to date: {first_line(error)}")


def verdict_table(folder: Path) -> str:
    """The comparisons of a study's folder as a Markdown table; "" when there are none."""
    try:
        with (folder / "comparisons.csv").open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
    except FileNotFoundError:
        return ""
    several = len({row["task"] for row in rows}) > 1
    head = [*(["task"] if several else []), "variant", "metric", "difference", "95 % interval", "verdict"]
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    for row in rows:
        interval = f"{_number(row['ci_low'])} to {_number(row['ci_high'])}" if row["ci_low"] else ""
        cells = [row["variant"], row["metric"], _number(row["diff"]), interval, row["verdict"]]
        lines.append("| " + " | ".join(([row["task"]] if several else []) + cells) + " |")
    return "\n".join(lines) if rows else ""


def _bring_study(folder: Path, store: Store, warn: Callable[[str], None]) -> None:
    from ablate.core.evidence import Evidence

    evidence = Evidence.load(folder)
    placed = _placed(folder, evidence)
    current = set(placed)
    if not any((store.trials / f"{trial}.json").exists() for trial in current):
        return  # published evidence, whose trials were run elsewhere
    artifacts = [path for name in ARTIFACTS if (path := folder / name).exists()]
    with study_runs(evidence.facts.study, store.root, None, timeout=0.2) as runs:
        if runs.is_current(current, artifacts):
            return
        runs.begin()
        missing = 0
        for trial_id, (variant, task, seed, levels) in placed.items():
            record = store.load(trial_id)
            if record is None:
                missing += 1
                continue
            runs.put(TrackedRun(variant, task, seed, levels, record))
        if missing:
            warn(
                f"{folder}: {missing} of {len(current)} trials are no longer in {store.root}; MLflow keeps what it has"
            )
        question = evidence.facts.question
        description = "\n\n".join(text for text in (question, verdict_table(folder)) if text)
        runs.finish(
            description=description, params=None, tags={}, metrics={}, artifacts=artifacts, current=current
        )


def _placed(folder: Path, evidence: Evidence) -> dict[str, tuple[str, str, int, Mapping[str, str]]]:
    """Every trial of a study by id: variant, task, seed and levels; settings of searches come first, as they did."""
    from ablate.core.evidence import Evidence
    from ablate.core.search_table import SWEEP, TUNING, UNTUNED, SearchTable

    found: dict[str, tuple[str, str, int, Mapping[str, str]]] = {}
    file = {"sweep": SWEEP, "tuning": TUNING}.get(evidence.facts.searched, "")
    searched = SearchTable.load(folder / file) if file else None
    if searched is not None:
        for trial_id, name, task, seed, levels in searched.runs(swept=file == SWEEP):
            found.setdefault(trial_id, (name, task, seed, levels))
    beside = [(evidence, "")]
    if file == TUNING and (folder / UNTUNED / "trials.parquet").is_file():
        beside.append((Evidence.load(folder / UNTUNED), " untuned"))
    for each, note in beside:
        of_variant = {variant.name: variant.levels for variant in each.facts.variants}
        for row in each.trials[["id", "variant", "task", "seed"]].itertuples(index=False):
            place = (f"{row.variant}{note}", row.task, int(row.seed), of_variant.get(row.variant, {}))
            found.setdefault(row.id, place)
    return found


def _number(text: str) -> str:
    try:
        return f"{float(text):+.3g}"
    except ValueError:
        return text


def _answers(port: int) -> bool:
    try:
        socket.create_connection((HOST, port), timeout=1).close()
    except OSError:
        return False
    return True
