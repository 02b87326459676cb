"""MLflow kept up to date with a study by processes of their own, one at a time: training waits for none of them.

All that they write is in the store and the study's folder already: what one of them misses, the next one writes. Where
`ABLATE_TRACKING` is `off` in the environment, there are none, and `ablate ui`, which
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
from ablate.core.events import Event, Finished, Found
from ablate.execution.child import Child, fresh, parent
from ablate.records.folder import StudyFolder
from ablate.records.store import Store
from ablate.tracking.content import VIEW, VIEW_TAG
from ablate.tracking.database import (
    ARTIFACTS,
    DATABASE,
    SWITCHES,
    database_uri,
    first_line,
    import_client,
    opened,
)
from ablate.tracking.sync import Status, sync

# Seconds between two processes while a study trains; that MLflow may take in the end; and after an interruption.
EVERY, LIMIT, INTERRUPTED = 60.0, 30.0, 10.0


class Tracker:
    """A listener that has MLflow brought up to date: in the store's own database, unless `uri` names another place.

    Leaving the context without `finish` shows the study as interrupted.
    """

    def __init__(self, folder: StudyFolder, uri: str | None, warn: Callable[[str], None]) -> None:
        self.folder, self.uri, self.warn = folder, uri, warn
        self._is_off = os.environ.get("ABLATE_TRACKING") == "off"
        self._child: Child | None = None
        self._has_work = False
        self._due = time.monotonic() + EVERY
        self._is_behind = False

    def __enter__(self) -> Tracker:
        """Where the store has no database yet, has it made while trials train, by the process that ends the run."""
        if not (self._is_off or self.uri or (self.folder.results / "store" / DATABASE).exists()):
            self._ready("polite").send((self.folder, None, None))
        return self

    def __exit__(self, *raised: object) -> None:
        """Unless the study is finished, shows what there is, as interrupted."""
        try:
            if self._is_behind:
                self._write("KILLED", INTERRUPTED)
        finally:
            self.rest()

    def __call__(self, event: Event) -> None:
        """Where a trial has a record, starts a process if it is time and none is under way."""
        if self._is_off or not isinstance(event, Found | Finished):
            return
        self._is_behind = True
        is_free = not self._has_work or self._child is None or self._child.connection.poll()
        if is_free and time.monotonic() >= self._due:
            self._due = time.monotonic() + EVERY
            self._told("RUNNING", "polite")

    def prepare(self) -> None:
        """Starts the last process, unless one is ready, so that it imports MLflow while the report is written."""
        if not self._is_off:
            self._ready()

    def finish(self) -> bool:
        """Brings MLflow up to date with the report; returns whether it is.

        A tracker that is down, locked, full or silent is a warning, not an error.
        """
        self._is_behind = False
        fault = "" if self._is_off else self._write("FINISHED", LIMIT)
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
        """Waits so many seconds for a process that writes all; why MLflow is not up to date then, or nothing."""
        child = self._told(status)
        try:
            if not child.connection.poll(seconds):
                return "there was no time left"
            fault, warnings = child.connection.recv()
        except (EOFError, OSError):
            return f"its process {child.fate()}"
        finally:
            self.rest()
        for warning in warnings:
            self.warn(warning)
        return str(fault)

    def _ready(self, *manner: str) -> Child:
        """The process that waits for work, or a new one: what one at work misses, the new one writes."""
        # It says nothing before its work is done: what can be read is its end.
        if self._child is None or self._has_work or self._child.connection.poll():
            self.rest()
            self._child, self._has_work = Child(partial(fresh, __name__, arguments=manner)), False
        return self._child

    def _told(self, status: Status, *manner: str) -> Child:
        """A process that now does its work."""
        child, self._has_work = self._ready(*manner), True
        child.send((self.folder, self.uri, status))
        return child

    def rest(self) -> None:
        """Ends the process that is under way."""
        if self._child is not None:
            self._child.end()
            self._child = None


def main() -> None:
    """In such a process: waits for what to bring up to date, does it, and says what went wrong.

    Without a status, it only sees to it that there is a database, and waits again.
    """
    driver, status = parent(), None
    if "polite" in sys.argv[3:]:
        os.nice(5)  # It may be the one that ends the run, on a machine with other work.
    import_client()
    while status is None:
        try:
            folder, uri, status = driver.recv()
        except (EOFError, OSError):  # a driver that is gone
            return
        fault, warnings = "", list[str]()
        # The driver alone writes to the store.
        store, ends = Store(folder.results / "store", read_only=True), status not in (None, "RUNNING")
        try:
            with opened(store.root, uri, LIMIT if ends else 0, warnings.append, checked=ends) as client:
                if status is not None:
                    sync(client, folder, store, status)
        except Exception as error:
            fault = first_line(error)
    with suppress(OSError):
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

    One that cannot be read is a warning. Returns MLflow's experiments, but for its own. Raises `StoreError` where the
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
        raise StoreError(
            f"{store.root / DATABASE}: MLflow's database cannot be made or written: {first_line(error)}; use a folder "
            "that you may write"
        ) from error


def _answers(port: int) -> bool:
    with suppress(OSError), socket.create_connection((HOST, port), timeout=1):
        return True
    return False
