"""Matching of a run's patterns on the lines that it prints, within a time that is linear in what it prints.

Without a limit, the time that a regular expression takes may be exponential in the length of a line.
"""

import re
import signal
import threading
from collections.abc import Mapping

from ablate.base.errors import AblateError, Invalid

_SPARE = 2.0
"""Seconds of computing that a run's patterns may take beside those that its lines give."""
_PER_CHARACTER = 1e-5
"""Seconds that a character of a line gives: hundreds of times what an ordinary pattern takes."""
_PER_LINE = 0.5
"""The most seconds that a line gives; what it does not use refills the spare ones, never beyond them."""
_BEFORE = re.compile(r"[\w./-]*")
"""The beginning of a word before a place in it, read backwards, which takes a time that is linear in its length."""
_LONGEST_WORD = 200


def check_pattern(pattern: str) -> None:
    """Raises `Invalid` for a pattern without exactly one group, the number."""
    written = f"'{pattern}'"  # Not as a value of Python, whose backslashes are doubled.
    try:
        groups = re.compile(pattern).groups
    except (re.error, OverflowError, RecursionError) as error:
        raise Invalid("", f"is no regular expression: {error}; given {written}") from None
    if groups != 1:
        rule = f"has {groups} groups; it needs one, which holds the number; given {written}"
        raise Invalid("", rule, allowed=r"exactly one, as in '^loss: (\S+)'; (?:…) does not count")


class _Overrun(BaseException):
    """The end of the time; no `Exception`, which something on the way could catch."""


class Matching:
    """The patterns of a run, and the time that is left for matching them."""

    def __init__(self, patterns: Mapping[str, str], spare: float = _SPARE) -> None:
        """`patterns`: name → pattern for one line. `spare`: seconds that they may take beside those of the lines."""
        self._patterns = {name: re.compile(pattern) for name, pattern in patterns.items()}
        self._spare = spare
        self._left = spare
        # Name → the whole of its first match: the beginning of the word in which it stands, and what it matched.
        self._first: dict[str, tuple[str, str]] = {}

    def last_matches(self, line: str) -> dict[str, str]:
        """Returns name → the last match of its pattern in a line.

        Raises `AblateError` where that takes too long, and for a pattern that matches within words of different
        beginnings, as `loss=` in `loss=` and in `val_loss=`: these are several numbers.
        """
        if not self._patterns:
            return {}
        if threading.current_thread() is not threading.main_thread():
            return self._match(line)  # Without a limit: signals interrupt only the main thread.

        earned = min(_PER_CHARACTER * len(line), _PER_LINE)
        earlier_handler = signal.signal(signal.SIGVTALRM, _stop)
        try:
            signal.setitimer(signal.ITIMER_VIRTUAL, self._left + earned)
            try:
                matches = self._match(line)
            finally:
                left, _ = signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        except _Overrun:
            raise AblateError(
                f"the patterns of `read` take too long on a line of {len(line):,} characters that begins "
                f"{line[:60]!r}: begin each with ^ or a word, and put no repetition inside another"
            ) from None
        finally:
            signal.signal(signal.SIGVTALRM, earlier_handler)
        self._left = min(left, self._spare)
        return matches

    def _match(self, line: str) -> dict[str, str]:
        """Returns name → the last match of its pattern in a line, however long that takes. Raises `AblateError`."""
        matches: dict[str, str] = {}
        for name, pattern in self._patterns.items():
            for match in pattern.finditer(line):
                self._check_word(name, match)
                matches[name] = match[1]
        return matches

    def _check_word(self, name: str, match: re.Match[str]) -> None:
        """Raises `AblateError` for a match in a word whose beginning is not that of the first match's word."""
        text = match[0]
        if not text[:1].isalpha():
            return
        before = match.string[max(0, match.start() - _LONGEST_WORD) : match.start()]
        reversed_word = _BEFORE.match(before[::-1])
        beginning = reversed_word[0][::-1] if reversed_word else ""
        beginning = re.sub(r"\d+", "#", beginning)
        first_beginning, first_text = self._first.setdefault(name, (beginning, text))
        if beginning != first_beginning:
            names = f"`{first_beginning[-40:]}{first_text[:40]}` and in `{beginning[-40:]}{text[:40]}`"
            raise AblateError(
                f"the pattern of {name} matches in {names}, which are two numbers: write the whole name, or begin the "
                "pattern with `(?:^|\\s)`"
            )


def _stop(*_: object) -> None:
    """Ends matching that takes too long, by raising `_Overrun`."""
    raise _Overrun
