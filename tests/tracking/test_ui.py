import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from mlflow_helpers import NOLOAD, cell_of, report, shown, snapshot, told, track, tracked

from ablate.base.errors import AblateError
from ablate.base.sqlite import database_uri
from ablate.records.folder import StudyFolder
from ablate.tracking import ui
from ablate.tracking.database import ARTIFACTS, DATABASE
from ablate.tracking.ui import bring_up_to_date, serve

pytestmark = pytest.mark.filterwarnings(NOLOAD)

HERE = Path(__file__).parent
SERVE = """
import sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from ablate.tracking.ui import serve
sys.exit(serve(Path(sys.argv[2]), int(sys.argv[3])))
"""
RUNS = [tracked("baseline", 0), tracked("model.norm=batch", 0)]
NAMES = ["baseline · seed 00", "batch norm · seed 00", "study"]


@pytest.fixture
def study(results: Path) -> StudyFolder:
    """A study after a run whose tracker was down."""
    return report(results, *RUNS)


@pytest.mark.slow
def test_a_report_is_brought_in_and_again_where_it_was_written_again(results, study):
    for text in ("# study\n\nWhy?", "# study\n\nOther?"):
        (study.path / "report.md").write_text(text)
        bring_up_to_date(results, pytest.fail)
        assert told(results)["study"][-1] == ("study.yaml", study.study_file.read_bytes())
        assert ("report.md", text.encode()) in told(results)["study"]
        assert ("mlflow.note.content", text.split()[-1]) in told(results)["study"]
    assert [name for name, _ in shown(results)] == NAMES


@pytest.mark.slow
def test_one_that_takes_long_says_how_far_it_is(results, study, monkeypatch):
    monkeypatch.setattr(ui, "SAY_EVERY", 0.0)
    said: list[str] = []
    for _ in range(2):
        bring_up_to_date(results, pytest.fail, said.append)
        assert said == ["  study: 0 of 2 trials", "  study: 1 of 2 trials"]


@pytest.mark.slow
def test_trials_planned_but_not_run_are_not_missed(results):
    track(results, *RUNS, cells=[cell_of("baseline", 1, "recall", "planned")])
    before = snapshot(results)
    bring_up_to_date(results, pytest.fail)
    assert snapshot(results) == before


def test_a_study_that_cannot_be_read_is_said_and_the_others_are_brought_in(results, study):
    study.study_file.write_text("[")
    report(results, tracked("baseline", 1), study="whole")
    warnings: list[str] = []
    bring_up_to_date(results, warnings.append)
    assert len(warnings) == 1
    assert warnings[0].startswith(f"{study.path}: MLflow is not up to date: ")
    assert shown(results) == [("baseline · seed 01", "FINISHED"), ("whole", "FINISHED")]


def test_published_evidence_and_a_study_without_a_report_are_passed_over(results, study):
    for path in (results / "store" / "trials").iterdir():
        path.unlink()
    other = report(results, tracked("baseline", 1), study="other")
    (other.path / "trials.parquet").unlink()
    bring_up_to_date(results, pytest.fail)
    assert shown(results) == []


@pytest.mark.slow
def test_a_study_that_was_timed_and_never_trained_has_its_parent(results):
    folder = report(results, cells=[cell_of("baseline", 0, "recall", "planned")])
    (folder.path / "speed.csv").write_text("variant,task,metric,own,value_variant,verdict\n")
    for _ in range(2):
        bring_up_to_date(results, pytest.fail)
        assert shown(results) == [("study", "FINISHED")]
    assert [*(results / "store" / "artifacts").rglob("speed.csv")]


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize("known", [False, True])
def test_of_a_trial_that_is_gone_mlflow_keeps_what_it_has(results, study, known):
    if known:
        track(results, *RUNS)
        (study.path / "report.md").write_text("# Another")
    (results / "store" / "trials" / "recall-baseline-0.json").unlink()
    bring_up_to_date(results, pytest.fail)
    names = [name for name, _ in shown(results)]
    assert names == NAMES[not known :]


def test_the_server_reads_the_database_and_the_artifacts_of_the_store_on_loopback(tmp_path):
    command = ui._command(tmp_path, 5001)
    options = dict(zip(command[4::2], command[5::2], strict=True))
    assert options["--backend-store-uri"] == database_uri(tmp_path / DATABASE)
    assert options["--default-artifact-root"] == str(tmp_path.resolve() / ARTIFACTS)
    assert (options["--host"], options["--port"]) == ("127.0.0.1", "5001")


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
def test_the_server_shows_the_store_takes_runs_over_http_and_ends_with_all_its_processes(
    results, study, tmp_path
):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-c", SERVE, HERE, results, str(port)]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        assert server.stdout is not None
        lines = [server.stdout.readline() for _ in range(5)]
        assert all(line.endswith(" …\n") for line in lines[:2])
        assert f"http://127.0.0.1:{port}/" in lines[2]
        assert f"  study: http://127.0.0.1:{port}/#/experiments/1/runs?" in lines[3]
        assert "compareRunsMode=CHART" in lines[4]
        failed = tracked("baseline", 0, status="failed", error="Traceback")
        other, uri = tmp_path / "other", f"http://127.0.0.1:{port}"
        for figure in ("old", "new"):
            page = {f"figures/{figure}.svg": "<svg/>"}
            track(other, failed, tracked("baseline", 1), study="remote", uri=uri, page=page)
    finally:
        server.send_signal(signal.SIGTERM)
        output, _ = server.communicate(timeout=30)
    assert server.returncode == 0
    assert output == ""
    names = [name for name, _ in shown(results)]
    assert names == sorted([*NAMES, "baseline · seed 00", "baseline · seed 01", "remote"])
    assert len(list((results / "store" / "artifacts").rglob("traceback.txt"))) == 1
    figures = (path.name for path in (results / "store" / "artifacts").rglob("*.svg"))
    assert sorted(figures) == ["a.svg", "new.svg"]
    assert not (other / "store" / "mlflow.db").exists()
    with socket.socket() as again:
        again.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        again.bind(("127.0.0.1", port))
