"""Facts are written under the keys that folders always had, whatever their form in memory."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from made_evidence import study
from pydantic import ValidationError

from ablate.core.provenance import Given, LostRun, Planned
from ablate.core.replication import (
    Examples,
    GivenSeeds,
    KnownNoise,
    PlannedSeeds,
    Summaries,
    UnpairedRuns,
)
from ablate.records.facts_file import are_given, facts_from, plain_facts
from ablate.records.tables import rows_and_facts

PUBLISHED = sorted((Path(__file__).parents[2] / "results").glob("**/trials.parquet"))
KEYS = {
    PlannedSeeds(): ("", True),
    GivenSeeds(): ("runs", True),
    UnpairedRuns(): ("runs", False),
    KnownNoise(): ("known_noise", False),
    KnownNoise(says_seeds=True): ("known_noise", True),
    Summaries(): ("summaries", False),
    Examples(): ("documents", False),
    Examples(says_seeds=True): ("documents", True),
}


def test_published_facts_are_written_back_as_they_were_read():
    assert PUBLISHED
    for path in PUBLISHED:
        _, plain = rows_and_facts(path, [])
        written = json.loads(json.dumps(plain_facts(facts_from(plain))))
        assert [key for key in written if key in plain] == [*plain], path
        for key in ("given", "has_seeds", "until", "own_seeds", "lost", "own_lengths", "length_column"):
            assert key not in plain or written[key] == plain[key], (path, key)


@pytest.mark.parametrize("replication", KEYS)
def test_each_replication_has_its_keys_and_is_read_again(replication):
    lost = LostRun("a", "t", 3, "crashed")
    given = Given({"a": {"t": [0, 1]}}, [lost], {"a": {"t": {0: 5.0}}}, "step")
    provenance = Planned({"a": {"t": 4}}) if replication == PlannedSeeds() else given
    facts = replace(study({"baseline": [0.5]}).facts, replication=replication, provenance=provenance)
    plain = json.loads(json.dumps(plain_facts(facts)))
    assert (plain["given"], plain["has_seeds"]) == KEYS[replication]
    assert are_given(plain) == facts.is_given
    assert facts_from(plain) == facts
    assert {"replication", "provenance"}.isdisjoint(plain)


@pytest.mark.parametrize(("key", "value"), [("given", "rumours"), ("lost", [{"renamed": 1}]), ("renamed", 1)])
def test_what_another_version_wrote_is_refused_by_its_key(key, value):
    plain = plain_facts(study({"baseline": [0.5]}).facts) | {"given": "runs", key: value}
    with pytest.raises(ValidationError, match=key):
        facts_from(plain)
