"""The workload of a user's command, whose placeholders are filled in with settings and seeds."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ablate.base.errors import Gather, Invalid
from ablate.base.registry import register
from ablate.core.code_note import CodeNote
from ablate.external import launchers, options
from ablate.external.command import filled
from ablate.external.constants_file import ConstantsFile
from ablate.external.constants_workload import ConstantsWorkload
from ablate.external.dialect import Unwritten, described
from ablate.external.given import SEED, WHOLE, Given, settings_of, values_of
from ablate.external.interpreter import check_found
from ablate.external.passing import check_program
from ablate.external.told_dialect import ToldDialect, always_true, options_with, told_dialect
from ablate.external.twins import unused_setting, unused_settings, without
from ablate.external.workload import UNSEEDED


@register("workload", "command")
class CommandWorkload(ConstantsWorkload):
    """A command of the user's, in which `{name}` stands for a setting and `{seed}` for the seed."""

    Options = options.CommandOptions

    def __init__(self) -> None:
        super().__init__()
        # Folder and words of a command → its dialect.
        self._dialects: dict[tuple[object, ...], ToldDialect] = {}

    def check(self, config: Mapping[str, Any]) -> None:
        super().check(config)
        names = self.placeholders(config)
        has_constants = bool(self.constants_place(config))
        with Gather() as at:
            words = self.command_line(config, 0)
            with at():
                check_program(words, self.folder, "workload.command")
            with at("workload", "command"):
                check_found(words[0], self.folder)
            unused = [] if WHOLE in names or has_constants else list(unused_settings(config, names))
            if unused and not self.may_read_config(config):
                for setting in unused:
                    with at():
                        raise unused_setting(setting)
            rule = f"has no `{{seed}}`, {UNSEEDED}"
            hint = "Add it, as in --seed {seed}, or have your code read $ABLATE_SEED"
            at.refuse(not self._may_get_seed(config), "workload.command", rule, hint=hint)

    def irrelevant(self) -> tuple[str, ...]:
        # The text of the file is in the identity.
        return (*super().irrelevant(), "workload.constants", "workload.seed")

    def settings(self, config: Mapping[str, Any]) -> Mapping[str, Any]:
        return without(config["config"], self.placeholders(config))

    def constants_file(self, config: Mapping[str, Any]) -> ConstantsFile | None:
        file = super().constants_file(config)
        if file is not None and file.written_as != file.name:
            rule = "is a notebook, which a command cannot run with other constants"
            raise Invalid("workload.constants", rule, file.name, hint=f"Write script: {file.name}")
        return file

    def given(self, config: Mapping[str, Any], seed: int) -> Given:
        variables = launchers.variables(self.command_line(config, seed))
        given = super().given(config, seed)
        return replace(given, env={**variables, **given.env})

    def code_notes(self, config: Mapping[str, Any]) -> list[CodeNote]:
        notes = super().code_notes(config)
        has_seed = SEED in self.placeholders(config) or config["workload"]["seed"]
        if not has_seed and self.lacks_seed(config):
            notes.append(CodeNote(f"the command has no `{{seed}}`, {UNSEEDED}", "seeds"))
        return [*notes, *self._notes_on_types(config)]

    def _may_get_seed(self, config: Mapping[str, Any]) -> bool:
        """Returns whether the seed of a trial may reach the code."""
        has_seed = SEED in self.placeholders(config) or bool(config["workload"]["seed"])
        return has_seed or self.may_read_seed(config)

    def _notes_on_types(self, config: Mapping[str, Any]) -> Iterator[CodeNote]:
        """Yields a note on each switch that goes to an option of argparse to which False is true."""
        if self.dialect(config).dialect != "argparse":
            return
        lines = dict(always_true(map(Path, self.program(config).values())))
        for setting, value in settings_of(config["config"]):
            if not isinstance(value, bool):
                continue
            for option in options_with(setting, self.words(config)):
                if option in lines:
                    text = (
                        f"{option} has `type=bool` at {lines[option]}, to which the text False is true: with "
                        f"BooleanOptionalAction, write {{{setting}:{option}|--no-{option.removeprefix('--')}}}"
                    )
                    yield CodeNote(text, "settings", (f"config.{setting}",))

    def dialect(self, config: Mapping[str, Any]) -> ToldDialect:
        """Returns the dialect of a command, as the study says or its program shows."""
        section = config["workload"]
        if section["dialect"] is not None:
            return ToldDialect(section["dialect"], "workload.dialect says so")
        try:
            words = self.words(config)
        except ValueError:
            return ToldDialect(None, "")  # A command that cannot be split is refused when it is filled in.
        folder = self.snapshot(config).folder
        key = (folder, *words)
        if key not in self._dialects:
            self._dialects[key] = told_dialect(words, folder)
        return self._dialects[key]

    def notation(self, config: Mapping[str, Any]) -> str:
        told = self.dialect(config)
        if told.dialect is None:
            return ""
        return f"{told.dialect}, since {told.source}: {described(told.dialect)}"

    def command_line(self, config: Mapping[str, Any], seed: int) -> list[str]:
        paths = [path for path, _ in settings_of(config["config"])]
        twice = next((path for path in paths if paths.count(path) > 1), None)
        if twice is not None:
            raise Invalid("config", "has two settings of this path", twice)
        command = config["workload"]["command"]
        told = self.dialect(config)
        try:
            return filled(command, values_of(config["config"], seed), told.dialect)
        except Unwritten as error:
            has_two = told.dialect is None and told.source
            rule = f"{error.rule}; your program imports {told.source}" if has_two else error.rule
            raise Invalid(f"config.{error.name}", rule, hint=error.hint) from None
        except Invalid as error:
            raise error.under("workload", "command") from None
