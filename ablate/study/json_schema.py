"""The JSON Schema (draft 2020-12) of study files: pydantic's own, with the registered parts in the places of slots.

It knows the parts that are registered when it is made. What depends on several keys at once (a rank and
d_model, the sides of a claim) is left to `ablate plan`.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, models_json_schema
from pydantic_core import core_schema

from ablate.base.registry import CATALOGUE, SLOT_MARK
from ablate.core.workload import Workload
from ablate.study.claims import GRAMMAR
from ablate.study.schema import StudyBase, study_model

Node = dict[str, Any]
"""A schema, or a place inside one."""
_DEFS = "#/$defs/"


class _Generator(GenerateJsonSchema):
    """Pydantic's, without titles that only repeat a name, and with the words that a switch takes."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def bool_schema(self, schema: core_schema.BoolSchema) -> Node:
        return {"enum": [True, False, "on", "off"]}


def study_schema(workload: Workload) -> Node:
    """The schema of the studies of a workload, whose parts have been loaded."""
    schemas = _Schemas(study_model(workload))
    study = schemas.study
    properties = study["properties"]
    name = getattr(workload, "name", None)
    if name is not None:
        properties["workload"] = {**properties["workload"], "const": name}
        if name != StudyBase.model_fields["workload"].default:
            study["required"].append("workload")
    if "task" in properties:
        study["oneOf"] = [{"required": ["task"]}, {"required": ["tasks"]}]
    properties["claims"]["items"]["description"] = f"{GRAMMAR}."
    patch = schemas.patch({section: properties[section] for section in workload.schema()})
    properties["variants"]["additionalProperties"].update(patch)
    factors = properties["factors"]
    factors.update(patch)
    for kind in ("properties", "patternProperties"):
        factors[kind] = {path: _levels(value) for path, value in patch[kind].items()}
    return {
        "$schema": GenerateJsonSchema.schema_dialect,
        **study,
        "title": "A study of `ablate run`",
        "$defs": dict(sorted(schemas.all.items())),
    }


def _levels(value: Node) -> Node:
    """A list of values of a path."""
    described = {key: value[key] for key in ("description",) if key in value}
    return described | {"type": "array", "minItems": 1, "items": value}


class _Schemas:
    """The schema of a study, and the definitions that it refers to: slots, parts and sections."""

    def __init__(self, study: type[BaseModel]) -> None:
        slots = [slot for slot in CATALOGUE.slots() if slot != "workload"]
        parts: dict[str, Any] = {f"{s}.{n}": CATALOGUE.get(s, n) for s in slots for n in CATALOGUE.names(s)}
        models = [study, *(part.Config for part in parts.values())]
        places, whole = models_json_schema(
            [(model, "validation") for model in models], schema_generator=_Generator
        )
        found, links = whole["$defs"], [places[model, "validation"]["$ref"] for model in models]
        own, *configs = [found.pop(link.removeprefix(_DEFS)) for link in links]
        for (key, part), config in zip(parts.items(), configs, strict=True):
            config["title"], config["description"] = key.replace(".", " "), inspect.getdoc(part) or ""
            config["properties"]["name"] = {"const": part.name, "description": summary(part)}
            found[key] = config
        self.slots: dict[str, list[str]] = {}
        "Reference of a slot → the keys of its parts."
        self.all: dict[str, Node] = found
        self.all |= {key: self._linked(node) for key, node in list(found.items())}
        self.study: Node = self._linked(own)

    def patch(self, sections: Mapping[str, Node]) -> Node:
        """A mapping from paths of a config to values, as factors and named variants change them."""
        found: dict[str, list[Node]] = {}
        hidden: set[str] = set()
        for path, value in self._paths(sections, "", ()):
            if value is None:
                hidden.add(path)
            elif value not in found.setdefault(path, []):
                found[path].append(value)
        values = {path: nodes[0] if len(nodes) == 1 else {"anyOf": nodes} for path, nodes in found.items()}
        below: dict[str, Node] = {f"^{re.escape(path)}\\.": {} for path in sorted(hidden)}
        return {"properties": values, "patternProperties": below, "additionalProperties": False}

    def _paths(
        self, properties: Mapping[str, Node], prefix: str, outer: tuple[str, ...]
    ) -> Iterator[tuple[str, Node | None]]:
        """Each path with a schema of its values; None where the paths below it cannot be listed."""
        for name, node in properties.items():
            path = prefix + name
            value = {key: item for key, item in node.items() if key not in ("default", "title")}
            for reference in _references(node):
                value = {key: node[key] for key in ("description",) if key in node}
                # A slot or a section takes any part of it, or its short form; a slot also some parameters of a part.
                if reference in self.slots:
                    value["anyOf"] = [{"$ref": reference}, *self._changes(self.slots[reference])]
                keys = self.slots.get(reference, [reference.removeprefix(_DEFS)])
                insides: list[Any] = [self.all[key].get("properties") for key in keys]
                if reference in outer or None in insides:
                    yield path, None
                    continue
                for inside in insides:
                    yield from self._paths(inside, f"{path}.", (*outer, reference))
            if isinstance(node.get("additionalProperties"), dict):
                yield path, None
            yield path, value

    def _changes(self, parts: list[str]) -> Iterator[Node]:
        """Forms that change some parameters of the baseline's part: without a name, or with one that needs more."""
        yield {"type": "object", "not": {"required": ["name"]}}
        for part in (self.all[key] for key in parts):
            if "required" in part:
                named = {"name": part["properties"]["name"]}
                yield {"type": "object", "properties": named, "required": ["name"]}

    def _linked(self, node: Any) -> Any:
        """`node` with references to the slots in the places of their marks."""
        if isinstance(node, list):
            return [self._linked(item) for item in node]
        if not isinstance(node, dict):
            return node
        linked = {key: self._linked(item) for key, item in node.items() if key != SLOT_MARK}
        if SLOT_MARK in node:
            slot, unnamed = node[SLOT_MARK]["slot"], node[SLOT_MARK]["unnamed"]
            linked["$ref"] = f"{_DEFS}slot.{slot}" + ("" if unnamed is None else f".{unnamed}")
            self._add_slot(linked["$ref"], slot, unnamed)
        return linked

    def _add_slot(self, reference: str, slot: str, unnamed: str | None) -> None:
        """Defines the forms of a part: its name, or its parameters with `name`."""
        names = CATALOGUE.names(slot)
        self.slots[reference] = [f"{slot}.{name}" for name in names]
        parts = [self.all[key] for key in self.slots[reference]]
        short: list[Node] = [part["properties"]["name"] for part in parts if "required" not in part]
        links: list[Node] = [{"$ref": f"{_DEFS}{key}"} for key in self.slots[reference]]
        whole = [
            link if name == unnamed else link | {"required": ["name"]}
            for name, link in zip(names, links, strict=True)
        ]
        self.all[reference.removeprefix(_DEFS)] = {"oneOf": short + whole}


def fields(model: type[BaseModel]) -> dict[str, Node]:
    """The schema of each field of a section or of a part's config; a mark is where a part goes."""
    return model.model_json_schema(schema_generator=_Generator).get("properties", {})


def summary(part: type) -> str:
    """The first line of a part's docstring: its formula."""
    return (inspect.getdoc(part) or "").partition("\n")[0]


def _references(node: Node) -> list[str]:
    """The definitions that a field refers to, itself or as one of its alternatives."""
    nodes = [node, *node.get("anyOf", ()), *node.get("allOf", ())]
    return [item["$ref"] for item in nodes if "$ref" in item]
