"""The JSON Schema (draft 2020-12) of study files: pydantic's own, with the registered parts in the places of slots.

It knows the parts that are registered when it is made. What depends on several keys at once (a rank and
d_model, the path of a factor, the sides of a claim) is left to `ablate plan`.
"""

import inspect
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, models_json_schema
from pydantic_core import core_schema

from ablate.base.registry import CATALOGUE, SLOT_MARK
from ablate.core.workload import Workload
from ablate.study.claim_grammar import GRAMMAR
from ablate.study.schema import StudyConfig, study_model
from ablate.study.stage_config import StageConfig

# A schema, or a place inside one.
Node = dict[str, Any]
_DEFS = "#/$defs/"


class _Generator(GenerateJsonSchema):
    """Pydantic's, without titles that only repeat a name, and with the words that a switch takes."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def bool_schema(self, schema: core_schema.BoolSchema) -> Node:
        return {"enum": [True, False, "on", "off"]}


def study_schema(workload: Workload, configs: Sequence[type[StageConfig]]) -> Node:
    """Returns the schema of the studies of a workload, whose parts have been loaded, with the keys of stages."""
    study_of = study_model(workload, configs)
    slots = [slot for slot in CATALOGUE.slots() if slot != "workload"]
    parts: list[Any] = [CATALOGUE.get(slot, name) for slot in slots for name in CATALOGUE.names(slot)]
    models: list[Any] = [study_of, *(part.Config for part in parts)]
    places, whole = models_json_schema(
        [(model, "validation") for model in models], schema_generator=_Generator
    )
    marks: dict[str, Node] = {}

    def linked(node: Node) -> Node:
        """A node with a reference to a slot in the place of its mark."""
        if mark := node.pop(SLOT_MARK, None):
            key = ".".join(filter(None, ("slot", mark["slot"], mark["unnamed"])))
            marks[key] = mark
            node["$ref"] = _DEFS + key
        return node

    definitions = json.loads(json.dumps(whole["$defs"]), object_hook=linked)
    keys = [places[model, "validation"]["$ref"].removeprefix(_DEFS) for model in models]
    study, *configs = map(definitions.pop, keys)
    for part, config in zip(parts, configs, strict=True):
        config |= {"title": f"{part.slot} {part.name}", "description": inspect.getdoc(part) or ""}
        config["properties"]["name"] = {"const": part.name, "description": summary(part)}
        definitions[f"{part.slot}.{part.name}"] = config
    for key, mark in marks.items():
        definitions[key] = {"oneOf": [*_forms(mark, definitions)]}
    properties, name = study["properties"], getattr(workload, "name", None)
    if name is not None and "workload" not in workload.schema():
        properties["workload"]["const"] = name
        study["required"] += [] if name == StudyConfig.model_fields["workload"].default else ["workload"]
    if "task" in properties:
        study["oneOf"] = [{"required": ["task"]}, {"required": ["tasks"]}]
    properties["claims"]["items"]["description"] = f"{GRAMMAR}."
    title = "A study of `ablate run`"
    return {"$schema": _Generator.schema_dialect, **study, "title": title, "$defs": definitions}


def _forms(mark: Node, definitions: Mapping[str, Node]) -> Iterator[Node]:
    """The forms of a part in its slot: its name, or its parameters with `name`."""
    for name in CATALOGUE.names(mark["slot"]):
        key = f"{mark['slot']}.{name}"
        if "required" not in definitions[key]:
            yield definitions[key]["properties"]["name"]
        yield {"$ref": _DEFS + key} | ({} if name == mark["unnamed"] else {"required": ["name"]})


def fields(model: type[BaseModel]) -> dict[str, Node]:
    """The schema of each field of a section or of a part's config; a mark is where a part goes."""
    return model.model_json_schema(schema_generator=_Generator).get("properties", {})


def summary(part: type) -> str:
    """The first line of a part's docstring: its formula."""
    return (inspect.getdoc(part) or "").partition("\n")[0]
