"""`ablate list results`: the reports in a results folder."""

from dataclasses import replace

import pytest
from harness import ablate_without
from made_conditions import REVERSED, study_over
from made_evidence import study as made

from ablate.commands.list import overview
from ablate.core.provenance import Planned
from ablate.core.trial import Cell, Trial
from ablate.pipeline.reporter import write_report
from ablate.records.folder import StudyFolder

ENDS = {"baseline": [0.5, 0.6, 0.55, 0.52], "a": [0.8, 0.92, 0.81, 0.88], "b": [0.5, 0.7, 0.4, 0.55]}


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    results = tmp_path_factory.mktemp("overview")
    evidence = made(ENDS)

    def report(name, trials, **facts):
        changed = replace(evidence.facts, study=name, question="Which?", **facts)
        StudyFolder(results, name).save_evidence(replace(evidence, trials=trials, facts=changed))
        write_report(StudyFolder(results, name), print)

    whole = evidence.trials
    report("x", whole, reported="2026-11-22T08:07:06.123+00:00")
    report("x@confirm", whole)
    failed = whole.assign(status=whole["status"].where(whole.index != 0, "failed"))
    report(
        "x@seeds=9",
        failed[failed["seed"] < 3],
        provenance=Planned(differs=["seeds=9"]),
        reported="2026-11-23T10:00:00+00:00",
    )
    report("old", whole, provenance=Planned(differs=["seeds=4"]))
    begun = StudyFolder(results, "begun")
    begun.begin("name: begun\n")
    begun.trial_list.add([Cell("baseline", "", 0, Trial("i", {}, 0))])
    damaged = StudyFolder(results, "damaged")
    damaged.path.mkdir()
    (damaged.path / "trials.parquet").write_bytes(b"PAR1")
    (results / "bench").mkdir()
    (results / "bench" / "study.yaml").write_text("")
    return results


@pytest.mark.slow
def test_every_report_has_a_row(results):
    rows = {row.pop("report"): row for row in overview(results).rows}
    assert list(rows) == ["begun", "damaged", "old", "x", "x@confirm", "x@seeds=9"]
    assert rows["x"] == {
        "question": "Which?", "date": "2026-11-22 08:07", "state": "12 of 12 trials",
        "verdicts": "1 better, 1 inconclusive",
    }  # fmt: skip
    assert (rows["x@confirm"]["question"], rows["x@confirm"]["date"]) == ("confirms x", "–")
    assert rows["x@seeds=9"]["question"] == "with seeds=9"
    assert rows["x@seeds=9"]["state"] == "9 of 12 trials, 1 failed"
    assert [rows[name]["state"] for name in ("begun", "damaged")] == ["no report yet", "cannot be read"]


def test_verdicts_over_conditions_say_so(tmp_path):
    folder = StudyFolder(tmp_path, "x")
    folder.save_evidence(study_over(REVERSED, "every"))
    write_report(folder, print)
    [row] = overview(tmp_path).rows
    assert row["verdicts"] == "1 inconclusive, over: every"


@pytest.mark.slow
def test_the_command_lists_them_without_torch(results):
    done = ablate_without({"torch"}, "list", "results", "--results", results, cwd=results)
    assert "2026-11-22" in done.stdout
