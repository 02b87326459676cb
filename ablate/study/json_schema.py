"""The JSON Schema (draft 2020-12) of study files: completion, meanings and checks in editors.

It knows the parts that are registered when it is made. What depends on several keys at once (a rank and
d_model, the sides of a claim) is left to `ablate plan`.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import core_schema

from ablate.base.registry import CATALOGUE, SLOT_MARK
from ablate.core.workload import Workload
from ablate.study.claims import GRAMMAR
from ablate.study.schema import StudyBase, study_model
from ablate.study.sections.seeds import TUNING_SEEDS_FROM

Node = dict[str, Any]
"""A schema, or a place inside one."""


def study_schema(workload: Workload) -> Node:
    """The schema of the studies of a workload, whose parts have been loaded."""
    definitions = _Definitions()
    study = definitions.of_model(study_model(workload), "study")
    properties = study["properties"]
    name = getattr(workload, "name", None)
    if name is not None:
        properties["workload"] = {**properties["workload"], "const": name}
        if name != StudyBase.model_fields["workload"].default:
            study["required"].append("workload")
    if "task" in properties:
        study["oneOf"] = [{"required": ["task"]}, {"required": ["tasks"]}]
    seed = {"type": "integer", "minimum": 0, "exclusiveMaximum": TUNING_SEEDS_FROM}
    shorts: dict[str, list[Node]] = {
        "metric": [{"type": "string", "description": "Its name."}],
        "seeds": [
            {
                "type": "integer",
                "minimum": 1,
                "maximum": TUNING_SEEDS_FROM,
                "description": "Their number.",
            },
            {
                "type": "array",
                "items": seed,
                "minItems": 1,
                "uniqueItems": True,
                "description": "Each of them.",
            },
        ],
    }
    shorts["speed"] = [
        {"enum": [True, False, "on", "off"], "description": "With its defaults, or not at all."}
    ]
    for section, short in shorts.items():
        whole = properties[section].pop("anyOf", None) or [{"$ref": properties[section].pop("$ref")}]
        properties[section]["anyOf"] = [*short, *whole]
    properties["claims"]["items"]["description"] = f"{GRAMMAR}."
    patch = definitions.patch({section: properties[section] for section in workload.schema()})
    factors = properties["factors"]
    factors.update(patch | {"properties": {}, "patternProperties": {}})
    for kind in ("properties", "patternProperties"):
        for path, value in patch[kind].items():
            described = {key: value[key] for key in ("description",) if key in value}
            factors[kind][path] = described | {"type": "array", "minItems": 1, "items": value}
    properties["variants"]["additionalProperties"].update(patch)
    return {
        "$schema": GenerateJsonSchema.schema_dialect,
        **study,
        "title": "A study of `ablate run`",
        "$defs": dict(sorted(definitions.all.items())),
    }


class _Generator(GenerateJsonSchema):
    """Pydantic's, without titles that only repeat a name, and with the words that a switch takes."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def bool_schema(self, schema: core_schema.BoolSchema) -> Node:
        return {"enum": [True, False, "on", "off"]}


class _Definitions:
    """The definitions that schemas refer to: slots, parts and sections."""

    def __init__(self) -> None:
        self.all: dict[str, Node] = {}
        self.slots: dict[str, list[str]] = {}
        "Reference of a slot → references of its parts."

    def of_model(self, model: type[BaseModel], name: str) -> Node:
        """The schema of a model; what it contains is defined under its name."""
        template = f"#/$defs/{name}.{{model}}"
        schema = model.model_json_schema(schema_generator=_Generator, ref_template=template)
        for inner, definition in schema.pop("$defs", {}).items():
            self.all[f"{name}.{inner}"] = self._linked(definition)
        return self._linked(schema)

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
        self, properties: Mapping[str, Node], prefix: str, open_references: tuple[str, ...]
    ) -> Iterator[tuple[str, Node | None]]:
        """Each path with a schema of its values; None where the paths below it cannot be listed."""
        for name, node in properties.items():
            path = prefix + name
            value = {key: item for key, item in node.items() if key not in ("default", "title")}
            for reference in _references(node):
                value = {key: node[key] for key in ("description",) if key in node}
                # A slot or a section takes any part of it, or its short form; a slot also some parameters of a part.
                if reference in self.slots:
                    value["anyOf"] = [{"$ref": reference}, *self._changes(reference)]
                insides: list[Any] = [
                    self._resolve(part).get("properties") for part in self.slots.get(reference, [reference])
                ]
                if reference in open_references or None in insides:
                    yield path, None
                    continue
                for inside in insides:
                    yield from self._paths(inside, f"{path}.", (*open_references, reference))
            if isinstance(node.get("additionalProperties"), dict):
                yield path, None
            yield path, value

    def _changes(self, reference: str) -> Iterator[Node]:
        """Forms that change some parameters of the baseline's part: without a name, or with one that needs more."""
        yield {"type": "object", "not": {"required": ["name"]}}
        for part in map(self._resolve, self.slots[reference]):
            if "required" in part:
                yield {
                    "type": "object",
                    "properties": {"name": part["properties"]["name"]},
                    "required": ["name"],
                }

    def _resolve(self, reference: str) -> Node:
        return self.all[reference.removeprefix("#/$defs/")]

    def _linked(self, node: Any) -> Any:
        """`node` with references to the slots in the places of their marks."""
        if isinstance(node, list):
            return [self._linked(item) for item in node]
        if not isinstance(node, dict):
            return node
        linked = {key: self._linked(item) for key, item in node.items() if key != SLOT_MARK}
        return linked | {"$ref": self._slot(**node[SLOT_MARK])} if SLOT_MARK in node else linked

    def _slot(self, slot: str, unnamed: str | None) -> str:
        """A reference to the forms of a part: its name, or its parameters with `name`."""
        key = f"slot.{slot}" if unnamed is None else f"slot.{slot}.{unnamed}"
        reference = f"#/$defs/{key}"
        if key in self.all:
            return reference
        names = CATALOGUE.names(slot)
        self.all[key] = {}  # so that a part that holds parts of its own slot ends here
        self.slots[reference] = [f"#/$defs/{slot}.{name}" for name in names]
        short, whole = [], []
        for name, part in zip(names, self.slots[reference], strict=True):
            self._part(slot, name)
            if "required" not in self._resolve(part):
                short.append(self._resolve(part)["properties"]["name"])
            whole.append({"$ref": part} if name == unnamed else {"$ref": part, "required": ["name"]})
        self.all[key] = {"oneOf": short + whole}
        return reference

    def _part(self, slot: str, name: str) -> None:
        key = f"{slot}.{name}"
        if key not in self.all:
            part: Any = CATALOGUE.get(slot, name)
            self.all[key] = {"properties": {"name": {"const": name}}}  # until it is known, for parts in parts
            schema = self.of_model(part.Config, key)
            schema["title"], schema["description"] = f"{slot} {name}", inspect.getdoc(part) or ""
            schema["properties"]["name"] = {"const": name, "description": summary(part)}
            self.all[key] = schema


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
