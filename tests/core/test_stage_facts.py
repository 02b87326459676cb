"""What stages keep is asked for by its class, and files have it as they always did."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from made_evidence import study

from ablate.analysis.search_table import SearchFacts
from ablate.base.errors import AblateError
from ablate.core.match_facts import MatchFacts
from ablate.core.speed_facts import SpeedFacts
from ablate.core.stage_facts import StageFacts
from ablate.core.stress_facts import StressFacts
from ablate.records.facts_file import facts_from
from ablate.records.folder import StudyFolder
from ablate.records.tables import rows_and_facts

KINDS: tuple[type[StageFacts], ...] = (MatchFacts, SearchFacts, SpeedFacts, StressFacts)
ROOT = Path(__file__).parents[2]
PUBLISHED = sorted((ROOT / "results").glob("**/trials.parquet"))


def test_published_facts_of_stages_are_written_back_as_they_were_read():
    read = set()
    for path in PUBLISHED:
        _, plain = rows_and_facts(path, [])
        facts = facts_from(plain)
        kept = {kind.key: facts.of(kind) for kind in KINDS}
        written = {key: found.plain() for key, found in kept.items() if found is not None}
        features = plain.get("features", {})
        assert [*written] == [*features]
        for key, published in features.items():
            # A key that is newer than the folder has its default.
            known = {name: value for name, value in written[key].items() if name in published}
            assert json.dumps(known) == json.dumps(published)
        read |= {*features}
    assert read == {kind.key for kind in KINDS}


def test_what_a_stage_keeps_is_found_by_its_class():
    bare = study({"baseline": [0.5, 0.6]})
    grid = StressFacts("training.lr", [0.001, 0.01])
    evidence = bare.having(grid, bare.frame(StressFacts))
    assert (bare.facts.of(StressFacts), evidence.facts.of(StressFacts)) == (None, grid)
    assert evidence.facts.features == {"stress": {"training.lr": [0.001, 0.01]}}
    assert evidence.facts.of(SpeedFacts) is None
    assert [*evidence.frame(SpeedFacts)] == [*SpeedFacts.columns]


@pytest.mark.parametrize(
    ("kind", "plain", "where", "given"),
    [
        (SpeedFacts, {"over": "", "warmth": 3}, "speed.warmth", "given 3"),
        (SpeedFacts, {"calls": ["running"]}, "speed.calls[0]", "given 'running'"),
        (SpeedFacts, 3, "speed", "given 3"),
        (StressFacts, {"training.lr": [0.1], "model.width": [8]}, "stress", "given {"),
        (StressFacts, {"training.lr": "fast"}, "stress.training.lr", "given 'fast'"),
        (StressFacts, 3, "stress", "given 3"),
        (MatchFacts, {"quantity": "parameters"}, "match.by", "required"),
        (SearchFacts, {"trials": "many"}, "search.", "required"),
    ],
)
def test_facts_of_another_version_are_refused_by_file_and_field(kind, plain, where, given):
    facts = replace(study({"baseline": [0.5]}).facts, features={kind.key: plain})
    with pytest.raises(AblateError) as refused:
        facts.of(kind)
    said = str(refused.value)
    assert said.startswith(f"trials.parquet of made: features.{where}")
    assert given in said
    assert said.endswith("run the study again, which replaces it")
    assert "validation error" not in said


def test_of_a_report_whose_facts_cannot_be_read_nothing_is_known(tmp_path):
    shutil.copytree(ROOT / "results/quickstart", tmp_path / "quickstart")
    folder = StudyFolder.at(tmp_path / "quickstart")
    assert isinstance(folder.reported(SearchFacts), SearchFacts)
    assert folder.reported(SpeedFacts) is None
    evidence = folder.evidence()
    damaged = replace(evidence.facts, features={"search": {"trials": "many"}})
    folder.save_evidence(replace(evidence, facts=damaged))
    assert folder.reported(SearchFacts) is None
