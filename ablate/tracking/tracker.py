"""MLflow kept up to date with a study by a process of its own, which training does not wait for.

All that it writes is in the store and the study's folder already: what it misses, the next one writes. Where
`ABLATE_TRACKING` is `off` in the environment, there is none, and `ablate ui`, which
shows MLflow on loopback, writes all.
"""

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
from functools import partial
from pathlib import Path
from typing import Any

from ablate.base.errors import AblateError, StoreError
from ablate.base.process import interruptible
from ablate.base.text import first_line
from ablate.core.events import Event, Finished, Found
from ablate.execution.child import Keeper, fresh, parent
from ablate.records.folder import StudyFolder
from ablate.records.store import Store
from ablate.tracking.content import VIEW, VIEW_TAG
from ablate.tracking.database import (
    ARTIFACTS,
    DATABASE,
    SQLITE,
    SWITCHES,
    check_uri,
    database_uri,
    import_client,
    opened,
)
from ablate.tracking.sync import Status, sync

# Seconds between two updates while a study trains; that MLflow may take in the end; and after an interruption.
EVERY, LIMIT, INTERRUPTED = 60.0, 30.0, 10.0


class Tracker(Keeper):
    """A listener that has MLflow brought up to date: in the store's own database, unless `uri` names another place.

    Leaving the context without `finish` shows the study as interrupted.
    """

    def __init__(self, folder: StudyFolder, uri: str | None, warn: Callable[[str], None]) -> None:
        check_uri(uri or SQLITE)
        self.folder, self.uri, self.warn = folder, uri, warn
        self._is_off = os.environ.get("ABLATE_TRACKING") == "off"
        self._due = time.monotonic() + EVERY
        self._is_behind = False

    def __enter__(self) -> Tracker:
        """Has the store's database made, where there is none, while trials train."""
        if self.uri is None:
            self.tell(None)
        return self

    def __exit__(self, *raised: object) -> None:
        """Unless the study is finished, shows what there is, as interrupted."""
        try:
            if self._is_behind:
                self._write("KILLED", INTERRUPTED)
        finally:
            self.close()

    def __call__(self, event: Event) -> None:
        """Where a trial has a record, has MLflow brought up to date if it is time."""
        if isinstance(event, Found | Finished):
            self._is_behind = not self._is_off
            if time.monotonic() >= self._due:
                self._due = time.monotonic() + EVERY
                self.tell("RUNNING")

    def prepare(self) -> None:
        """Starts the process, unless it runs, so that it imports MLflow while there is other work."""
        # Where one is gone, the next writes what it missed.
        if not self._is_off:
            self.started(partial(fresh, __name__))

    def tell(self, status: Status | None) -> None:
        """Has MLflow show the study so, as far as it is; without a status, only sees to it that there is a database."""
        self.prepare()
        if self._child is not None:
            self._child.send((self.folder, self.uri, status))

    def finish(self) -> bool:
        """Brings MLflow up to date with the report; returns whether it is.

        A tracker that is down, locked, full or silent is a warning, not an error.
        """
        self._is_behind = False
        fault = self._write("FINISHED", LIMIT)
        if fault:
            root = self.folder.results / "store"
            where = self.uri or f"the database in {root}"
            later = "the next run of the study" + ("" if self.uri else ", or `ablate ui`,")
            self.warn(
                f"MLflow ({where}) is not up to date: {fault}. Nothing is lost: every trial is in {root}, "
                f"and {later} brings MLflow up to date."
            )
        return not fault

    def _write(self, status: Status, seconds: float) -> str:
        """Waits so many seconds for all to be written; why MLflow is not up to date then, or nothing."""
        self.tell(status)
        if (child := self._child) is None:
            return ""
        try:
            if not child.connection.poll(seconds):
                return "there was no time left"
            fault, warnings = child.connection.recv()
        except (EOFError, OSError):
            return f"its process {child.fate()}"
        finally:
            self.close()
        for warning in warnings:
            self.warn(warning)
        return str(fault)


def main() -> None:
    """In such a process: brings MLflow up to date as it is told, and says what went wrong in the end."""
    driver = parent()
    os.nice(5)  # It may be the one that ends the run, on a machine with other work.
    import_client()
    warnings: list[str] = []
    with suppress(EOFError, OSError):  # a driver that is gone
        while True:
            folder, uri, status = driver.recv()
            if driver.poll():
                continue  # What it is told next says more.
            fault, ends = "", status in ("KILLED", "FINISHED")
            # The driver alone writes to the store.
            store = Store(folder.results / "store", read_only=True)
            try:
                with opened(store.root, uri, LIMIT if ends else 0, warnings.append) as client:
                    if status is not None:
                        sync(client, folder, store, status)
            except Exception as error:
                fault = first_line(error)
            if ends:
                driver.send((fault, warnings))


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
    environment = {**_SERVER, **SWITCHES, **os.environ}
    with interruptible(), tempfile.TemporaryFile() as messages:
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

    One that cannot be read is a warning. Returns MLflow's experiments, but for its own. Raises `StoreError` where the
    database cannot be used.
    """
    store = Store(results / "store", warn)
    try:
        with opened(store.root, None, LIMIT, warn) as client:
            for folder in StudyFolder.all(results):
                try:
                    if folder.has_report and folder.study_file.is_file():
                        sync(client, folder, store)
                except Exception as error:
                    warn(f"{folder.path}: MLflow is not up to date: {first_line(error)}")
            return [
                found for found in client.search_experiments(order_by=["name"]) if found.name != "Default"
            ]
    except Exception as error:
        raise StoreError(
            f"{store.root / DATABASE}: MLflow's database cannot be made or written: {first_line(error)}; use a folder "
            "that you may write"
        ) from error


def _answers(port: int) -> bool:
    with suppress(OSError), socket.create_connection((HOST, port), timeout=1):
        return True
    return False
