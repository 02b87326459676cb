"""The workload of a user's script without flags, whose constants are replaced."""

import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from ablate.base.errors import Gather, Invalid, listed, nearest
from ablate.base.files import NotReadableError, read_plain
from ablate.base.registry import register
from ablate.core.code_note import CodeNote
from ablate.external import options, script
from ablate.external.cautions import assigning
from ablate.external.interpreter import python_of_code
from ablate.external.passing import check_exists
from ablate.external.script import UNREADABLE, Constants, edited, explained, parsed_source
from ablate.external.sources import MAX_SOURCE
from ablate.external.workload import UNSEEDED, External


@register("workload", "script")
class ScriptWorkload(External):
    """A script of the user's without flags: constants at its top level are replaced in a temporary copy."""

    Options = options.ScriptOptions

    def command_line(self, config: Mapping[str, Any], seed: int) -> list[str]:
        values = json.dumps(_values(config, seed))
        return [python_of_code(), "-P", script.__file__, config["workload"]["script"], values]

    def sources(self, config: BaseModel) -> list[Any]:
        return [*super().sources(config), script.main]

    def code_notes(self, config: Mapping[str, Any]) -> list[CodeNote]:
        notes = super().code_notes(config)
        settings = tuple(f"config.{name}" for name in config["config"])
        for place in assigning(self.folder / config["workload"]["script"]):
            text = f"code at {place} may assign constants anew, unseen by ablate"
            notes.append(CodeNote(text, "settings", settings))
        if not config["workload"]["seed"] and self.lacks_seed(config):
            text = f"`workload:` has no `seed:` that names the constant of the seed, {UNSEEDED}"
            notes.append(CodeNote(text, "seeds"))
        return notes

    def check(self, config: Mapping[str, Any]) -> None:
        super().check(config)
        file = self.folder / config["workload"]["script"]
        check_exists(config["workload"]["script"], self.folder, "workload.script")
        source = _source(file)
        try:
            constants = _constants(source)
        except UNREADABLE as error:
            raise Invalid(
                "workload.script", f"cannot be read as Python: {explained(error)}", file.name
            ) from None
        seed = config["workload"]["seed"]
        places = {name: f"config.{name}" for name in config["config"]}
        names = constants.names()
        with Gather() as at:
            at.refuse(seed in places, f"config.{seed}", "is given by the study", allowed="`seeds:`")
            if seed:
                places[seed] = "workload.seed"
            for name, place in places.items():
                fault = constants.fault(name)
                rule = f"is not assigned once, alone, at the top level of {file.name}: {fault}"
                at.refuse(fault, place, rule, name, listed(names), nearest(name, names))
                value = config["config"].get(name)
                rule = f"has keys in {file.name} that are not text, which a study cannot give"
                at.refuse(constants.has_other_keys(name, value), place, rule, value)
        _try_edit(source, tuple(places))


def _values(config: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """Returns the values of a script's constants in a trial."""
    values = dict(config["config"])
    if config["workload"]["seed"]:
        values[config["workload"]["seed"]] = seed
    return values


def _source(file: Path) -> bytes:
    """Returns the source of a script. Raises `Invalid`."""
    try:
        return read_plain(file, MAX_SOURCE)
    except NotReadableError as error:
        allowed = "a Python file, by its path relative to the study"
        raise Invalid("workload.script", str(error), file.name, allowed) from None


@lru_cache(maxsize=8)
def _constants(source: bytes) -> Constants:
    """Returns the constants of a script. Raises one of `UNREADABLE`."""
    return Constants.of(parsed_source(source))


@lru_cache(maxsize=8)
def _try_edit(source: bytes, names: tuple[str, ...]) -> None:
    """Raises `Invalid` where a script cannot be written with other values of these constants, whatever they are."""
    try:
        edited(source, dict.fromkeys(names, 0))
    except UNREADABLE as error:
        raise Invalid("workload.script", f"cannot be run with other constants: {explained(error)}") from None
