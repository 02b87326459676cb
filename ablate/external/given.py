"""What a trial is given beside its command: variables of the environment, and files with its settings."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from ablate.base.errors import Gather, Invalid, listed, nearest
from ablate.base.files import NotReadableError, read_plain
from ablate.external.dialect import WORDS_OF_YAML, words_of

SEED = "seed"
"""The placeholder of the seed."""
PLACES = ("dir", "run")
"""The placeholders that are known once a trial runs: a fresh folder of its own, and its id."""
WHOLE = "config"
"""The placeholder of the whole config, as JSON; and as the template of a file, as its suffix says."""
_MAX_TEMPLATE = 2**20
_MAX_SHOWN = 200
_PLAIN_KEY = re.compile(r"[A-Za-z_][\w-]*")
_YAML = (".yaml", ".yml")
_FIELD = re.compile(r"\{([A-Za-z_][\w.]*)(?::([^{}\n]*))?\}")
"""A placeholder in a template; all other braces are its own."""


@dataclass(frozen=True)
class Given:
    """The variables and files of a trial."""

    env: Mapping[str, str]
    """Variable → value."""
    files: Mapping[str, str]
    """Path from the study's folder, in the trial's copy → text."""

    def at(self, place: str, run: str) -> Given:
        """Returns the same with the folder of a trial and its id in their places."""
        env = {name: placed(text, place, run) for name, text in self.env.items()}
        return Given(env, {path: placed(text, place, run) for path, text in self.files.items()})


def placed(text: str, place: str, run: str) -> str:
    """Returns a text with the folder of a trial and its id in place of `{dir}` and `{run}`."""
    return text.replace("{dir}", place).replace("{run}", run)


def in_a_line(text: str) -> str:
    """Returns the begin of a text in one line, as a plan shows it."""
    line = " ".join(text.split())
    return line if len(line) <= _MAX_SHOWN else f"{line[:_MAX_SHOWN]}…"


def values_of(settings: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """Returns placeholder → value: the settings by their dotted paths, the seed, and what a trial has of its own."""
    own = {place: f"{{{place}}}" for place in PLACES}
    return {**own, WHOLE: json.dumps(settings), **dict(settings_of(settings)), SEED: seed}


def settings_of(config: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yields dotted path and value of all settings, sections included."""
    for key, value in config.items():
        path = f"{prefix}{key}"
        yield path, value
        if isinstance(value, dict):
            yield from settings_of(value, f"{path}.")


def given(options: Mapping[str, Any], settings: Mapping[str, Any], seed: int, folder: Path) -> Given:
    """Returns what a trial is given; templates are read in the folder of the study. Raises `Invalid`."""
    values = values_of(settings, seed)
    env: dict[str, str] = {}
    files: dict[str, str] = {}
    with Gather() as at:
        for name, text in options["env"].items():
            with at("workload", "env", name):
                env[name] = _filled(str(text), values)
        for path, template in options["files"].items():
            with at("workload", "files", path):
                files[path] = _text_of_file(path, template, values, {**settings, SEED: seed}, folder)
    return Given(env, files)


def placeholders_given(options: Mapping[str, Any], folder: Path) -> set[str]:
    """Returns the names of the placeholders in variables and templates; `WHOLE` where a file has the whole config."""
    texts = [str(text) for text in options["env"].values()]
    names: set[str] = set()
    for template in options["files"].values():
        if template == WHOLE:
            names |= {WHOLE, SEED}
        else:
            texts.append(_template(template, folder))
    for text in texts:
        names |= {name for name, _ in _FIELD.findall(text)}
    return names


def check_places(options: Mapping[str, Any]) -> None:
    """Raises `Invalid` for files that a trial cannot be given."""
    with Gather() as at:
        for path in options["files"]:
            parts = PurePosixPath(path).parts
            rule = "is no path within the trial's copy of your folder"
            at.refuse(os.path.isabs(path) or ".." in parts, f"workload.files.{path}", rule, path)
        rule = "needs a copy of your folder for each trial"
        hint = "Remove `isolate: off`, or write the file with your command"
        at.refuse(options["files"] and not options["isolate"], "workload.files", rule, hint=hint)


def _filled(text: str, values: Mapping[str, Any]) -> str:
    """Returns a text with its placeholders filled in. Raises `Invalid` for a name without a value."""

    def written(match: re.Match[str]) -> str:
        name, spec = match[1], match[2] or ""
        if name not in values:
            known = listed(f"{{{key}}}" for key in values)
            raise Invalid("", f"{{{name}}} has no value", text, known, nearest(name, values))
        try:
            return " ".join(words_of(name, values[name], spec, None, is_alone=False))
        except ValueError as error:
            raise Invalid("", f"cannot be filled in: {error}", text) from None

    return _FIELD.sub(written, text)


def _text_of_file(
    path: str, template: str, values: Mapping[str, Any], settings: Mapping[str, Any], folder: Path
) -> str:
    """Returns the text of a file: the whole config, or a template with the placeholders that have a value."""
    suffix = PurePosixPath(path).suffix.lower()
    if template == WHOLE:
        return _whole(settings, suffix)

    def written(match: re.Match[str]) -> str:
        name, spec = match[1], match[2] or ""
        return _literal(values[name], spec, suffix) if name in values else match[0]

    return _FIELD.sub(written, _template(template, folder))


def _template(name: str, folder: Path) -> str:
    """Returns the text of a template. Raises `Invalid`."""
    try:
        return read_plain(folder / name, _MAX_TEMPLATE).decode(errors="surrogateescape")
    except NotReadableError as error:
        beside = sorted(path.name for path in folder.glob(f"*{PurePosixPath(name).suffix}"))
        allowed = f"a file of your folder, or `{WHOLE}` for the whole config"
        raise Invalid("", str(error), name, allowed, nearest(name, [*beside, WHOLE])) from None


def _literal(value: Any, spec: str, suffix: str) -> str:
    """Returns a value as a file of its suffix has it: of Python its literal, else of JSON, and texts as they are."""
    if isinstance(value, bool) and spec:
        return " ".join(words_of("", value, spec, None, is_alone=False))
    if isinstance(value, str):
        return value
    if spec:
        return format(value, spec)
    if suffix == ".py":
        return repr(value)
    return _flow(value) if suffix in _YAML else json.dumps(value)


def _whole(settings: Mapping[str, Any], suffix: str) -> str:
    """Returns all settings and the seed as JSON, YAML or TOML. Raises `Invalid`."""
    match suffix:
        case ".json":
            return json.dumps(settings, indent=2) + "\n"
        case _ if suffix in _YAML:
            return "".join(_yaml_lines(settings))
        case ".toml":
            return "".join(_toml_lines(settings))
    raise Invalid("", "can have the whole config as JSON, YAML or TOML", suffix, ".json, .yaml, .yml, .toml")


def _yaml_lines(settings: Mapping[str, Any], indent: str = "") -> Iterator[str]:
    """Yields the lines of YAML, sections in blocks and lists in brackets."""
    for key, value in settings.items():
        name = key if _PLAIN_KEY.fullmatch(key) and key not in WORDS_OF_YAML else json.dumps(key)
        if isinstance(value, dict) and value:
            yield f"{indent}{name}:\n"
            yield from _yaml_lines(value, f"{indent}  ")
        else:
            yield f"{indent}{name}: {_flow(value)}\n"


def _flow(value: Any) -> str:
    """Returns a value in one line of YAML, whose readers of version 1.1 take `1e-05` for a text."""
    if isinstance(value, list):
        return f"[{', '.join(map(_flow, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{json.dumps(key)}: {_flow(item)}' for key, item in value.items())}}}"
    if isinstance(value, float) and math.isfinite(value):
        digits, exponent, power = repr(value).partition("e")
        return f"{digits}{'.0' if exponent and '.' not in digits else ''}{exponent}{power}"
    if isinstance(value, float):
        return ".nan" if math.isnan(value) else f"{'-' if value < 0 else ''}.inf"
    return json.dumps(value)


def _toml_lines(settings: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    """Yields the lines of TOML: values first, then tables. Raises `Invalid` for null, which TOML lacks."""
    for key, value in settings.items():
        if value is None:
            raise Invalid("", f"{prefix}{key} is null, which TOML has not", hint="Write JSON or YAML")
        if not isinstance(value, dict):
            yield f"{json.dumps(key)} = {json.dumps(value)}\n"
    for key, value in settings.items():
        if isinstance(value, dict):
            yield f"\n[{prefix}{json.dumps(key)}]\n"
            yield from _toml_lines(value, f"{prefix}{json.dumps(key)}.")
