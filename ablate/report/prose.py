"""A text that someone wrote by hand in lines, as the blocks of a page."""

from __future__ import annotations

import re

from ablate.report.section import Block, Items, Text

MARK = re.compile(r"\s*(?:[-*•]|(\d+)[.)])\s+")
"Begins an item of a list."
SHORT = 0.75
"Of the longest line: what ends a paragraph."


def prose(words: str) -> list[Block]:
    """Paragraphs and lists: line breaks inside one are joined. A blank line ends it, and so does a sentence that ends
    well before the others do.
    """
    found: list[Block] = []
    wide = max(map(len, words.splitlines()), default=0)
    ended = "\n".join(
        f"{line}\n" if len(line) < SHORT * wide and line.rstrip().endswith((".", "!", "?")) else line
        for line in words.splitlines()
    )
    for part in re.split(r"\n\s*\n", ended.strip()):
        paragraph: list[str] = []
        items: list[str] = []
        numbered = False
        for line in part.splitlines():
            mark = MARK.match(line)
            # A line of a paragraph may happen to begin with "15. "; a numbered list begins with 1.
            if mark and (items or mark[1] in (None, "1")):
                numbered = numbered if items else mark[1] is not None
                items.append(line[mark.end() :].strip())
            elif items:
                items[-1] += f" {line.strip()}"
            else:
                paragraph.append(line.strip())
        found += [Text(" ".join(paragraph))] if paragraph else []
        found += [Items(items, "ol" if numbered else "ul")] if items else []
    return found
