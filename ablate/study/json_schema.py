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
    """Pydantic's generator, without titles that only repeat a name, and with the words that a switch takes."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def bool_schema(self, schema: core_schema.BoolSchema) -> Node:
        return {"enum": [True, False, "on", "off"]}


def study_schema(workload: Workload, configs: Sequence[type[StageConfig]]) -> Node:
    """Returns the schema of the studies of a workload, whose parts have been loaded, with the keys of stages."""
    study_of = study_model(workload, configs)
    parts = _registered_parts()
    models: list[Any] = [study_of, *[part.Config for part in parts]]
    # Reference of each model to its definition; and the definitions of all models, with those inside them.
    references, whole = models_json_schema(
        [(model, "validation") for model in models], schema_generator=_Generator
    )
    definitions, marks = _with_links(whole["$defs"])
    schemas: list[Node] = []
    for model in models:
        key = references[model, "validation"]["$ref"].removeprefix(_DEFS)
        schemas.append(definitions.pop(key))
    study, *part_schemas = schemas
    for part, schema in zip(parts, part_schemas, strict=True):
        definitions[f"{part.slot}.{part.name}"] = _described(part, schema)
    for key, mark in marks.items():
        definitions[key] = {"oneOf": list(_forms(mark, definitions))}
    _complete(study, workload)
    title = "A study of `ablate run`"
    return {"$schema": _Generator.schema_dialect, **study, "title": title, "$defs": definitions}


def _registered_parts() -> list[Any]:
    """Returns the parts of all slots, but workloads."""
    parts: list[Any] = []
    for slot in CATALOGUE.slots():
        if slot != "workload":
            parts += [CATALOGUE.get(slot, name) for name in CATALOGUE.names(slot)]
    return parts


def _with_links(definitions: Node) -> tuple[Node, dict[str, Node]]:
    """Returns definitions with references in place of the marks of slots, and key → mark."""
    marks: dict[str, Node] = {}

    def linked(node: Node) -> Node:
        mark = node.pop(SLOT_MARK, None)
        if mark:
            steps = [step for step in ("slot", mark["slot"], mark["unnamed"]) if step]
            key = ".".join(steps)
            marks[key] = mark
            node["$ref"] = _DEFS + key
        return node

    return json.loads(json.dumps(definitions), object_hook=linked), marks


def _described(part: Any, schema: Node) -> Node:
    """Returns the schema of a part's config with the name and the description of the part."""
    schema |= {"title": f"{part.slot} {part.name}", "description": inspect.getdoc(part) or ""}
    schema["properties"]["name"] = {"const": part.name, "description": summary(part)}
    return schema


def _complete(study: Node, workload: Workload) -> None:
    """Adds what models cannot say: the workload's name, one task or several, the grammar of claims."""
    properties = study["properties"]
    name = getattr(workload, "name", None)
    if name is not None and "workload" not in workload.schema():
        properties["workload"]["const"] = name
        if name != StudyConfig.model_fields["workload"].default:
            study["required"].append("workload")
    if "task" in properties:
        study["oneOf"] = [
            {"required": ["task"]},
            {"required": ["tasks"]},
            # Of conditions without `task` and `tasks`, each gives its own.
            {"required": ["conditions"], "not": {"anyOf": [{"required": ["task"]}, {"required": ["tasks"]}]}},
        ]
        study["dependentSchemas"] = {"conditions": {"not": {"required": ["tasks"]}}}
    properties["claims"]["items"]["description"] = f"{GRAMMAR}."


def _forms(mark: Node, definitions: Mapping[str, Node]) -> Iterator[Node]:
    """Yields the forms of a part in its slot: its name, or its parameters with `name`."""
    for name in CATALOGUE.names(mark["slot"]):
        key = f"{mark['slot']}.{name}"
        if "required" not in definitions[key]:
            yield definitions[key]["properties"]["name"]
        reference: Node = {"$ref": _DEFS + key}
        if name != mark["unnamed"]:
            reference["required"] = ["name"]
        yield reference


def fields(model: type[BaseModel]) -> dict[str, Node]:
    """Returns the schema of each field of a section or of a part's config.

    A mark stands where a part goes.
    """
    return model.model_json_schema(schema_generator=_Generator).get("properties", {})


def summary(part: type) -> str:
    """Returns the first line of a part's docstring: its formula."""
    return (inspect.getdoc(part) or "").partition("\n")[0]
