"""A study that was timed in its files, terminal, JSON and MLflow; and the page of one that was never trained."""

import csv
import io
from dataclasses import replace

import pandas as pd
import pytest
import timings
from made_evidence import claim
from made_speed import with_speed
from rich.console import Console
from timings import AT_OWN

from ablate.analysis.speed_tables import scaling, speeds
from ablate.commands._json import json_text, report_object
from ablate.commands._results import load
from ablate.pipeline.judging import judge_evidence
from ablate.pipeline.reporter import write_report
from ablate.records.folder import StudyFolder
from ablate.report.terminal import print_verdicts


@pytest.fixture(scope="module")
def evidence():
    return timings.study()


@pytest.fixture
def folder(tmp_path):
    return StudyFolder(tmp_path, "x")


@pytest.mark.slow
def test_a_study_that_was_only_timed_has_a_clean_page(folder, evidence):
    only = replace(evidence, trials=evidence.trials[:0], curves=evidence.curves[:0])
    folder.save_evidence(only)
    write_report(folder, pytest.fail)
    assert folder.comparisons() == []
    assert not {path.name for path in folder.path.iterdir()} & {"noise.csv", "stability.csv"}
    found = report_object(folder)
    assert len(found["speed"]) == len(speeds(only))
    assert found["speed"][1]["variant"] == "slow", "CSV and JSON know no display names"
    assert len(found["scaling"]) == len(scaling(only))
    json_text(found)
    assert {"speed.csv", "scaling.csv"} <= {path.name for path in folder.artifacts()}
    console = Console(file=io.StringIO(), width=80)
    print_verdicts(folder, folder.facts(), console)
    shown = console.file.getvalue()
    assert max(map(len, shown.splitlines())) <= 80
    assert "×1.900" in shown


@pytest.mark.slow
def test_of_a_study_that_was_only_timed_claims_about_speed_are_judged_and_others_wait(folder, evidence):
    about = [claim("beats", "baseline", "slow", metric="step_seconds"), claim("beats", "slow", "baseline")]
    facts = replace(evidence.facts, claims=about)
    only = replace(evidence, facts=facts, trials=evidence.trials[:0], curves=evidence.curves[:0])
    folder.path.mkdir()
    rows = [
        {"claim": c.text, "hash": c.hash, "declared": c.declared, "exploratory": c.exploratory} for c in about
    ]
    folder.write_claims(rows)
    folder.save_evidence(only)
    write_report(folder, pytest.fail)
    verdicts = {row["hash"]: row["verdict"] for row in folder.claims()}
    assert verdicts == {about[0].hash: "supported", about[1].hash: ""}
    assert "Supported: baseline beats slow on step seconds." in folder.answer()
    page = (folder.path / "report.md").read_text()
    assert "| Claim | Verdict |" in page


@pytest.mark.slow
def test_a_trained_study_shows_speed_beside_accuracy_and_drops_its_files_when_it_is_no_longer_timed(
    folder, evidence
):
    few = with_speed(evidence, pd.concat(AT_OWN))
    folder.save_evidence(few)
    assert len(judge_evidence(folder).table("speed")) == len(speeds(few))
    found = judge_evidence(folder)
    beside = {"speed.csv": found.table("speed"), "scaling.csv": found.table("scaling")}
    verdicts = {"comparisons.csv": found.comparisons, "claims.csv": found.claims}
    folder.save_verdicts({**verdicts, **beside})
    with (folder.path / "speed.csv").open() as file:
        assert "verdict" not in next(csv.DictReader(file))
    assert not (folder.path / "scaling.csv").exists()
    assert "ratio" in load(folder.path).speed.columns
    folder.save_verdicts({"speed.csv": found.table("speed")[:0]})
    assert not (folder.path / "speed.csv").exists()
