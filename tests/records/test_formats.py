"""The format number of every kept file rises when its fields change."""

import json
from pathlib import Path
from typing import get_args

import pytest
from pydantic import TypeAdapter

from ablate.base.files import digest_of_data
from ablate.commits import lines
from ablate.core.facts import StudyFacts
from ablate.core.provenance import Given, Planned
from ablate.core.replication import Replication
from ablate.records import facts_file, record_file, tables, trial_list
from ablate.runs import noise


class FactsFile:
    """The facts as a folder has them: those in memory, with the keys of parts in place of the parts."""

    def json_schema(self):
        """Returns the schema of the flat form."""
        schema = TypeAdapter(StudyFacts).json_schema()
        parts = [TypeAdapter(part).json_schema() for part in (facts_file._ReplicationKeys, Planned, Given)]
        for name in ("replication", "provenance"):
            del schema["properties"][name]
        in_memory = {kind.__name__ for kind in (*get_args(Replication), Planned, Given)}
        schema["$defs"] = {name: found for name, found in schema["$defs"].items() if name not in in_memory}
        claim = schema["$defs"]["Claim"]["properties"]
        del claim["less"], schema["$defs"]["Less"]
        claim |= TypeAdapter(facts_file._LessKeys).json_schema()["properties"]
        for part in parts:
            schema["properties"] |= part["properties"]
            schema["$defs"] |= part.get("$defs", {})
        # A folder has a word there, of which each version knows some.
        schema["properties"]["given"] = {"type": "string", "default": ""}
        return schema


RECORDED = Path(__file__).with_name("formats.json")
"""Kept file → its format → a digest of its fields in that format."""
KEPT = {
    "evidence": (tables.FORMAT, FactsFile()),
    "record": (record_file.FORMAT, TypeAdapter(record_file._Stored)),
    "trial list": (trial_list.FORMAT, trial_list._CONTENT),
    "ledger": (lines.FORMAT, lines.LINE),
    "known noise": (noise.KeptNoise.format, noise._NOISE),
}


def fields(node):
    """A JSON schema without its words, and with fields in the order of their names."""
    if isinstance(node, dict):
        return {key: fields(node[key]) for key in sorted(node) if key not in ("title", "description")}
    return [fields(item) for item in node] if isinstance(node, list) else node


@pytest.mark.parametrize("name", KEPT)
def test_fields_change_with_their_format_alone(name):
    """After a change of fields: raise the number, and record the digest that this prints under it."""
    number, schema = KEPT[name]
    digest = digest_of_data(fields(schema.json_schema()))
    assert json.loads(RECORDED.read_text())[name].get(str(number)) == digest, (number, digest)
