"""Claims get their dates before the first trial; one that could have been read from results is exploratory."""

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from made_evidence import study

from ablate.core.cell import Cell
from ablate.core.claim import Claim
from ablate.core.record import Record
from ablate.core.trial import Trial
from ablate.records.folder import StudyFolder
from ablate.records.store import Store
from ablate.stages.claims import date_claims, with_waiting

FIRST = Claim("a beats baseline on loss", "beats", "loss", ["a"], ["baseline"], 0.0)
LATE = Claim("a beats baseline on accuracy", "beats", "accuracy", ["a"], ["baseline"], 0.0)
CELLS = [Cell(name, "", 0, Trial(f"id-{name}", {}, 0)) for name in ("baseline", "a", "b")]


@pytest.fixture
def folder(tmp_path: Path) -> StudyFolder:
    return StudyFolder(tmp_path, "study")


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


def test_a_claim_keeps_its_first_date_and_a_late_one_is_exploratory(
    folder: StudyFolder, store: Store
) -> None:
    (early,) = date_claims(folder, [FIRST], CELLS, store, begun=False)
    assert [(row["claim"], row["verdict"], row["exploratory"]) for row in folder.claims()] == [
        (FIRST.text, "", "False")
    ]
    again, added = date_claims(folder, [FIRST, LATE], CELLS, store, begun=True)
    assert (again.declared, again.exploratory) == (early.declared, False)
    assert added.exploratory
    swapped = date_claims(folder, [LATE, FIRST], CELLS, store, begun=True)
    assert [claim.declared for claim in swapped] == [added.declared, early.declared]


def test_a_claim_is_late_once_both_its_sides_have_run(folder: StudyFolder, store: Store) -> None:
    for name, late in (("b", False), ("baseline", False), ("a", True)):
        store.save(Record(f"id-{name}", {}, 0, "completed"))
        folder.write_claims([])
        (claim,) = date_claims(folder, [FIRST], CELLS, store, begun=False)
        assert claim.exploratory == late


def test_an_interaction_is_late_once_all_four_have_run(folder: StudyFolder, store: Store) -> None:
    four = Claim("x", "interaction", "loss", ["a"], ["b"], 0.0, a_less=["c"], b_less=["baseline"])
    cells = [*CELLS, Cell("c", "", 0, Trial("id-c", {}, 0))]
    for name, late in (("a", False), ("b", False), ("baseline", False), ("c", True)):
        store.save(Record(f"id-{name}", {}, 0, "completed"))
        folder.write_claims([])
        (claim,) = date_claims(folder, [four], cells, store, begun=False)
        assert claim.exploratory == late


def test_a_report_of_speed_alone_tells_of_no_other_claim(folder: StudyFolder, store: Store) -> None:
    fast = Claim("a beats baseline on step_seconds", "beats", "step_seconds", ["a"], ["baseline"], 0.0)
    only_timed = study({"baseline": [0.5], "a": [0.6]})
    folder.save_evidence(replace(only_timed, trials=only_timed.trials[:0]))
    late = date_claims(folder, [FIRST, fast], CELLS, store, begun=False)
    assert [claim.exploratory for claim in late] == [False, True]
    folder.write_claims([])
    folder.save_evidence(only_timed)
    late = date_claims(folder, [FIRST, fast], CELLS, store, begun=False)
    assert [claim.exploratory for claim in late] == [True, True]


def test_claims_that_the_evidence_cannot_settle_wait_with_their_dates(
    folder: StudyFolder, store: Store
) -> None:
    first, late = date_claims(folder, [FIRST, LATE], CELLS, store, begun=False)
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
