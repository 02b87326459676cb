"""Classes of Optuna's as parts: a study names one as Optuna does, and gives it arguments of its signature."""

import inspect
import operator
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, reduce
from importlib.util import find_spec
from types import ModuleType
from typing import Annotated, Any, ClassVar

from pydantic import (
    BeforeValidator,
    Field,
    GetJsonSchemaHandler,
    SerializerFunctionWrapHandler,
    create_model,
    model_serializer,
)
from pydantic.json_schema import SkipJsonSchema
from pydantic_core import core_schema

from ablate.base.errors import Invalid, listed
from ablate.base.quiet import quiet
from ablate.base.registry import CATALOGUE, OnOff, PartConfig, Slot, UnknownPart
from ablate.base.text import first_line
from ablate.study.sections import refusal

# The types of arguments that a study can give, as signatures write them.
PLAIN: dict[str, Any] = {"int": int, "float": float, "str": str, "bool": OnOff, "None": None}
# Packages that a class imports when it is first used.
NEEDS = {
    "CmaEsSampler": ("cmaes",),
    "GPSampler": ("scipy", "torch"),
    "QMCSampler": ("scipy",),
    "WilcoxonPruner": ("scipy",),
}


@dataclass(frozen=True, kw_only=True, eq=False)
class OptunaSlot(Slot):
    """A slot that takes a registered part, or a class of Optuna's by its own name."""

    # In messages: `a class of optuna.samplers`.
    noun: str
    # Returns the classes, by name; imports Optuna.
    classes: Callable[[], Mapping[str, type]]
    # The base of the parts that they become.
    base: type
    # The base of some of them, by name.
    bases: Mapping[str, type] = field(default_factory=dict)
    # The names of classes that a study cannot use.
    unusable: Collection[str]

    def names(self) -> list[str]:
        """Returns the sorted names of Optuna's classes that a study can use."""
        return sorted(self.classes().keys() - {*self.unusable})

    def part(self, name: str) -> type:
        """Returns the part of this name, or raises `UnknownPart`."""
        if name in CATALOGUE.names(self.slot):
            return CATALOGUE.get(self.slot, name)
        wraps = self.classes().get(name)
        if wraps is None:
            raise UnknownPart(self.slot, name, [*CATALOGUE.names(self.slot), *self.names()])
        return part_of(wraps, self.bases.get(name, self.base))

    def config(self, value: Any) -> tuple[type[PartConfig], dict[str, Any]]:
        """Returns the config class that `value` asks for, and the parameters given; raises `PydanticCustomError`."""
        given = value.model_dump() if isinstance(value, PartConfig) else value
        parameters = dict(given) if isinstance(given, dict) else {"name": given}
        name = parameters.get("name")
        if not isinstance(name, str):
            return super().config(given)
        try:
            part: Any = self.part(name)
        except UnknownPart:
            return super().config(given)
        return part.Config, parameters

    def _context(self, name: object) -> dict[str, Any]:
        return super()._context(name) | {"names": [*CATALOGUE.names(self.slot), *self.names()]}

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """Returns the JSON schema of the slot: a registered part, or a class of Optuna's with plain arguments."""
        name = {"type": "string", "pattern": r"^[A-Z]\w*$", "description": f"The name of {self.noun}."}
        arguments = {"type": ["number", "string", "boolean", "null"]}
        named = {
            "type": "object",
            "properties": {"name": name},
            "required": ["name"],
            "additionalProperties": arguments,
        }
        return {"anyOf": [super().__get_pydantic_json_schema__(schema, handler), name, named]}


class Arguments(PartConfig):
    """Base of configs that hold the arguments of one class of Optuna, such as `GPSampler`.

    One at its default is neither written nor passed on, so that a version with further arguments changes no study.
    """

    # The class that takes them.
    wraps: ClassVar[type]

    @model_serializer(mode="wrap")
    def _given(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        fields = type(self).model_fields
        return {name: value for name, value in dump(self).items() if value != fields[name].default}

    def __repr_args__(self) -> Iterator[tuple[str, Any]]:
        yield from self.model_dump().items()

    def make(self, **more: Any) -> Any:
        """Returns an instance of the class."""
        return self.wraps(**self.model_dump(exclude={"name"}), **more)


def classes_in(module: ModuleType, base: type) -> dict[str, type]:
    """Returns the public classes of a module that are not abstract, by name."""
    concrete = {}
    for name in module.__all__:
        public = getattr(module, name)
        if isinstance(public, type) and issubclass(public, base) and not inspect.isabstract(public):
            concrete[name] = public
    return concrete


@cache
def part_of(wraps: type, base: type) -> type:
    """Returns a part, below `base`, whose config has the arguments of a class of Optuna's."""
    fields: dict[str, Any] = {}
    for name, parameter in inspect.signature(wraps).parameters.items():
        fields[name] = _field(parameter)
    config = create_model("Config", __base__=Arguments, **fields)
    attributes = {
        "name": wraps.__name__,
        "Config": config,
        # The place and the first lines of Optuna's class, for `ablate list`.
        "__module__": wraps.__module__,
        "__doc__": (inspect.getdoc(wraps) or "").partition("\n\n")[0],
    }
    part = type(wraps.__name__, (base,), attributes)
    config.wraps = wraps
    config.part = part
    return part


def _field(parameter: inspect.Parameter) -> tuple[Any, Any]:
    """Returns the type of an argument and its default, as pydantic takes them."""
    not_given = Field(None, exclude=True)
    if parameter.name == "seed":
        return _refused("is set by the search itself, so that it can be repeated", "no `seed`"), not_given
    is_required = parameter.default is inspect.Parameter.empty
    names = _type_names(parameter.annotation)
    if all(name in PLAIN for name in names):
        plain = reduce(operator.or_, [PLAIN[name] for name in names])
        return plain, ... if is_required else parameter.default
    allowed = "null" if "None" in names else ""
    refused = _refused("takes an object, which a study cannot give", allowed)
    return refused, ... if is_required else not_given


def _type_names(annotation: Any) -> list[str]:
    """Returns the names of the types that an argument takes.

    annotation: text, or a type.
    """
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return text.split(" | ")


def _refused(rule: str, allowed: str) -> Any:
    """Returns the type of an argument that a study cannot give."""

    def refuse(value: Any) -> None:
        if value is not None:
            raise refusal(rule, allowed)

    return Annotated[None, BeforeValidator(refuse), SkipJsonSchema()]


def check_packages(name: str) -> None:
    """Raises `Invalid` where a class needs a package that is not installed."""
    missing = [package for package in NEEDS.get(name, ()) if find_spec(package) is None]
    if missing:
        hint = f"Install what is missing: `pip install {' '.join(missing)}`"
        raise Invalid("", f"needs packages that are not installed: {listed(missing)}", name, hint=hint)


@contextmanager
def refusing(config: PartConfig) -> Iterator[None]:
    """Turns what Optuna raises inside into `Invalid`, with its message."""
    with quiet():
        try:
            yield
        except Exception as error:
            rule = f"Optuna refuses {config.name}: {first_line(error).rstrip('.')}"
            raise Invalid("", rule, config.model_dump()) from error
