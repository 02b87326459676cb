"""Text on terminals and in files that cannot show every character: written in what they can show, never an error."""

from __future__ import annotations

import atexit
import codecs
import os
import sys
import unicodedata

_PLAIN = {
    **dict.fromkeys("−–—‐", "-"),
    **dict.fromkeys("“”„", '"'),
    **dict.fromkeys("‘’", "'"),
    "…": "...",
    "·": "-",
    "×": "x",
    "±": "+/-",
    "→": "->",
    "≤": "<=",
    "≥": ">=",
    "∞": "inf",
    "✓": "ok",
}
_HANDLER = "ablate.plain"


def plain(text: str) -> str:
    """`text` in ASCII: a sign as what it stands for, a letter without its accents, anything else as its number."""
    return "".join(character if character.isascii() else _plain(character) for character in text)


def forgive() -> None:
    """From now on, standard output and standard error take any text, in any encoding."""
    codecs.register_error(_HANDLER, _replaced)
    for stream in (sys.stdout, sys.stderr):
        if reconfigure := getattr(stream, "reconfigure", None):
            reconfigure(errors=_HANDLER)


def hush_at_exit() -> None:
    """What libraries print to standard error after Python has run its exit handlers is lost.

    triton from 3.8 on, which torch loads where it is installed, reports its own leaks there. Call this first: handlers
    run in reverse order, and those of the program still print.
    """
    atexit.register(_hush)


def _hush() -> None:
    if sys.stderr is not None:
        sys.stderr.flush()
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)


def _replaced(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return plain(error.object[error.start : error.end]), error.end


def _plain(character: str) -> str:
    if found := _PLAIN.get(character):
        return found
    letter = unicodedata.normalize("NFKD", character).encode("ascii", "ignore").decode()
    return letter or character.encode("ascii", "backslashreplace").decode()
