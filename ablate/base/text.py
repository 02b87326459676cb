"""Text that others will read or type: what is safe to show, without passwords, and commands as they can be typed."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

DEFAULT_RESULTS = Path("results")

# Words that YAML reads as other values than texts.
_YAML_VALUES = ("null", "true", "false")
_STYLE = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
_LINE_END = re.compile(r"\r\n?")
# The flag of a region, such as Scotland's: the only use of these invisible letters.
_FLAG = "\U0001f3f4[\U000e0020-\U000e007e]+\U000e007f"
_UNSEEN = re.compile(
    f"(?P<flag>{_FLAG})|"
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f]"  # controls, but for the ends of lines and columns
    "|[\u2028-\u202e\u2066-\u206f]"  # ends of lines and paragraphs; what turns or overrides the direction
    "|[\u200b\u2060-\u2064\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"  # without width
    "|(?<=[\x21-\x7e])[\u200c\u200d](?=[\x21-\x7e])"  # joiners, which other scripts and emoji need
    "|[\ud800-\udfff\ufffe\uffff]"  # no characters at all
)


def printable(text: str) -> str:
    r"""Returns a text without terminal colours, and with characters escaped that control or deceive: `\u202e`.

    Letters of any script with their marks, emoji with joiners, and left-to-right marks stay.
    """
    text = _STYLE.sub("", text)
    text = _LINE_END.sub("\n", text)
    return _UNSEEN.sub(_escaped, text)


def is_utf8(text: str) -> bool:
    """Returns whether a text can be written as UTF-8; the name of a file may hold bytes that cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _escaped(match: re.Match[str]) -> str:
    """Returns a character that cannot be shown as its escape, and the flag of a region as it is."""
    return match["flag"] or match[0].encode("unicode_escape").decode("ascii")


# The first `@` ends the password, or the last one before the path does.
_IN_AUTHORITY = re.compile(r"(?<=://)([^\s:/@?#'\"]*):(?:[^\s/?#]+|[^\s@]*)@")
# A token in the place of a user: no name of a user is so long.
_ALONE = re.compile(r"(?<=https://|.http://)[^\s:/@?#'\"]{20,}@")
_IN_QUERY = re.compile(
    r"(?<=[?&;#])([\w.%-]*(?:pass|pwd|token|secret|credential|(?:api|access|account)[_-]?key|signature)[\w.%-]*"
    r"|auth|authorization|odbc_connect|sig)=[^\s&;#'\"]*[^\s&;#'\"),.:]",
    re.IGNORECASE,
)


def masked(text: str) -> str:
    """Returns the text with `…` in place of every URL's password, token, and secret in its query."""
    text = _IN_AUTHORITY.sub(r"\1:…@", text)
    text = _ALONE.sub("…@", text)
    return _IN_QUERY.sub(r"\1=…", text)


def masked_inside(value: Any) -> Any:
    """Returns plain data with every text in it masked."""
    if isinstance(value, dict):
        return {key: masked_inside(item) for key, item in value.items()}
    if isinstance(value, list):
        return [masked_inside(item) for item in value]
    return masked(value) if isinstance(value, str) else value


def first_line(error: BaseException) -> str:
    """Returns the first line of an error's message without passwords, or its type where it has none.

    It is cut to 300 characters.
    """
    lines = str(error).strip().splitlines()
    line = masked(lines[0] if lines else type(error).__name__)
    return line if len(line) <= 300 else f"{line[:299]}…"


def safe(message: str) -> str:
    """Returns a message without passwords, and without characters that control a terminal."""
    return printable(masked(message))


def saying(console: Console, kind: str = "") -> Callable[[str], None]:
    """Returns a function that prints lines as they are or, with a `kind`, as warnings."""

    def say(message: str) -> None:
        text = f"{kind}: {message}" if kind else message
        style = "yellow" if kind else None
        console.print(safe(text), style=style, markup=False, highlight=False, soft_wrap=True)

    return say


def typed(*arguments: str | Path) -> str:
    """Returns `ablate ARGUMENTS`, quoted for a shell."""
    return shlex.join(["ablate", *map(str, arguments)])


def at_results(results: Path) -> list[str]:
    """Returns the words that name a results folder to a command; none for the default folder."""
    return [] if results == DEFAULT_RESULTS else ["--results", str(results)]


def word(value: Any) -> str:
    """Returns a value as a study file gives it; `none` for None."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "on" if value else "off"
    if not isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if re.fullmatch(r"[A-Za-z_][\w.-]*", value) and value.lower() not in _YAML_VALUES:
        return value
    quoted = json.dumps(value, ensure_ascii=False)
    return "".join(letter if letter.isprintable() else f"\\U{ord(letter):08x}" for letter in quoted)


def to_add(key: str, values: Iterable[str], limit: int = 12) -> str:
    """Returns a key and a list of values that can be pasted into a study: `seeds: [1, 2]`.

    Beyond `limit` values it says how many more there are.
    """
    words = [word(value) for value in values]
    more = f" (and {len(words) - limit} more)" if len(words) > limit else ""
    return f"`{key}: [{', '.join(words[:limit])}]`{more}"
