"""Facts are written under the keys that folders always had, whatever their form in memory."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from made_evidence import study
from pydantic import ValidationError

from ablate.core.facts import Claim, Less
from ablate.core.provenance import Given, LostRun, Planned
from ablate.core.replication import (
    Examples,
    Folds,
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
    Folds(): ("folds", False),
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
        for written_claim, claim in zip(written["claims"], plain["claims"], strict=True):
            assert [key for key in written_claim if key in claim] == [*claim], path
            assert {key: written_claim[key] for key in claim} == claim, path
        for key in ("given", "has_seeds", "until", "own_seeds", "lost", "own_lengths", "length_column"):
            assert key not in plain or written[key] == plain[key], (path, key)


def of_claim(less):
    """The facts of a study with one claim."""
    claim = Claim("x", "interaction" if less else "beats", "loss", ["a"], ["b"], 0.0, less=less)
    return replace(study({"baseline": [0.5]}).facts, claims=[claim])


@pytest.mark.parametrize(
    ("less", "keys"),
    [
        (None, ([], [], "")),
        (Less(["c"], ["d"], "loss"), (["c"], ["d"], "")),
        (Less(["a"], ["b"], "loss@near"), (["a"], ["b"], "loss@near")),
    ],
)
def test_where_a_claim_is_less_stands_under_flat_keys(less, keys):
    facts = of_claim(less)
    plain = json.loads(json.dumps(plain_facts(facts)))
    (claim,) = plain["claims"]
    assert [*claim] == [
        *("text", "kind", "metric", "a", "b", "by", "declared", "exploratory"),
        *("a_less", "b_less", "constant", "metric_less"),
    ]
    assert (claim["a_less"], claim["b_less"], claim["metric_less"]) == keys
    assert facts_from(plain) == facts


def test_a_claim_with_a_key_of_another_version_is_refused_by_it():
    plain = plain_facts(of_claim(None))
    plain["claims"][0]["renamed"] = 1
    with pytest.raises(ValidationError, match="renamed"):
        facts_from(plain)


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
