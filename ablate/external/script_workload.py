"""The workload of a user's script without flags, whose constants are replaced."""

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from pydantic import BaseModel

from ablate.base.errors import Invalid
from ablate.base.registry import register
from ablate.core.code_note import CodeNote
from ablate.external import options, script
from ablate.external.constants_workload import ConstantsWorkload
from ablate.external.interpreter import python_of_code
from ablate.external.passing import check_exists
from ablate.external.script import UNREADABLE, edited, explained
from ablate.external.workload import UNSEEDED


@register("workload", "script")
class ScriptWorkload(ConstantsWorkload):
    """A script or notebook of the user's without flags: its constants, or those of another file, are replaced.

    Those of its top level are replaced in a temporary copy when it starts, so that no copy of the folder is needed.
    """

    Options = options.ScriptOptions

    def irrelevant(self) -> tuple[str, ...]:
        # The text of the file is in the identity.
        return (*super().irrelevant(), "workload.constants")

    def constants_place(self, config: Mapping[str, Any]) -> str:
        return super().constants_place(config) or "script"

    def command_line(self, config: Mapping[str, Any], seed: int) -> list[str]:
        values = json.dumps(self.replaced_at_start(config, seed))
        file = None if config["workload"]["constants"] else self.constants_file(config)
        name = config["workload"]["script"] if file is None else file.written_as
        return [python_of_code(), "-P", script.__file__, name, values]

    def replaced_at_start(self, config: Mapping[str, Any], seed: int) -> Mapping[str, Any]:
        file = self.constants_file(config)
        if file is None or config["workload"]["constants"]:
            return {}
        constants = self.constants(config, seed)
        return {path: constants[path] for path in file.replaced_at_start(constants)}

    def sources(self, config: BaseModel) -> list[Any]:
        return [*super().sources(config), script.main]

    def code_notes(self, config: Mapping[str, Any]) -> list[CodeNote]:
        notes = super().code_notes(config)
        if not config["workload"]["seed"] and self.lacks_seed(config):
            text = f"`workload:` has no `seed:` that names the constant of the seed, {UNSEEDED}"
            notes.append(CodeNote(text, "seeds"))
        return notes

    def check(self, config: Mapping[str, Any]) -> None:
        super().check(config)
        check_exists(config["workload"]["script"], self.folder, "workload.script")
        names = tuple(self.replaced_at_start(config, 0))
        if names:
            _try_edit(self._source(config["workload"]["script"], "workload.script"), names)


@lru_cache(maxsize=8)
def _try_edit(source: bytes, names: tuple[str, ...]) -> None:
    """Raises `Invalid` where a script cannot be written with other values of these constants, whatever they are."""
    try:
        edited(source, dict.fromkeys(names, 0))
    except UNREADABLE as error:
        raise Invalid("workload.script", f"cannot be run with other constants: {explained(error)}") from None
