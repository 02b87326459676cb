"""What a search leaves behind: for later runs of the study, its claims, and the commands that read its folder."""

from pathlib import Path

import pytest
from harness import TOY_STUDY, report_here

from ablate.base.errors import StudyError
from ablate.commands._results import load
from ablate.commands.show import show
from ablate.records.folder import StudyFolder

pytestmark = pytest.mark.slow
STUDY = TOY_STUDY.partition("factors")[0] + "seeds: 3\n"
SWEPT = f"""{STUDY}
search: {{over: {{model.effect: {{float: [0.1, 1]}}}}, trials: 2, seeds: 1}}
claims: [winner beats baseline on accuracy]
"""


def dates(folder: Path) -> dict[str, tuple[str, str]]:
    return {row["claim"]: (row["declared"], row["exploratory"]) for row in StudyFolder.at(folder).claims()}


def test_a_sweep_keeps_dates_and_its_table_where_a_run_is_refused_and_one_that_stops_half_way(run, tmp_path):
    with pytest.raises(StudyError, match="ablate sweep"):
        run(SWEPT)
    folder = run(SWEPT, sweep=True)[0].folder
    assert load(folder).claims.verdict.tolist() == ["supported"]
    declared = dates(folder)
    trials = load(folder).trials
    winner = trials.id[trials.variant == "winner"].iloc[0]
    assert "\n  ablate sweep " in show(winner, tmp_path / "results", pytest.fail)
    report_here(folder)
    again = load(run(SWEPT, sweep=True)[0].folder)
    assert dates(folder) == declared
    assert again.claims.n.tolist() == [3]

    before = (folder / "search.parquet").read_bytes()
    failing = SWEPT.replace("trials: 2", "trials: 4") + "training: {fault: raise, fault_seed: 10000}\n"
    run(failing, sweep=True, fail_fast=True)
    assert (folder / "search.parquet").read_bytes() == before
    report_here(folder)
    assert "What the sweep found" in (folder / "report.md").read_text()
    # A claim that the study has no more is gone.
    run(SWEPT.partition("claims")[0], sweep=True)
    assert dates(folder) == {}
