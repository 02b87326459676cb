"""Claims get their dates before the first trial; one that could have been read from results is exploratory."""

import time
from dataclasses import replace

import pandas as pd
import pytest
from harness import TOY_STUDY, run_here
from made_evidence import study

from ablate.core.facts import Claim, Less
from ablate.core.record import Record
from ablate.core.trial import Cell, Trial
from ablate.pipeline.preregister.claims import date_claims, mark_post_hoc, with_waiting
from ablate.records.folder import StudyFolder
from ablate.records.store import Store

FIRST = Claim("a beats baseline on loss", "beats", "loss", ["a"], ["baseline"], 0.0)
LATE = Claim("a beats baseline on accuracy", "beats", "accuracy", ["a"], ["baseline"], 0.0)


@pytest.fixture
def folder(tmp_path):
    return StudyFolder(tmp_path, "study")


def test_a_claim_keeps_its_first_date_and_a_late_one_is_exploratory(folder):
    (early,) = date_claims(folder, [FIRST], [])
    assert [(row["claim"], row["verdict"], row["exploratory"]) for row in folder.claims()] == [
        (FIRST.text, "", "False")
    ]
    again, added = date_claims(folder, [FIRST, LATE], ["accuracy"])
    assert (again.declared, again.exploratory) == (early.declared, False)
    assert added.exploratory
    swapped = date_claims(folder, [LATE, FIRST], ["accuracy"])
    assert [claim.declared for claim in swapped] == [added.declared, early.declared]
    folder.write_claims([])
    late = date_claims(folder, [FIRST, LATE], {"accuracy"})
    assert [claim.exploratory for claim in late] == [False, True]


def test_a_claim_on_trained_variants_is_late_whatever_the_clock_says(folder):
    assert not date_claims(folder, [FIRST], [], {"a"})[0].exploratory
    first, late = date_claims(folder, [FIRST, LATE], [], {"a", "baseline"})
    assert (first.exploratory, late.exploratory) == (False, True)


FOUR = Claim("x", "interaction", "loss", ["a"], ["b"], 0.0, less=Less(["c"], ["baseline"], "loss"))


@pytest.mark.parametrize(
    ("claim", "order"), [(FIRST, ["b", "baseline", "a"]), (FOUR, ["a", "b", "baseline", "c"])]
)
def test_a_claim_is_late_once_all_its_sides_had_begun_before_it(tmp_path, claim, order):
    """Whichever study trained them; what begins later tells it nothing."""
    store, cells = Store(tmp_path), [Cell(name, "", 0, Trial(name, {}, 0)) for name in order]
    dated = replace(claim, declared="2026-01-02T03:04:05.678+00:00")
    assert not mark_post_hoc([dated], cells, store)[0].exploratory
    for cell in cells:
        store.save(Record.of(cell.trial, started_at="2026-01-02T03:04:05.679+00:00"))
    for cell in cells:
        assert not mark_post_hoc([dated], cells, store)[0].exploratory
        store.save(Record.of(cell.trial, started_at="2026-01-02T03:04:05+00:00"))
    assert mark_post_hoc([dated], cells, store)[0].exploratory


def test_a_report_of_speed_alone_tells_of_no_other_claim(folder):
    fast = Claim("a beats baseline on step_seconds", "beats", "step_seconds", ["a"], ["baseline"], 0.0)
    only_timed = study({"baseline": [0.5], "a": [0.6]})
    folder.save_evidence(replace(only_timed, trials=only_timed.trials[:0]))
    late = date_claims(folder, [FIRST, fast], [])
    assert [claim.exploratory for claim in late] == [False, True]
    folder.write_claims([])
    folder.save_evidence(only_timed)
    late = date_claims(folder, [FIRST, fast], [])
    assert [claim.exploratory for claim in late] == [True, True]


def test_claims_that_the_evidence_cannot_settle_wait_with_their_dates(folder):
    first, late = date_claims(folder, [FIRST, LATE], [])
    columns = ["claim", "hash", "declared", "verdict", "reason", "exploratory"]
    judged = pd.DataFrame(
        [[first.text, first.hash, first.declared, "supported", "so", False]], columns=columns
    )
    rows = with_waiting(judged, folder).to_dict("records")
    assert [(row["claim"], row["verdict"]) for row in rows[:1]] == [(FIRST.text, "supported")]
    assert (rows[1]["claim"], rows[1]["declared"], rows[1]["reason"]) == (
        LATE.text,
        late.declared,
        "not judged yet",
    )


@pytest.mark.slow
def test_with_the_clock_set_back_results_still_come_before_what_is_declared_after_them(write, monkeypatch):
    """Two days back: of an existing result no claim and no plan becomes one of before."""
    run_here(write(TOY_STUDY))
    of_day = time.time
    monkeypatch.setattr(time, "time", lambda: of_day() - 2 * 24 * 3600)
    renamed = TOY_STUDY.replace("name: toy", "name: renamed", 1)
    late = run_here(
        write(f"{renamed}claims: [model.effect=0.2 beats baseline on accuracy]\n", "renamed.yaml")
    )
    changed = TOY_STUDY.replace("seeds: 3", "seeds: 5")
    replanned = run_here(write(f"{changed}metric: {{name: accuracy, margin: 0.05}}\n"))
    facts = [StudyFolder.at(outcome.folder).facts() for outcome, _ in (late, replanned)]
    assert [claim.exploratory for claim in facts[0].claims] == [True]
    assert facts[0].claims[0].declared < facts[1].plan.replanned.first
    assert [change.path for change in facts[1].plan.replanned.changes] == ["metric.margin", "seeds"]
    assert not facts[1].plan.replanned.known


@pytest.mark.slow
def test_with_the_clock_set_back_what_is_trained_still_comes_after_what_was_declared(write, monkeypatch):
    """An hour, between a run and the one that goes on."""
    study = write(f"{TOY_STUDY}claims: [model.effect=0.2 beats baseline on accuracy]\n")
    run_here(study, seed=0)
    of_day = time.time
    monkeypatch.setattr(time, "time", lambda: of_day() - 3600)
    outcome, _ = run_here(study)
    folder = StudyFolder.at(outcome.folder)
    facts = folder.facts()
    assert [claim.exploratory for claim in facts.claims] == [False]
    assert facts.plan.replanned is None
    store = Store(folder.results / "store")
    records = [store.load(trial) for trial in folder.ids()]
    assert len(records) == 9
    assert all(record.started_at >= facts.claims[0].declared for record in records)
    assert all(0 <= record.seconds < 30 for record in records)
