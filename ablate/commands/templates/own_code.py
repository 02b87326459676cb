"""A part, a task or training code of one's own, each with a study that uses it, made from templates."""

from collections.abc import Mapping
from importlib.util import find_spec
from keyword import iskeyword
from pathlib import Path

from ablate.base.errors import listed, nearest
from ablate.base.registry import CATALOGUE
from ablate.commands.templates import PARTS
from ablate.commands.templates.fill import OTHER, refusal, rendered, write
from ablate.models.reference import places
from ablate.study.plain_yaml import parse_value


def create_part(slot: str, target: Path) -> list[Path]:
    """Writes a part or task with the name and in the folder of `target`, and a study of it. Raises `AblateError`."""
    if slot not in PARTS:
        raise refusal(
            "has no template of a part", slot, listed(PARTS), hint=nearest(slot, PARTS), source="--part"
        )
    file = _file(target, slot, "NAME")
    values = _names(file, slot) | {"parameter": PARTS[slot]}
    if slot == "task":
        return write(_with_study(file, "task.py.j2", "task", values))

    place = places()[slot]
    values |= {
        "slot": slot,
        "path": ".".join(["model", *place.path]),
        "default": place.default,
    }
    return write(_with_study(file, f"{slot}.py.j2", "part", values))


def create_workload(target: Path) -> list[Path]:
    """Writes a workload with the name and in the folder of `target`, and a study of it. Raises `AblateError`."""
    file = _file(target, "workload", "--workload")
    return write(_with_study(file, "workload.py.j2", "workload", _names(file, "workload")))


def _with_study(file: Path, template: str, kind: str, values: Mapping[str, str | None]) -> dict[Path, str]:
    """Returns the texts of a user's code file and of an example study beside it, by path."""
    code = rendered(template, **values)
    study = rendered(f"own_{kind}.yaml.j2", **values)
    return {file: code, file.with_suffix(".yaml"): study}


def _file(target: Path, slot: str, source: str) -> Path:
    """Returns the file of a part, task or workload. Raises `AblateError` where it cannot be of that name."""
    name = target.name.removesuffix(".py")
    if not name.isidentifier() or iskeyword(name) or parse_value(name) != name:
        allowed = "letters, digits and '_', the first a letter, for instance `my_part`"
        raise refusal("cannot be the name of a Python file", name, allowed, source=source)
    if name in CATALOGUE.names(slot):
        raise refusal(f"is already registered as {slot}", name, hint=OTHER, source=source)
    file = target.with_name(f"{name}.py")
    if not file.exists() and find_spec(name) is not None:
        rule = "is a Python module, which a file of this name could hide"
        raise refusal(rule, name, hint=OTHER, source=source)
    return file


def _names(file: Path, slot: str) -> dict[str, str | None]:
    """Returns the names of a part for its templates; its class has the slot, so that it is no name that they import."""
    words = [*file.stem.split("_"), slot]
    class_name = "".join(word.capitalize() for word in words)
    return {"name": file.stem, "class_name": class_name, "file": f"{file.stem}.yaml"}
