"""What workloads share whose settings may be constants of a file: of Python, of TOML, of a notebook."""

from __future__ import annotations

import os
import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ablate.base.errors import Gather, Invalid, listed, nearest
from ablate.base.files import NotReadableError, digest_of_data, read_plain
from ablate.core.code_note import CodeNote
from ablate.external.cautions import assigning, named
from ablate.external.constants_file import FORMATS, ConstantsFile, PythonFile, constants_file
from ablate.external.given import Given
from ablate.external.kinds import is_document
from ablate.external.passing import check_exists
from ablate.external.script import UNREADABLE, explained
from ablate.external.sources import MAX_SOURCE
from ablate.external.workload import External


@dataclass(frozen=True)
class GivenConstants(Given):
    """The variables and files of a trial, among them one with constants, in which braces are its own."""

    constants: Mapping[str, str]
    """Path of that file → its text."""

    def at(self, place: str, run: str) -> Given:
        given = super().at(place, run)
        return Given(given.env, {**given.files, **self.constants})


class ConstantsWorkload(External):
    """The base of workloads whose settings may be constants of a file, which each trial gets with its own values."""

    def __init__(self) -> None:
        super().__init__()
        # Path of a file with constants → its content, as the driver has read it.
        self._sources: dict[str, bytes] = {}
        # The same path → whether an id has its content with that of the code.
        self._in_code: dict[str, bool] = {}

    def constants_place(self, config: Mapping[str, Any]) -> str:
        """Returns the key of the study that names the file of its constants; empty without such a file."""
        return "constants" if config["workload"]["constants"] else ""

    def settings(self, config: Mapping[str, Any]) -> Mapping[str, Any]:
        """Returns the settings that are constants of a file, if the study names one."""
        settings: Mapping[str, Any] = config["config"]
        return settings

    def replaced_at_start(self, config: Mapping[str, Any], seed: int) -> Mapping[str, Any]:
        """Returns the constants that a trial gets by its command, and not in a file: path → value."""
        return {}

    def constants_file(self, config: Mapping[str, Any]) -> ConstantsFile | None:
        """Returns the file that has the constants; None without one. Raises `Invalid`."""
        place = self.constants_place(config)
        if not place:
            return None
        name = config["workload"][place]
        source = self._source(name, f"workload.{place}")
        try:
            return constants_file(name, source)
        except Invalid as error:
            raise error.under("workload", place) from None

    def constants(self, config: Mapping[str, Any], seed: int) -> dict[str, Any]:
        """Returns the constants of a trial, that of the seed last: path → value. Raises `Invalid`."""
        file = self.constants_file(config)
        if file is None:
            return {}
        constants = dict(file.constants(self.settings(config)))
        if config["workload"]["seed"]:
            constants[config["workload"]["seed"]] = seed
        return constants

    def check(self, config: Mapping[str, Any]) -> None:
        super().check(config)
        seed = config["workload"]["seed"]
        with Gather() as at:
            if self.constants_file(config) is None:
                rule = "names a constant, and the study no file that has it"
                at.refuse(seed, "workload.seed", rule, seed, hint="Add `constants: FILE` under `workload:`")

    def given(self, config: Mapping[str, Any], seed: int) -> Given:
        given = super().given(config, seed)
        file = self.constants_file(config)
        if file is None:
            return given
        self._check_constants(config, file)
        written = self.constants(config, seed)
        for path in self.replaced_at_start(config, seed):
            del written[path]
        if not written and file.written_as == file.name:
            return given
        self._check_written(config, file)
        try:
            text = file.edited(written).decode(errors="surrogateescape")
        except UNREADABLE as error:
            rule = f"cannot be written with other constants: {explained(error)}"
            raise Invalid(f"workload.{self.constants_place(config)}", rule) from None
        return GivenConstants(given.env, {**given.files, file.written_as: text}, {file.written_as: text})

    def beside_command(self, config: Mapping[str, Any], seed: int) -> Sequence[str]:
        beside = super().beside_command(config, seed)
        file = self.constants_file(config)
        if file is None:
            return beside
        at_start = self.replaced_at_start(config, seed)
        constants = [
            f"{path} = {value!r}"
            for path, value in self.constants(config, seed).items()
            if path not in at_start
        ]
        others = [line for line in beside if not line.startswith(f"{file.written_as}: ")]
        return [*others, f"{file.name}: {'; '.join(constants)}"] if constants else others

    def identity(self, config: Mapping[str, Any]) -> Mapping[str, str]:
        identity = dict(super().identity(config))
        file = self.constants_file(config)
        if file is None:
            return identity
        section = config["workload"]
        if section["constants"]:
            identity["constants"] = " ".join(filter(None, [section["constants"], section["seed"]]))
        if not self._is_in_code(config, file):
            identity["content"] = digest_of_data(file.source.decode(errors="surrogateescape"))
        return identity

    def cautions(self, config: Mapping[str, Any]) -> list[str]:
        cautions = super().cautions(config)
        file = self.constants_file(config)
        if file is not None and file.left_out:
            lines = listed(f"`{line}`" for line in file.left_out)
            cautions.append(f"{file.name} runs without the lines that IPython alone understands: {lines}")
        return cautions

    def code_notes(self, config: Mapping[str, Any]) -> list[CodeNote]:
        notes = super().code_notes(config)
        file = self.constants_file(config)
        if file is None:
            return notes
        constants = self.constants(config, 0)
        constants.pop(config["workload"]["seed"], None)
        settings = tuple(f"config.{path}" for path in constants)
        for place in assigning(self.folder / file.name):
            text = f"code at {place} may assign constants anew, unseen by ablate"
            notes.append(CodeNote(text, "settings", settings))
        if not self._is_named(config, file):
            notes.append(CodeNote(f"your code never mentions {file.name}", "settings", settings))
        names = named(dict.fromkeys(self.program(config).values()))
        inner = [path for path in constants if "." in path and path.rpartition(".")[2] not in names]
        if inner:
            text = f"your code never mentions {listed(f'`{path}`' for path in inner)}"
            notes.append(CodeNote(text, "settings", tuple(f"config.{path}" for path in inner)))
        return notes

    def program(self, config: Mapping[str, Any]) -> dict[str, str]:
        program = super().program(config)
        file = self.constants_file(config)
        if file is not None and file.written_as != file.name:
            program[file.name] = str(self.folder / file.name)
        return program

    def pack(self) -> bytes:
        return pickle.dumps((super().pack(), self._sources, self._in_code))

    def unpack(self, packed: bytes) -> None:
        snapshots, sources, in_code = pickle.loads(packed)
        super().unpack(snapshots)
        self._sources.update(sources)
        self._in_code.update(in_code)

    def _source(self, name: str, place: str) -> bytes:
        """Returns the content of a file with constants, as it was when it was first asked for. Raises `Invalid`."""
        if name not in self._sources:
            check_exists(name, self.folder, place)
            try:
                self._sources[name] = read_plain(self.folder / name, MAX_SOURCE)
            except NotReadableError as error:
                allowed = f"a file by its path relative to the study: {listed(FORMATS)}"
                raise Invalid(place, str(error), Path(name).name, allowed) from None
        return self._sources[name]

    def _is_in_code(self, config: Mapping[str, Any], file: ConstantsFile) -> bool:
        """Returns whether a file is part of the code that counts: git does not ignore it, and it is no document."""
        if file.name not in self._in_code:
            snapshot = self.snapshot(config)
            inside = os.path.relpath(self.folder.resolve() / file.name, snapshot.root)
            files = {} if snapshot.tree is None else snapshot.tree.files
            self._in_code[file.name] = inside in files and not is_document(inside)
        return self._in_code[file.name]

    def _check_constants(self, config: Mapping[str, Any], file: ConstantsFile) -> None:
        """Raises `Invalid` where the file cannot have other values of the constants."""
        seed = config["workload"]["seed"]
        settings = dict(file.constants(self.settings(config)))
        names = file.paths()
        with Gather() as at:
            at.refuse(seed in settings, f"config.{seed}", "is given by the study", allowed="`seeds:`")
            places = {path: f"config.{path}" for path in settings}
            if seed:
                places[seed] = "workload.seed"
            for path, place in places.items():
                fault = file.fault(path, settings.get(path, 0))
                if fault:
                    elsewhere = "" if file.has(path) else self._other_file(config, path)
                    at.refuse(fault, place, fault, path, listed(names), elsewhere or nearest(path, names))

    def _other_file(self, config: Mapping[str, Any], path: str) -> str:
        """Returns which other file of the program has a constant; empty where none has it."""
        folder = self.snapshot(config).folder
        for place in self.program(config).values():
            inside = Path(place)
            if not inside.is_relative_to(folder) or inside.suffix != ".py":
                continue
            try:
                file = PythonFile(str(inside.relative_to(folder)), read_plain(inside, MAX_SOURCE))
            except (NotReadableError, *UNREADABLE):
                continue
            if path in file.paths():
                return f"{file.name} has it: add `constants: {file.name}` under `workload:`"
        return ""

    def _check_written(self, config: Mapping[str, Any], file: ConstantsFile) -> None:
        """Raises `Invalid` where a trial cannot get a file with its own constants."""
        section = config["workload"]
        place = f"workload.{self.constants_place(config)}"
        root = self.snapshot(config).root
        with Gather() as at:
            rule = "needs a copy of your folder for each trial"
            at.refuse(not section["isolate"], place, rule, file.name, hint="Remove `isolate: off`")
            rule = "is an absolute path, of which a trial has no copy"
            at.refuse(os.path.isabs(file.name), place, rule, file.name, "a path relative to the study")
            is_outside = not (self.folder / file.name).resolve().is_relative_to(root)
            at.refuse(is_outside, place, f"lies outside of {root}, of which trials get copies", file.name)
            rule = "is a file that `files:` writes, too"
            at.refuse(file.written_as in section["files"], place, rule, file.name, hint="Name it once")

    def _is_named(self, config: Mapping[str, Any], file: ConstantsFile) -> bool:
        """Returns whether the program runs, imports or names a file."""
        program = self.program(config)
        place = (self.snapshot(config).folder / file.name).resolve()
        if file.name in program or place in [Path(path).resolve() for path in program.values()]:
            return True
        name = Path(file.name).name
        if any(name in word for word in self.words(config)):
            return True
        return any(isinstance(word, str) and name in word for word in named(dict.fromkeys(program.values())))
