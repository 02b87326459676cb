"""Text of others as it may be shown on a page and in a terminal: nothing in it acts on either, hides or deceives."""

from __future__ import annotations

import re

_STYLE = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
_LINE_END = re.compile(r"\r\n?")
_FLAG = "\U0001f3f4[\U000e0020-\U000e007e]+\U000e007f"
"""The flag of a region, such as Scotland's: the only use of these invisible letters."""
_UNSEEN = re.compile(
    f"(?P<flag>{_FLAG})|"
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f]"  # controls, but for the ends of lines and columns
    "|[\u2028-\u202e\u2066-\u206f]"  # ends of lines and paragraphs; what turns or overrides the direction
    "|[\u200b\u2060-\u2064\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"  # without width
    "|(?<=[\x21-\x7e])[\u200c\u200d](?=[\x21-\x7e])"  # joiners, which other scripts and emoji need
    "|[\ud800-\udfff\ufffe\uffff]"  # no characters at all
)


def printable(text: str) -> str:
    r"""The text with the colours of a terminal removed, and characters that control or deceive escaped: `\u202e`.

    What people write stays: letters of any script with their marks, emoji with joiners, left-to-right marks.
    """
    text = _LINE_END.sub("\n", _STYLE.sub("", text))
    return _UNSEEN.sub(lambda found: found["flag"] or found[0].encode("unicode_escape").decode("ascii"), text)
