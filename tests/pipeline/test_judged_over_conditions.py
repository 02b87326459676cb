"""What is kept of verdicts over conditions, and what commands make of families of claims."""

import io
from dataclasses import replace

import pytest
from made_conditions import GROWING, study_over
from made_evidence import claim
from rich.console import Console

from ablate.commands.list import overview
from ablate.core.over import Over
from ablate.pipeline.confirm import _decided_comparisons
from ablate.pipeline.judging import judge_evidence, verdicts_of
from ablate.pipeline.next_steps import print_places
from ablate.pipeline.without_effect import in_all_tasks
from ablate.records.folder import StudyFolder

ALONG = Over("mean", "model.d_model", {"short": 64, "middle": 128, "long": 512})


def judged(results, over, family="all"):
    """A folder with the verdicts of a study of three conditions, in each of which `a` is better."""
    claims = [claim("beats", metric="score")]
    made = study_over(GROWING, names=("short", "middle", "long"), claims=claims)
    plan = replace(made.facts.plan, source="../x.yaml")
    folder = StudyFolder(results, "made")
    facts = replace(made.facts, study="made", over=over, family=family, provenance=plan)
    folder.save_evidence(replace(made, facts=facts))
    verdicts = verdicts_of(judge_evidence(folder), folder)
    folder.save_verdicts(verdicts.tables, verdicts.answer)
    (results / "x.yaml").write_text("name: x\n")
    return folder


@pytest.mark.slow
def test_the_tables_stand_beside_the_verdicts_and_go_with_them(tmp_path):
    folder = judged(tmp_path, ALONG)
    (conditions,) = folder.beside("conditions.csv")
    assert (conditions["over"], conditions["conditions"], conditions["varies"]) == ("mean", "3", "False")
    (trend,) = folder.beside("trends.csv")
    assert float(trend["diff"]) == pytest.approx(0.01457142857)
    judged(tmp_path, Over())
    assert not [*folder.path.glob("conditions.csv"), *folder.path.glob("trends.csv")]


@pytest.mark.parametrize(
    ("family", "count"), [("all", "1 better, over: mean"), ("claims", "1 supported, over: mean")]
)
def test_claims_alone_are_listed_confirmed_and_followed(tmp_path, monkeypatch, family, count):
    monkeypatch.chdir(tmp_path)
    folder = judged(tmp_path, ALONG, family)
    decided = _decided_comparisons(folder, folder.facts(), ["short"])
    assert decided == ({("a", "baseline")} if family == "all" else set())
    (row,) = overview(tmp_path).rows
    assert row["verdicts"] == count
    buffer = io.StringIO()
    print_places(folder, folder.facts(), Console(file=buffer, width=200))
    assert "--confirm" in buffer.getvalue()


def test_over_conditions_a_variant_that_does_something_in_one_is_trained_in_all():
    places = {("idle", "short"), ("idle", "long"), ("some", "short")}
    assert in_all_tasks(places, ["short", "long"]) == {("idle", "short"), ("idle", "long")}
