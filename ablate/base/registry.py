"""The registry of swappable parts: register, look up, list, describe. Imports no torch.

A part is one class with a typed config beside it, registered under a slot and a name:

    @register("score", "cosine")
    class Cosine(Score):
        '''cos(q, k) / temperature.'''

        joins_widths = False

        class Config(PartConfig):
            temperature: PositiveFloat = 0.1
            "Divides the cosine."

        def __init__(self, config: Config, sizes: Sizes) -> None: ...

A field of another config that takes a part is `Annotated[Any, Slot("score")]`. What a part can do stands in its own
class, for each attribute that a base marks as `Stated`.
"""

import importlib
import importlib.metadata
import inspect
import pkgutil
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, TypeVar, get_args, get_origin

from pydantic import BaseModel, BeforeValidator, ConfigDict, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import PydanticCustomError, core_schema

from ablate.base.errors import AblateError, listed, nearest

# Where the built-in parts are found, by package scan.
PACKAGES = ("components", "models", "tasks", "training", "external", "search")

Class = TypeVar("Class", bound=type)


def _as_switch(value: object) -> object:
    """Returns True for `on`, False for `off`, and any other value as it is."""
    is_switch = isinstance(value, str) and value in ("on", "off")
    return value == "on" if is_switch else value


# A switch: `on`, `off`, `true` or `false`.
OnOff = Annotated[bool, BeforeValidator(_as_switch)]


class StrictModel(BaseModel):
    """Base of all that a study file holds: unknown keys are refused, numbers are finite, nothing is coerced."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        strict=True,
        allow_inf_nan=False,
        validate_default=True,
        use_attribute_docstrings=True,
    )


class PartConfig(StrictModel):
    """The parameters of one part; subclasses add typed fields, each with its meaning under it."""

    # The class that this config builds; set when the part is registered.
    part: ClassVar[type]

    name: str = ""
    "The name under which the part is registered."

    def build(self, *args: Any, **kwargs: Any) -> Any:
        """Builds the part: `part(config, *args, **kwargs)`. Raises `Invalid` with paths from the part."""
        return self.part(self, *args, **kwargs)


@dataclass(frozen=True)
class Stated:
    """Mark of a class attribute, True or False, that each registered part states in its own class.

        gated: ClassVar[Annotated[bool, Stated("whether it takes a value and a gate")]]

    A base declares the attribute so, without a value: a default would be inherited by a part that it is wrong for.
    """

    meaning: str  # As a clause.


class UnknownPart(AblateError):
    """Error for a name that no part of a slot has."""

    def __init__(self, slot: str, name: object, names: Iterable[str]) -> None:
        self.slot, self.name, self.names = slot, name, sorted(names)
        self.hint = nearest(name, self.names)
        super().__init__(f"unknown {slot} {name!r}; allowed: {listed(self.names, 40)}. {self.hint}".rstrip())


class Catalogue:
    """Parts by slot and name."""

    def __init__(self) -> None:
        self._parts: dict[str, dict[str, type]] = {}
        self._loaded: set[str] = set()

    def register(self, slot: str, name: str) -> Callable[[Class], Class]:
        """Returns a class decorator that files a part under `slot` and `name`.

        The decorator raises `AblateError` where another part has both, and for a part that does not state what its
        bases mark as `Stated`.
        """

        def decorate(part: Class) -> Class:
            parts = self._parts.setdefault(slot, {})
            if name in parts:
                where = f"{parts[name].__module__}.{parts[name].__qualname__}"
                raise AblateError(f"{slot} {name!r} is already registered by {where}; choose another name")
            _refuse_unstated(part, slot, name)
            config = _config_of(part, slot, name)
            config.part = part
            part.Config = config  # type: ignore[attr-defined]
            part.slot = slot  # type: ignore[attr-defined]
            part.name = name  # type: ignore[attr-defined]
            parts[name] = part
            return part

        return decorate

    def slots(self) -> list[str]:
        """Returns all slots that have a part."""
        return sorted(self._parts)

    def names(self, slot: str) -> list[str]:
        """Returns the names registered under `slot`."""
        return sorted(self._parts.get(slot, {}))

    def able(self, slot: str, ability: str, *, silent: bool = False) -> list[str]:
        """Returns the names of the parts of `slot` whose class has `ability` set to True.

        silent: the answer for a class that lacks the attribute, as one without the base of its slot may.
        """
        return [name for name in self.names(slot) if getattr(self._parts[slot][name], ability, silent)]

    def get(self, slot: str, name: object) -> type:
        """Returns the class that is registered as `name` in a slot. Raises `UnknownPart`."""
        parts = self._parts.get(slot, {})
        if not isinstance(name, str) or name not in parts:
            raise UnknownPart(slot, name, parts)
        return parts[name]

    def load_builtin(self) -> None:
        """Imports every module of the packages that hold parts, so that each registers itself."""
        for package in PACKAGES:
            self.load_package(package)
        for entry in importlib.metadata.entry_points(group="ablate.plugins"):
            if entry.value not in self._loaded:
                entry.load()
                self._loaded.add(entry.value)

    def load_package(self, name: str) -> None:
        """Imports every module of one package of `ablate`."""
        package = f"ablate.{name}"
        if package not in self._loaded:
            for info in pkgutil.iter_modules(importlib.import_module(package).__path__):
                importlib.import_module(f"{package}.{info.name}")
            self._loaded.add(package)

    def forget(self, modules: Collection[str]) -> None:
        """Removes the parts that `modules` have registered."""
        for slot, parts in self._parts.items():
            self._parts[slot] = {name: part for name, part in parts.items() if part.__module__ not in modules}


def _refuse_unstated(part: type, slot: str, name: str) -> None:
    """Raises `AblateError` for a part that does not state what its bases mark as `Stated`."""
    missing = [f"`{attribute}` ({meaning})" for attribute, meaning in _unstated(part).items()]
    if missing:
        raise AblateError(
            f"{slot} {name!r} must state in its class, as True or False: {', '.join(missing)}; "
            "see `ablate guide own-parts`"
        )


def _unstated(part: type) -> dict[str, str]:
    """Returns what a part should state in its own class and does not: attribute → meaning."""
    meanings: dict[str, str] = {}
    for base in part.__mro__[1:]:
        for attribute, annotation in inspect.get_annotations(base).items():
            mark = _mark_in(annotation)
            if mark is not None and attribute not in vars(part):
                meanings[attribute] = mark.meaning
    return meanings


def unclear_statements(part: type) -> list[str]:
    """Returns the marked attributes of a part whose value is neither True nor False, as "`gated` is 'off'"."""
    unclear: list[str] = []
    for base in part.__mro__[1:]:
        for attribute, annotation in inspect.get_annotations(base).items():
            value = vars(part).get(attribute)
            is_marked = _mark_in(annotation) is not None and attribute in vars(part)
            if is_marked and not isinstance(value, bool):
                unclear.append(f"`{attribute}` is {value!r}")
    return unclear


def _mark_in(annotation: object) -> Stated | None:
    """Returns the mark in `ClassVar[Annotated[bool, Stated(…)]]`; None for other annotations."""
    if get_origin(annotation) is not ClassVar:
        return None
    (declared,) = get_args(annotation)
    marks = [mark for mark in get_args(declared) if isinstance(mark, Stated)]
    return marks[0] if marks else None


def _config_of(part: type, slot: str, name: str) -> type[PartConfig]:
    """Returns the config class of a part; a new one, of inherited fields, where it defines none.

    Raises `AblateError` for a class that is no config, or that of another part: a config knows its one part.
    """
    config = vars(part).get("Config")
    if config is None:
        base = getattr(part, "Config", PartConfig)
        attributes = {
            "__module__": part.__module__,
            "__doc__": part.__doc__,
            # Its fields are described where they stand: pydantic would look for them in every loaded module.
            "model_config": ConfigDict(use_attribute_docstrings=False),
        }
        return type("Config", (base,), attributes)
    is_config = isinstance(config, type) and issubclass(config, PartConfig)
    if not is_config or vars(config).get("part", part) is not part:
        raise AblateError(f"{slot} {name!r}: its Config must be a class of its own, from PartConfig")
    return config


# Marks the place of a slot's parts in a JSON Schema.
SLOT_MARK = "x-ablate-slot"

CATALOGUE = Catalogue()
register = CATALOGUE.register


@dataclass(frozen=True)
class Slot:
    """Marks a field that takes a part: a name, or a mapping of the part's parameters with `name`."""

    slot: str
    # The part that a mapping without `name` means.
    default: str | None = None

    def config(self, value: Any) -> tuple[type[PartConfig], dict[str, Any]]:
        """Returns the config class that `value` asks for, and the parameters given. Raises `PydanticCustomError`."""
        if isinstance(value, PartConfig):
            value = value.model_dump()
        params = dict(value) if isinstance(value, dict) else {"name": value}
        name = params.get("name", self.default)
        if name is None:
            raise PydanticCustomError("part_without_name", "needs a `name`", self._context(name))
        try:
            part = CATALOGUE.get(self.slot, name)
        except UnknownPart:
            raise PydanticCustomError("unknown_part", "unknown {slot}", self._context(name)) from None
        return part.Config, params | {"name": name}  # type: ignore[attr-defined]

    def _context(self, name: object) -> dict[str, Any]:
        """Returns what an error on a name says: the slot, the name, and the registered ones."""
        return {"slot": self.slot, "name": name, "names": CATALOGUE.names(self.slot)}

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        def validate(value: Any, info: core_schema.ValidationInfo) -> PartConfig:
            config, params = self.config(value)
            return config.model_validate(params, context=info.context)

        return core_schema.with_info_plain_validator_function(
            validate,
            serialization=core_schema.plain_serializer_function_ser_schema(
                lambda part: part.model_dump() if isinstance(part, BaseModel) else part
            ),
        )

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """Returns a mark, in whose place `ablate.study.json_schema` puts the parts that are registered."""
        return {SLOT_MARK: {"slot": self.slot, "unnamed": self.default}}
