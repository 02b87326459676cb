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

from ablate.base.errors import AblateError, Gather, Invalid, listed, nearest
from ablate.base.files import NotReadableError, read_plain
from ablate.external.dialect import WORDS_OF_YAML, Unwritten, words_of
from ablate.external.script import literal
from ablate.external.toml import has_null, toml_quoted, toml_value
from ablate.external.variables import check_env

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
_FIELD = re.compile(r"(?<![${])(\{?)\{([A-Za-z_][\w.]*)(?::([^{}\s][^{}\n]*))?\}(\}?)")
"""A placeholder in a template, with a brace more on either side; all other braces, and those of `${…}`, are its own."""
_BRACES = "Write {{ and }} for literal braces"
_JSON = (".json", ".jsonl", *_YAML)
"""Suffixes of files that take null, switches and lists as JSON writes them."""


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


def given(
    options: Mapping[str, Any], settings: Mapping[str, Any], seed: int, templates: Mapping[str, str]
) -> Given:
    """Returns what a trial is given, by the texts of its templates. Raises `Invalid`."""
    values = values_of(settings, seed)
    env: dict[str, str] = {}
    files: dict[str, str] = {}
    with Gather() as at:
        for name, text in options["env"].items():
            with at("workload", "env", name):
                env[name] = _filled(str(text), values, ".env")
        for path, template in options["files"].items():
            suffix = PurePosixPath(path).suffix.lower()
            with at("workload", "files", path):
                if template == WHOLE:
                    files[path] = _whole({**settings, SEED: seed}, suffix)
                else:
                    files[path] = _filled(templates[template], values, suffix)
    return Given(env, files)


def read_templates(options: Mapping[str, Any], folder: Path) -> dict[str, str]:
    """Returns template → its text; a template is a path from the folder of the study. Raises `Invalid`."""
    templates: dict[str, str] = {}
    with Gather() as at:
        for path, template in options["files"].items():
            with at("workload", "files", path):
                if template != WHOLE:
                    templates[template] = _template(template, folder)
    return templates


def placeholders_given(options: Mapping[str, Any], templates: Mapping[str, str]) -> set[str]:
    """Returns the names of the placeholders in variables and templates; `WHOLE` where a file has the whole config."""
    names: set[str] = set()
    if WHOLE in options["files"].values():
        names |= {WHOLE, SEED}
    texts = [*(str(text) for text in options["env"].values()), *templates.values()]
    for text in texts:
        names |= {match[2] for match in _FIELD.finditer(text) if not _is_literal(match)}
    return names


def check_given(options: Mapping[str, Any]) -> None:
    """Raises `Invalid` for variables and files that a trial cannot be given."""
    with Gather() as at:
        with at("workload", "env"):
            check_env(options["env"])
        for path in options["files"]:
            parts = PurePosixPath(path).parts
            rule = "is no path within the trial's copy of your folder"
            is_outside = not parts or os.path.isabs(path) or ".." in parts
            with at("workload", "files"):
                at.refuse(is_outside, "", rule, path)
        rule = "needs a copy of your folder for each trial"
        hint = "Remove `isolate: off`, or write the file with your command"
        at.refuse(options["files"] and not options["isolate"], "workload.files", rule, hint=hint)


def _is_literal(match: re.Match[str]) -> bool:
    """Returns whether what looks like a placeholder is a text in braces, which are written twice."""
    return bool(match[1] and match[4])


def _filled(text: str, values: Mapping[str, Any], suffix: str) -> str:
    """Returns a text with its placeholders filled in, as a file of its suffix writes values.

    Raises `Invalid` for a name without a value, and for a value that such a file has no one notation for.
    """

    def written(match: re.Match[str]) -> str:
        if _is_literal(match):
            return match[0][1:-1]
        before, name, spec, after = match.groups()
        if name not in values:
            known = listed(f"{{{key}}}" for key in values)
            hint = f"{nearest(name, values)} {_BRACES}".strip()
            raise Invalid("", f"{{{name}}} has no value", match[0], known, hint)
        return f"{before}{_literal(name, values[name], spec or '', suffix)}{after}"

    return _FIELD.sub(written, text)


def _template(name: str, folder: Path) -> str:
    """Returns the text of a template. Raises `Invalid`."""
    try:
        return read_plain(folder / name, _MAX_TEMPLATE).decode()
    except NotReadableError as error:
        fault = str(error)
    except UnicodeDecodeError:
        fault = "is no text in UTF-8"
    beside = sorted(path.name for path in folder.glob(f"*{PurePosixPath(name).suffix}"))
    allowed = f"a file of your folder, or `{WHOLE}` for the whole config"
    raise Invalid("", fault, name, allowed, nearest(name, [*beside, WHOLE]))


def _literal(name: str, value: Any, spec: str, suffix: str) -> str:
    """Returns a value as a file of its suffix has it: by its spec, a text as it is, others as the suffix says.

    Other files take numbers and texts alone. Raises `Invalid` for the rest.
    """
    if spec:
        try:
            return " ".join(words_of(name, value, spec, None, is_alone=False))
        except Unwritten:
            raise _without_notation(name, value) from None
        except (ValueError, TypeError, AblateError) as error:
            raise Invalid("", f"cannot be filled in: {error}", f"{{{name}:{spec}}}") from None
    if isinstance(value, str):
        return value
    if suffix == ".py":
        return literal(value)
    if suffix == ".toml":
        return _toml_value(name, value)
    if suffix in _YAML:
        return _flow(value)
    if suffix not in _JSON and (value is None or isinstance(value, (bool, list, dict))):
        raise _without_notation(name, value)
    return json.dumps(value)


def _without_notation(name: str, value: Any) -> Invalid:
    """Returns the error of a value that programs read in different ways."""
    if isinstance(value, dict):
        return Invalid("", f"{{{name}}} is a section", hint="Name one of its settings")
    kind = "null" if value is None else "a list"
    hint = "Give a text in place of it"
    if isinstance(value, bool):
        kind = "a switch"
        hint = f"Write {{{name}:1|0}}, or the texts that your code reads"
    return Invalid("", f"{{{name}}} is {kind}, which programs read in different ways", hint=hint)


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
        is_plain = _PLAIN_KEY.fullmatch(key) is not None and key.lower() not in WORDS_OF_YAML
        name = key if is_plain else _quoted(key)
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
        return f"{{{', '.join(f'{_quoted(key)}: {_flow(item)}' for key, item in value.items())}}}"
    if isinstance(value, float) and math.isfinite(value):
        digits, exponent, power = repr(value).partition("e")
        return f"{digits}{'.0' if exponent and '.' not in digits else ''}{exponent}{power}"
    if isinstance(value, float):
        return ".nan" if math.isnan(value) else f"{'-' if value < 0 else ''}.inf"
    return _quoted(value)


def _quoted(value: Any) -> str:
    """Returns a text in quotes, or a number, null or a switch, as JSON and YAML alike have it."""
    return json.dumps(value, ensure_ascii=False)


def _toml_lines(settings: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    """Yields the lines of TOML: values first, then tables. Raises `Invalid` for null, which TOML lacks."""
    for key, value in settings.items():
        if not isinstance(value, dict):
            yield f"{toml_quoted(key)} = {_toml_value(f'{prefix}{key}', value)}\n"
    for key, value in settings.items():
        if isinstance(value, dict):
            yield f"\n[{prefix}{toml_quoted(key)}]\n"
            yield from _toml_lines(value, f"{prefix}{toml_quoted(key)}.")


def _toml_value(name: str, value: Any) -> str:
    """Returns a value in one line of TOML. Raises `Invalid` for null."""
    if has_null(value):
        raise Invalid("", f"{name} is null, which TOML has not", hint="Write JSON or YAML")
    return toml_value(value)
