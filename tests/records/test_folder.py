"""Evidence in a study's folder."""

import json
import os
import re
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from made_evidence import study

from ablate.base.errors import AblateError
from ablate.base.files import digest_of_data
from ablate.core.overhead import Overhead
from ablate.core.trial import Cell, Trial
from ablate.records import tables
from ablate.records.folder import StudyFolder
from ablate.records.trial_list import ReportSources

RESULTS = Path(__file__).parents[2] / "results"
SHOWN = re.compile(r"!\[.*\]\((figures/.*)\)")


def evidence(*, examples=True):
    made = study({"baseline": [0.5, 0.7], "a": [0.4, 0.6]})
    rows = [
        (trial, metric, np.array([0.0, 1.0, 0.1, seed], np.float32))
        for seed, trial in enumerate(made.trials["id"])
        for metric in ("accuracy", "loss")
    ]
    return (
        replace(made, examples=pd.DataFrame(rows, columns=["id", "metric", "values"])) if examples else made
    )


def test_evidence_by_example_is_read_as_it_was_written(tmp_path):
    folder, written = StudyFolder.at(tmp_path), evidence()
    folder.save_evidence(written)
    read = folder.evidence()
    pd.testing.assert_frame_equal(read.trials, written.trials)
    assert read.examples[["id", "metric"]].equals(written.examples[["id", "metric"]])
    for mine, theirs in zip(read.examples["values"], written.examples["values"], strict=True):
        assert mine.dtype == np.float32
        assert np.array_equal(mine, theirs)
    # A run that has none, such as one on another task, leaves none.
    folder.save_evidence(evidence(examples=False))
    assert not list(tmp_path.rglob("examples.parquet"))
    after = folder.evidence().examples
    assert list(after.columns) == ["id", "metric", "values"]
    assert len(after) == 0


def test_a_table_is_small(tmp_path):
    """Outcomes of 0 and 1 take a bit each, shares of 32 six; the facts stand in it once."""
    draws = np.random.default_rng(0)
    folder = StudyFolder.at(tmp_path)
    for steps, bits in ((1, 1), (32, 6)):
        shares = (draws.integers(steps + 1, size=(50, 600)) / steps).astype(np.float32)
        rows = [(f"{trial:016x}", "accuracy", values) for trial, values in enumerate(shares)]
        examples = pd.DataFrame(rows, columns=["id", "metric", "values"])
        untrained = evidence().trials[:0]
        folder.save_evidence(replace(evidence(), trials=untrained, examples=examples))
        assert np.array_equal(np.stack(folder.evidence().examples["values"]), shares)
        assert (tmp_path / "examples.parquet").stat().st_size < shares.size * bits / 8 + 2_500
    assert (tmp_path / "trials.parquet").read_bytes().count(b'"question"') == 1


def test_a_byte_of_the_evidence_that_was_changed_is_noticed(tmp_path):
    """In a page, in the facts or in the names of the columns."""
    folder = StudyFolder.at(tmp_path)
    folder.save_evidence(evidence())
    path = tmp_path / "trials.parquet"
    whole = path.read_bytes()
    expected = folder.evidence()
    noticed = 0
    for place in range(4, len(whole), 101):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        try:
            found = folder.evidence()
        except AblateError:
            noticed += 1
        else:
            pd.testing.assert_frame_equal(found.trials, expected.trials)
            assert found.facts == expected.facts
    assert noticed


@pytest.mark.parametrize("version", [1, tables.FORMAT + 1])
def test_a_table_of_another_format_is_refused_by_name(tmp_path, monkeypatch, version):
    folder = StudyFolder.at(tmp_path)
    with monkeypatch.context() as patched:
        patched.setattr(tables, "FORMAT", version)
        folder.save_evidence(evidence())
    for read in (folder.evidence, folder.facts):
        known = f"reads 2 to {tables.FORMAT}; use the version"
        with pytest.raises(AblateError, match=rf".parquet: is of format {version}, .* {known}"):
            read()


def test_published_folders_are_read():
    published = [folder for folder in StudyFolder.all(RESULTS) if folder.has_report]
    assert published
    for folder in published:
        evidence = folder.evidence()
        assert len(evidence.trials) or evidence.only_measured


def test_what_is_published_is_small_and_kept_once():
    """A page is kept as markdown with the figures that it shows; `ablate report` draws it for a browser."""
    listed = ["git", "ls-files", "-z", "--", RESULTS.name]
    done = subprocess.run(listed, cwd=RESULTS.parent, capture_output=True, text=True, check=True)
    paths = [RESULTS.parent / name for name in done.stdout.split("\0") if name]
    assert paths
    assert not [path for path in paths if path.name == "report.html"]
    pages = [path for path in paths if path.name == "report.md"]
    drawn = {path for path in paths if path.parent.name == "figures"}
    assert drawn == {page.parent / name for page in pages for name in SHOWN.findall(page.read_text())}
    assert sum(path.stat().st_size for path in paths) <= 12_000_000


def test_a_list_of_trials_that_is_nested_too_deeply_is_named(tmp_path):
    folder = StudyFolder(tmp_path, "deep")
    folder.trial_list.path.parent.mkdir(parents=True)
    folder.trial_list.path.write_text('{"format": 1, "cells": ' + "[" * 100_000)
    with pytest.raises(AblateError, match=r"deep\.json: .*Run deep again"):
        folder.trial_list.cells()
    with pytest.raises(AblateError, match=r"deep\.json: .*Run deep again"):
        folder.trial_list.ids()


def test_the_overhead_of_a_further_run_is_that_of_its_study_or_of_the_newest_list_that_can_be_read(tmp_path):
    folder = StudyFolder(tmp_path, "study")
    assert folder.usual_overhead() is None
    folder.trial_list.path.parent.mkdir(parents=True)
    folder.trial_list.path.with_name("gone.json").symlink_to(tmp_path / "nowhere")
    folder.trial_list.path.with_name("damaged.json").write_text("{")
    older = ReportSources("digest", [], {}, {}, {})
    StudyFolder(tmp_path, "older").trial_list.note_report(older)
    assert folder.usual_overhead() is None
    other = StudyFolder(tmp_path, "other")
    other.trial_list.note_report(replace(older, overhead=Overhead(5.0, 2.5)))
    os.utime(other.trial_list.path, (1, 1))
    assert folder.usual_overhead() == Overhead(5.0, 2.5)
    folder.trial_list.note_report(replace(older, overhead=Overhead(1.0, 0.5)))
    assert folder.usual_overhead() == Overhead(1.0, 0.5)


def test_tables_that_no_report_has_written_are_refused_as_frames(tmp_path):
    folder = StudyFolder(tmp_path, "quickstart")
    folder.path.mkdir()
    for content in (b"\0\xff", b"", b"claim,verdict\nx,superb\n"):
        (folder.path / "claims.csv").write_bytes(content)
        with pytest.raises(AblateError, match="claims"):
            folder.frames()


def test_a_list_of_trials_whose_report_says_nothing_of_mlflow_was_tracked(tmp_path):
    """As it was written before a report could be noted without MLflow."""
    folder = StudyFolder(tmp_path, "study")
    cell = Cell("baseline", "recall", 0, Trial("a" * 16, {}, 0), "baseline seed 0", {})
    folder.trial_list.keep_only([cell])
    sources = ReportSources("digest", ["a" * 16], {}, {}, {}, lacks_tracking=True)
    folder.trial_list.note_report(sources)
    assert folder.trial_list.report() == sources
    data = json.loads(folder.trial_list.path.read_text())
    del data["digest"], data["report"]["lacks_tracking"], data["report"]["overhead"]
    data["format"] = 2
    folder.trial_list.path.write_text(json.dumps({**data, "digest": digest_of_data(data)}))
    assert folder.trial_list.report() == replace(sources, lacks_tracking=False)
    assert [cell.id for cell in folder.trial_list.cells()] == ["a" * 16]
    assert folder.trial_list.ids() == {"a" * 16}
