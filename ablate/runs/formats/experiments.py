"""The runs of an MLflow experiment, as a table, from where MLflow keeps them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, Queue
from threading import Thread
from typing import TYPE_CHECKING, TypeVar

from ablate.base.errors import AblateError, Gather, listed, nearest
from ablate.base.sqlite import database_uri, path_of
from ablate.base.text import first_line, masked
from ablate.runs.formats.experiment_table import table_of
from ablate.runs.formats.mlflow_stores import is_database, readable, store_of
from ablate.runs.options import AnalysisOptions
from ablate.runs.reader import Reader, RunsFound
from ablate.tracking.database import import_client

if TYPE_CHECKING:
    from mlflow.entities import Experiment
    from mlflow.tracking import MlflowClient

ANSWER_SECONDS = 15.0
"""Seconds within which a tracking server must say whether it has an experiment; a file takes as long as it takes."""
READING_SECONDS = 600.0
"""Seconds within which it must have sent all runs."""
_PAGE = 1000
"""The most experiments that a server sends at once."""

Answer = TypeVar("Answer")


class MlflowFolderReader(Reader):
    """Reads the folder of MLflow's file store, `mlruns`, or that of one experiment in it."""

    looks_for = "a folder of MLflow's (mlruns, with EXPERIMENT/meta.yaml)"

    def knows(self, path: Path, options: AnalysisOptions) -> bool:
        """Returns whether a folder has experiments of MLflow's, or is one."""
        return path.is_dir() and store_of(path) is not None

    def read(self, path: Path, options: AnalysisOptions) -> RunsFound:
        """Returns the runs of the experiment that is asked for. Raises `AblateError`."""
        found = store_of(path)
        assert found is not None
        folder, experiment_id = found
        return read_store(folder.resolve().as_uri(), options, experiment_id=experiment_id)


class MlflowDatabaseReader(Reader):
    """Reads a SQLite database of MLflow's; one of another program is refused as such."""

    looks_for = "a SQLite database with MLflow's tables"

    def knows(self, path: Path, options: AnalysisOptions) -> bool:
        """Returns whether a file is a SQLite database."""
        return is_database(path)

    def read(self, path: Path, options: AnalysisOptions) -> RunsFound:
        """Returns the runs of the experiment that is asked for. Raises `AblateError`."""
        return read_store(database_uri(path), options)


@dataclass(frozen=True)
class _Choice:
    """The experiment of a store that a call is about, and how it is known."""

    experiment: Experiment | None
    others: list[str]
    """The names of the experiments that have runs, or of all where a name is asked for."""


def read_store(uri: str, options: AnalysisOptions, experiment_id: str = "") -> RunsFound:
    """Returns the runs of an MLflow experiment, without those that have runs below them. Raises `AblateError`.

    experiment_id: of the one whose folder is RUNS. Without it, the experiment is that of `--experiment`, or the only
    one that has runs.

    Columns: `params.X`, `tags.X`, and each metric under its own name: its last value, or with `--at` a row a step. A
    metric is `metrics.X` where the call names it so, and where X is the name of another column. Nothing is written.
    """
    import_client()
    with readable(uri) as open_uri:
        client_class = import_client()
        from mlflow.store.tracking import sqlalchemy_store  # noqa: F401 - else imported while the server's time runs

        def choose() -> tuple[MlflowClient, _Choice]:
            client = client_class(open_uri)
            return client, _choice(client, options.experiment, experiment_id)

        client, choice = _answered(uri, ANSWER_SECONDS, choose)
        experiment = _checked(choice, options.experiment)

        def read() -> RunsFound:
            return table_of(client, experiment, options)

        return _answered(uri, READING_SECONDS, read)


def _choice(client: MlflowClient, name: str, experiment_id: str) -> _Choice:
    """Returns the experiment with a name or id; without both, the only one that has runs, if there is just one."""
    if experiment_id:
        return _Choice(client.get_experiment(experiment_id), [])
    if name:
        experiment = client.get_experiment_by_name(name)
        if experiment is not None:
            return _Choice(experiment, [])
        return _Choice(None, [other.name for other in _experiments(client)])
    with_runs = [
        each for each in _experiments(client) if client.search_runs([each.experiment_id], max_results=1)
    ]
    names = [each.name for each in with_runs]
    return _Choice(with_runs[0] if len(with_runs) == 1 else None, names)


def _experiments(client: MlflowClient) -> Iterator[Experiment]:
    """Yields the experiments of a store that are not deleted."""
    token = None
    while True:
        page = client.search_experiments(max_results=_PAGE, page_token=token)
        yield from page
        token = page.token
        if not token:
            return


def _checked(choice: _Choice, name: str) -> Experiment:
    """Returns the experiment that was chosen. Raises `Invalid` where none was, and for a deleted one."""
    experiment = choice.experiment
    with Gather() as at:
        if name:
            rule = "is not an experiment of RUNS"
            hint = nearest(name, choice.others) or "Name one that exists, or another store of MLflow's"
            at.refuse(experiment is None, "--experiment", rule, name, listed(choice.others), hint)
        elif choice.others:
            hint = "For example: --experiment NAME"
            rule = "is needed: several experiments have runs"
            at.refuse(experiment is None, "--experiment", rule, "", listed(choice.others), hint)
        else:
            hint = "Deleted runs do not count: restore them in MLflow first"
            at.refuse(experiment is None, "RUNS", "has no experiment with runs", hint=hint)
        is_deleted = experiment is not None and experiment.lifecycle_stage == "deleted"
        hint = "Restore it in MLflow first"
        at.refuse(is_deleted, "RUNS", "is a deleted experiment", name, hint=hint)
    assert experiment is not None
    return experiment


def _answered(uri: str, seconds: float, ask: Callable[[], Answer]) -> Answer:
    """Returns what MLflow answers. Raises `AblateError` where it refuses, or says nothing for so many seconds.

    MLflow's own limits are those of one read, so that a server which sends a byte a second would never end.
    """
    answers: Queue[Answer | Exception] = Queue()

    def put_answer() -> None:
        try:
            answers.put(ask())
        except Exception as error:
            answers.put(error)

    is_server = "://" in uri and path_of(uri) is None and not uri.startswith("file:")
    Thread(target=put_answer, daemon=True).start()
    place = f"MLflow at {masked(uri)}"
    try:
        answer = answers.get(timeout=seconds if is_server else None)
    except Empty:
        raise AblateError(
            f"{place}: has not answered within {seconds:.0f} s; start the server, or name another one"
        ) from None
    if isinstance(answer, AblateError):
        raise answer
    if isinstance(answer, Exception):
        raise AblateError(f"{place}: cannot be read ({first_line(answer)}); repair it, or name another one")
    return answer
