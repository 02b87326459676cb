"""`ablate ui`: MLflow on the results store, on loopback, after bringing it up to date with the finished trials."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from ablate.base.errors import AblateError
from ablate.records.folder import StudyFolder
from ablate.records.store import Store
from ablate.tracking.database import (
    ARTIFACTS,
    DATABASE,
    SWITCHES,
    database_uri,
    ensure_database,
    experiments,
)
from ablate.tracking.parent import Describe
from ablate.tracking.sync import sync_all
from ablate.tracking.tracker import to_stderr
from ablate.tracking.view import VIEW, VIEW_TAG

HOST = "127.0.0.1"
_SERVER = {
    "UVICORN_LOG_LEVEL": "warning",
    "MLFLOW_LOGGING_LEVEL": "ERROR",
    "PYTHONWARNINGS": "ignore",
    # Background jobs are for language models only, and would cost processes and tables.
    "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",
}
_KIND = "?workflowType=machine_learning"
"Without it, MLflow opens an experiment, whatever its kind, on the pages for language models, which show no runs."


def serve(results: Path, port: int, describe: Describe) -> int:
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
    ensure_database(store / DATABASE, repair=True, warn=to_stderr)
    bring_up_to_date(results, describe, to_stderr)
    command = [
        *(sys.executable, "-m", "mlflow", "server", "--workers", "1"),
        *("--backend-store-uri", database_uri(store / DATABASE)),
        *("--default-artifact-root", str((store / ARTIFACTS).resolve())),
        *("--host", HOST, "--port", str(port)),
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
                for number, study, viewed in experiments(store / DATABASE, VIEW_TAG + VIEW):
                    # A key of a view that is not there would lead to the pages for language models.
                    view = f"&viewStateShareKey={VIEW}" if viewed else ""
                    print(f"  {study}: {pages}/{number}/runs{_KIND}{view}")
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


def bring_up_to_date(results: Path, describe: Describe, warn: Callable[[str], None]) -> None:
    """Brings `results/store/mlflow.db` up to date with the studies in `results` that have a report."""
    sync_all(StudyFolder.all(results), Store(results / "store", warn), describe, warn)


def _answers(port: int) -> bool:
    with suppress(OSError), socket.create_connection((HOST, port), timeout=1):
        return True
    return False
