"""Text in columns: which lines of a file are those of its table, and what separates their cells."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from ablate.base.errors import Invalid, listed
from ablate.report.words import message

_DELIMITERS = ",;\t|"
_DELIMITER_LINE = re.compile(r'"?sep=(.)"?')
"""The first line of a CSV file by which Excel knows what separates its cells."""
_RULE_OF_MARKDOWN = re.compile(r"\s*\|?(\s*:?-+:?\s*\|)+(\s*:?-+:?)?\s*")
_NAMED_HASH = re.compile(r"\s*\"?#\"?\s*[,;\t|]")
"""The beginning of a header whose first column is called `#`."""
_HASH_NUMBER = re.compile(r"\s*\"?#\d+\"?\s*[,;\t|]")
"""The beginning of a row that is called by a number, such as `#1`."""
_EMPHASIS = re.compile(r"(\*\*|__|\*|`)(.+)\1")


@dataclass(frozen=True)
class TextLines:
    """The lines of a table with their numbers in the file; the first is the header."""

    numbered: Sequence[tuple[int, str]]
    delimiter: str
    notes: Sequence[str] = field(default=())


def lines_of_table(place: str, text: str) -> TextLines:
    """Returns the lines of the table of a text. Raises `Invalid` for comments alone, and for several tables."""
    numbered = [(number, line) for number, line in enumerate(text.split("\n"), start=1) if line.strip()]
    of_markdown = _lines_of_markdown(place, numbered)
    if of_markdown is not None:
        return of_markdown
    kept = _without_comments(numbered)
    if not kept:
        raise Invalid("RUNS", "has no line but comments", place)
    notes = []
    if len(kept) < len(numbered):
        notes.append(message("analyse.comments", len(numbered) - len(kept)))
    stated = _DELIMITER_LINE.fullmatch(kept[0][1].strip())
    if stated and len(kept) > 1:
        lines = TextLines(kept[1:], stated[1])
    elif _is_in_spaces([line for _, line in kept]):
        lines = _without_spaces(kept)
    else:
        lines = TextLines(kept, max(_DELIMITERS, key=kept[0][1].count))
    return _without_repeated_headers(replace(lines, notes=notes))


def _without_comments(numbered: Sequence[tuple[int, str]]) -> list[tuple[int, str]]:
    """Returns lines without comments, which begin with `#`; lines that begin with `#1` are rows where all do.

    That is so where the header names a column `#`, or no other row is left.
    """
    is_header = [_NAMED_HASH.match(line) is not None for _, line in numbered]
    if any(is_header):
        lines = numbered[is_header.index(True) :]
        return [
            lines[0],
            *(line for line in lines[1:] if _HASH_NUMBER.match(line[1]) or not _is_comment(line[1])),
        ]
    kept = [line for line in numbered if not _is_comment(line[1])]
    rows = [line for line in numbered if _HASH_NUMBER.match(line[1])]
    return [kept[0], *rows] if len(kept) == 1 and rows else kept


def _is_comment(line: str) -> bool:
    return line.lstrip().startswith("#")


def _lines_of_markdown(place: str, numbered: Sequence[tuple[int, str]]) -> TextLines | None:
    """Returns the lines of the only table of Markdown, without its frame; None where there is none.

    Raises `Invalid` for several.
    """
    rules = [at for at, (_, line) in enumerate(numbered) if "|" in line and _RULE_OF_MARKDOWN.fullmatch(line)]
    rules = [at for at in rules if at > 0 and "|" in numbered[at - 1][1]]
    if not rules:
        return None
    if len(rules) > 1:
        given = listed([f"line {numbered[at - 1][0]}" for at in rules])
        raise Invalid(
            "RUNS", "must have one table of Markdown", given, hint="Save each table in a file of its own"
        )
    header = rules[0] - 1
    rows = [numbered[header]]
    for number, line in numbered[rules[0] + 1 :]:
        if "|" not in line or number != rows[-1][0] + (2 if len(rows) == 1 else 1):
            break
        rows.append((number, line))
    return TextLines([(number, _without_frame(line)) for number, line in rows], "|")


def _without_frame(line: str) -> str:
    """Returns a line of Markdown without its outer bars, and without the stars and ticks around its cells."""
    cells = line.strip().removeprefix("|").removesuffix("|").split("|")
    return "|".join(_EMPHASIS.sub(r"\2", cell.strip()) for cell in cells)


def _is_in_spaces(lines: Sequence[str]) -> bool:
    """Returns whether spaces separate as many cells in each line as in the header, or one more: its number."""
    if any(delimiter in lines[0] for delimiter in _DELIMITERS) or len(lines) < 2:
        return False
    width = len(lines[0].split())
    widths = {len(line.split()) for line in lines[1:]}
    return width > 1 and widths in ({width}, {width + 1})


def _without_spaces(numbered: Sequence[tuple[int, str]]) -> TextLines:
    """Returns lines whose cells tabs separate, where spaces did."""
    (_, header), (_, first) = numbered[:2]
    is_numbered = len(first.split()) > len(header.split())
    lines = [(number, "\t".join(line.split())) for number, line in numbered]
    if is_numbered:
        lines[0] = (numbered[0][0], "\t" + lines[0][1])
    return TextLines(lines, "\t")


def _without_repeated_headers(lines: TextLines) -> TextLines:
    """Returns lines without those that repeat the header, as in files that were joined."""
    header, *rows = lines.numbered
    kept = [(number, line) for number, line in rows if line.strip() != header[1].strip()]
    if len(kept) == len(rows):
        return lines
    notes = [*lines.notes, message("analyse.repeated_headers", len(rows) - len(kept))]
    return replace(lines, numbered=[header, *kept], notes=notes)
