"""MLflow's pages for a results folder, on loopback, brought up to date first: what `ablate ui` shows."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ablate.base.errors import AblateError, StoreError
from ablate.base.process import interruptible
from ablate.base.sqlite import database_uri
from ablate.base.text import first_line, safe
from ablate.records.folder import StudyFolder
from ablate.records.store import Store
from ablate.tracking.database import ARTIFACTS, DATABASE, SWITCHES, Database
from ablate.tracking.sync import GoesOn, sync
from ablate.tracking.view import VIEW, VIEW_TAG

if TYPE_CHECKING:
    from mlflow.entities import Experiment

HOST = "127.0.0.1"
# Seconds to wait for another process that writes to the database.
WAIT = 30.0
# Seconds between two lines that say how far a study is.
SAY_EVERY = 5.0
_SERVER = {
    "UVICORN_LOG_LEVEL": "warning",
    "MLFLOW_LOGGING_LEVEL": "ERROR",
    "PYTHONWARNINGS": "ignore",
    # Background jobs are for language models only, and would cost processes and tables.
    "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",
}
# Without it, MLflow opens an experiment, whatever its kind, on the pages for language models, which show no runs.
_KIND = "?workflowType=machine_learning"


def serve(results: Path, port: int) -> int:
    """Shows MLflow on `results/store` until interrupted; returns the exit code.

    Raises `AblateError` when there is nothing to show or the port is taken.
    """
    store = results / "store"
    if not store.is_dir():
        raise AblateError(
            f"{results}: has no store/, nothing has been run there; run a study or name --results"
        )
    _check_port(port)
    print(f"Bringing MLflow up to date with the studies in {results} …", flush=True)
    experiments = bring_up_to_date(
        results,
        warn=lambda warning: print(safe(warning), file=sys.stderr),
        say=lambda line: print(safe(line), flush=True),
    )
    print(f"Starting MLflow's server on port {port} …", flush=True)
    with interruptible(), tempfile.TemporaryFile() as messages:
        server = subprocess.Popen(
            _command(store, port),
            env={**_SERVER, **SWITCHES, **os.environ},
            stdout=messages,
            stderr=messages,
            start_new_session=True,
        )
        try:
            _wait_for_end(server, port, lambda url: _print_addresses(url, results, experiments))
        except KeyboardInterrupt:
            return 0
        messages.seek(0)
        text = messages.read().decode(errors="replace")
        raise AblateError(f"{text}\nMLflow's server ended by itself with exit code {server.returncode}")


def _wait_for_end(server: subprocess.Popen[bytes], port: int, on_answer: Callable[[str], None]) -> None:
    """Waits until a server ends by itself; stops it where the wait is interrupted.

    on_answer: called with the address of the pages once the server answers.
    """
    try:
        while server.poll() is None and not _answers(port):
            time.sleep(0.1)
        if server.poll() is None:
            on_answer(f"http://{HOST}:{port}/#/experiments")
        server.wait()
    finally:
        with suppress(ProcessLookupError):
            os.killpg(server.pid, signal.SIGTERM)  # the server has processes of its own
        server.wait()


def _check_port(port: int) -> None:
    """Raises `AblateError` when a port cannot be used."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except (OSError, OverflowError) as error:
            raise AblateError(
                f"port {port} of {HOST} cannot be used ({error}); choose another with --port"
            ) from None


def _command(store: Path, port: int) -> list[str]:
    """Returns the command that starts MLflow's server on a store."""
    command = [sys.executable, "-m", "mlflow", "server", "--workers", "1"]
    command += ["--backend-store-uri", database_uri(store / DATABASE)]
    command += ["--default-artifact-root", str((store / ARTIFACTS).resolve())]
    command += ["--host", HOST, "--port", str(port)]
    return command


def _answers(port: int) -> bool:
    """Returns whether a server takes connections at a port."""
    with suppress(OSError), socket.create_connection((HOST, port), timeout=1):
        return True
    return False


def _print_addresses(pages: str, results: Path, experiments: Sequence[Experiment]) -> None:
    """Prints the address of the pages, and those of each study's runs and charts."""
    print(f"MLflow on {results}, until Ctrl-C: {pages}{_KIND}")
    for experiment in experiments:
        # A key of a view that is not there would lead to the pages for language models.
        view = f"&viewStateShareKey={VIEW}" if VIEW_TAG in experiment.tags else ""
        address = f"{pages}/{experiment.experiment_id}/runs{_KIND}{view}"
        print(f"  {experiment.name}: {address}")
        if view:
            print(f"    charts: {address}&compareRunsMode=CHART")
    sys.stdout.flush()


def bring_up_to_date(
    results: Path, warn: Callable[[str], None], say: Callable[[str], None] = lambda line: None
) -> list[Experiment]:
    """Brings `results/store/mlflow.db` up to date with the studies in `results` that have a report.

    One that cannot be read is a warning; `say` hears how far one is that takes long. Returns MLflow's experiments, but
    for its own. Raises `StoreError` where the database cannot be used.
    """
    store = Store(results / "store", warn)
    try:
        with Database(store.root, None, warn).opened(WAIT) as client:
            for folder in StudyFolder.all(results):
                try:
                    if folder.has_report and folder.study_file.is_file():
                        sync(client, folder, store, goes_on=_saying(folder.name, say))
                except Exception as error:
                    warn(f"{folder.path}: MLflow is not up to date: {first_line(error)}")
            experiments = client.search_experiments(order_by=["name"])
            return [experiment for experiment in experiments if experiment.name != "Default"]
    except Exception as error:
        raise StoreError(
            f"{store.root / DATABASE}: MLflow's database cannot be made or written: {first_line(error)}; use a folder "
            "that you may write"
        ) from error


def _saying(study: str, say: Callable[[str], None]) -> GoesOn:
    """Returns what lets a sync go on to its end, and says now and then how far it is."""
    due = time.monotonic() + SAY_EVERY

    def goes_on(done: int, total: int) -> bool:
        nonlocal due
        if time.monotonic() >= due:
            due = time.monotonic() + SAY_EVERY
            say(f"  {study}: {done:,} of {total:,} trials")
        return True

    return goes_on
