"""Values as TOML has them."""

import json
import math
from collections.abc import Mapping
from datetime import date, time
from typing import Any


def has_null(value: object) -> bool:
    """Returns whether a value of JSON is null, or has one in it."""
    if isinstance(value, dict):
        return any(map(has_null, value.values()))
    if isinstance(value, list):
        return any(map(has_null, value))
    return value is None


def toml_text(content: Mapping[str, Any]) -> str:
    """Returns a text of TOML, each key of the outermost table in a line."""
    return "".join(f"{toml_quoted(key)} = {toml_value(value)}\n" for key, value in content.items())


def toml_value(value: Any) -> str:
    """Returns a value without null in one line of TOML."""
    match value:
        case dict():
            return (
                f"{{{', '.join(f'{toml_quoted(key)} = {toml_value(item)}' for key, item in value.items())}}}"
            )
        case list():
            return f"[{', '.join(map(toml_value, value))}]"
        case str():
            return toml_quoted(value)
        case date() | time():
            return value.isoformat()
        case float() if not math.isfinite(value):
            return str(value)
    return json.dumps(value)


def toml_quoted(text: str) -> str:
    """Returns a text, or a key, in the quotes of TOML, which escapes one character more than JSON."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
