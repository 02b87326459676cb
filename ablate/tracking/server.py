"""`ablate ui`: MLflow on the results store, on loopback, after bringing it up to date with the finished trials."""

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
from typing import Any

from ablate.base.errors import AblateError
from ablate.records.folder import StudyFolder
from ablate.records.store import Store
from ablate.tracking.content import VIEW, VIEW_TAG
from ablate.tracking.database import ARTIFACTS, DATABASE, SWITCHES, database_uri, first_line, opened
from ablate.tracking.sync import sync

HOST = "127.0.0.1"
_SERVER = {
    "UVICORN_LOG_LEVEL": "warning",
    "MLFLOW_LOGGING_LEVEL": "ERROR",
    "PYTHONWARNINGS": "ignore",
    # Background jobs are for language models only, and would cost processes and tables.
    "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",
}
# Without it, MLflow opens an experiment, whatever its kind, on the pages for language models, which show no runs.
_KIND = "?workflowType=machine_learning"
# Seconds to wait for another process that brings the same database up to date.
_WAIT = 30.0


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
    shown = bring_up_to_date(results, lambda warning: print(warning, file=sys.stderr))
    command = [
        *(sys.executable, "-m", "mlflow", "server", "--workers", "1"),
        *("--backend-store-uri", database_uri(store / DATABASE)),
        *("--default-artifact-root", str((store / ARTIFACTS).resolve())),
        *("--host", HOST, "--port", str(port)),
    ]
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    environment = {**_SERVER, **SWITCHES, **os.environ}
    with tempfile.TemporaryFile() as messages:
        server = subprocess.Popen(
            command, env=environment, stdout=messages, stderr=messages, start_new_session=True
        )
        try:
            while server.poll() is None and not _answers(port):
                time.sleep(0.1)
            if server.poll() is None:
                _print_addresses(f"http://{HOST}:{port}/#/experiments", results, shown)
            server.wait()
        except KeyboardInterrupt:
            return 0
        finally:
            with suppress(ProcessLookupError):
                os.killpg(server.pid, signal.SIGTERM)  # the server has processes of its own
            server.wait()
        messages.seek(0)
        text = messages.read().decode(errors="replace")
        raise AblateError(f"{text}\nMLflow's server ended by itself with exit code {server.returncode}")


def _print_addresses(pages: str, results: Path, shown: Sequence[Any]) -> None:
    print(f"MLflow on {results}: {pages}{_KIND} (Ctrl-C ends it)")
    for study in shown:
        # A key of a view that is not there would lead to the pages for language models.
        view = f"&viewStateShareKey={VIEW}" if VIEW_TAG in study.tags else ""
        print(f"  {study.name}: {pages}/{study.experiment_id}/runs{_KIND}{view}", flush=True)


def bring_up_to_date(results: Path, warn: Callable[[str], None]) -> list[Any]:
    """Brings `results/store/mlflow.db` up to date with the studies in `results` that have a report.

    One that cannot be read is a warning. Returns MLflow's experiments, but for its own. Raises `AblateError` where the
    database cannot be used.
    """
    store = Store(results / "store", warn)
    try:
        with opened(store.root, None, _WAIT, warn) as client:
            for folder in StudyFolder.all(results):
                try:
                    if folder.has_report:
                        sync(client, folder, store)
                except Exception as error:
                    warn(f"{folder.path}: MLflow is not up to date: {first_line(error)}")
            return [
                found for found in client.search_experiments(order_by=["name"]) if found.name != "Default"
            ]
    except Exception as error:
        raise AblateError(
            f"{store.root / DATABASE}: MLflow's database cannot be made or written: {first_line(error)}; use a folder "
            "that you may write"
        ) from error


def _answers(port: int) -> bool:
    with suppress(OSError), socket.create_connection((HOST, port), timeout=1):
        return True
    return False
