import signal
import socket
import subprocess
import sys

import pandas as pd
import pytest
from filelock import FileLock
from mlflow_helpers import NOLOAD, pytest_fail, query, shown, snapshot, track, tracked, with_database

from ablate.base.errors import AblateError
from ablate.core.evidence import Evidence
from ablate.core.facts import Facts, VariantFacts
from ablate.records.store import Store
from ablate.tracking.server import bring_up_to_date, serve, verdict_table

pytestmark = pytest.mark.filterwarnings(NOLOAD)

SERVE = """
import sys
from pathlib import Path
from ablate.tracking.server import serve
sys.exit(serve(Path(sys.argv[1]), int(sys.argv[2])))
"""

COMPARISONS = """\
variant,baseline,task,metric,n,diff,ci_low,ci_high,p,verdict
model.norm=batch,baseline,recall,accuracy,2,-0.25,-0.5,0.015625,0.04,worse
model.norm=none,baseline,recall,accuracy,1,,,,,inconclusive
"""

TABLE = """\
| variant | metric | difference | 95 % interval | verdict |
| --- | --- | --- | --- | --- |
| model.norm=batch | accuracy | -0.25 | -0.5 to +0.0156 | worse |
| model.norm=none | accuracy |  |  | inconclusive |"""


@pytest.fixture
def results(tmp_path):
    """A results folder after a run whose tracker was down."""
    folder = tmp_path / "results" / "study"
    folder.mkdir(parents=True)
    with_database(tmp_path / "results" / "store")
    store = Store(tmp_path / "results" / "store")
    runs = [tracked("baseline", 0), tracked("model.norm=batch", 0)]
    for run in runs:
        store.save(run.record)
    rows = [
        {
            "id": run.record.id,
            "variant": run.variant,
            "task": run.task,
            "seed": run.seed,
            "status": "completed",
        }
        for run in runs
    ]
    facts = Facts(
        study="study",
        question="Why?",
        notes="",
        metric="accuracy",
        column="accuracy",
        at="last",
        margin=None,
        design="one_factor",
        seeds=[0],
        tasks=[],
        variants=[VariantFacts(run.variant, {"model.norm": "layer"}, {}) for run in runs],
        factors={},
        claims=[],
    )
    Evidence(facts, pd.DataFrame(rows), pd.DataFrame({"id": [], "step": [], "metric": [], "value": []})).save(
        folder
    )
    (folder / "comparisons.csv").write_text(COMPARISONS)
    (folder / "report.md").write_text("# Report")
    return tmp_path / "results"


def test_finished_trials_are_brought_in_with_table_and_report(results):
    bring_up_to_date(results, pytest_fail)
    store = results / "store"
    assert [name for name, _ in shown(store)] == ["baseline · seed 00", "model.norm=batch · seed 00", "study"]
    notes = query(store, "SELECT value FROM tags WHERE key = 'mlflow.note.content'")
    assert notes == [(f"Why?\n\n{TABLE}",)]
    assert [path.read_text() for path in (store / "artifacts").rglob("report.md")] == ["# Report"]


def test_what_the_driver_wrote_is_what_would_be_brought_in(results):
    runs = [tracked("baseline", 0), tracked("model.norm=batch", 0)]
    track(
        results / "store",
        *runs,
        artifacts=[results / "study" / "report.md", results / "study" / "figures"],
        current=[*(run.record.id for run in runs), "planned"],
    )
    before = snapshot(results / "store"), query(results / "store", "SELECT * FROM tags")
    bring_up_to_date(results, pytest_fail)
    assert (snapshot(results / "store"), query(results / "store", "SELECT * FROM tags")) == before


def test_a_study_that_is_being_run_is_left_to_its_driver(results):
    warnings: list[str] = []
    with FileLock(results / "store" / ".mlflow-study.lock"):
        bring_up_to_date(results, warnings.append)
    assert warnings == [
        f"{results / 'study'}: MLflow is not up to date: another process is writing the MLflow runs of 'study'"
    ]
    assert shown(results / "store") == []


def test_published_evidence_without_its_trials_is_passed_over(results):
    for path in (results / "store" / "trials").iterdir():
        path.unlink()
    bring_up_to_date(results, pytest_fail)
    assert shown(results / "store") == []


def test_a_trial_that_is_gone_is_said(results):
    (results / "store" / "trials" / "recall-baseline-0.json").unlink()
    warnings: list[str] = []
    bring_up_to_date(results, warnings.append)
    assert len(warnings) == 1
    assert "1 of 2 trials are no longer in" in warnings[0]
    assert [name for name, _ in shown(results / "store")] == ["model.norm=batch · seed 00", "study"]


def test_a_table_of_nothing_is_empty(tmp_path):
    assert verdict_table(tmp_path) == ""
    (tmp_path / "comparisons.csv").write_text(COMPARISONS.splitlines()[0])
    assert verdict_table(tmp_path) == ""


def test_nothing_to_show_is_an_error(tmp_path):
    with pytest.raises(
        AblateError, match=r"has no store/, nothing has been run there; run a study or name --results"
    ):
        serve(tmp_path, 5000)


def test_a_port_that_is_taken_is_an_error(results):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(
            AblateError, match=rf"port {port} of 127\.0\.0\.1 cannot be used .*; choose another with --port"
        ):
            serve(results, port)


@pytest.mark.slow
def test_the_server_shows_the_store_takes_runs_over_http_and_ends_with_all_its_processes(results, tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-c", SERVE, results, str(port)]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        assert server.stdout is not None
        assert f"http://127.0.0.1:{port}/" in server.stdout.readline()
        assert f"  study: http://127.0.0.1:{port}/#/experiments/1/runs?" in server.stdout.readline()
        failed = tracked("baseline", 0, status="failed", error="Traceback")
        track(
            tmp_path / "other", failed, tracked("baseline", 1), study="remote", uri=f"http://127.0.0.1:{port}"
        )
    finally:
        server.send_signal(signal.SIGTERM)
        output, _ = server.communicate(timeout=30)
    assert server.returncode == 0
    assert output == ""
    names = [name for name, _ in shown(results / "store")]
    assert names == [
        "baseline · seed 00",
        "baseline · seed 00",
        "baseline · seed 01",
        "model.norm=batch · seed 00",
        "remote",
        "study",
    ]
    assert len(list((results / "store" / "artifacts").rglob("traceback.txt"))) == 1
    assert not (tmp_path / "other" / "mlflow.db").exists()
    with socket.socket() as again:
        again.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        again.bind(("127.0.0.1", port))
