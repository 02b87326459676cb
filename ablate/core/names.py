"""Names of reports, which are those of their folders: a study's own, and after an `@` how it was run otherwise.

x                       the study as written
x@training.steps=50     a run that differs from it
x@confirm               what x found, again on fresh seeds
x@confirm,seeds=3       a confirmation that differs
"""

import hashlib
import re
from collections.abc import Sequence

CONFIRM = "confirm"
# Folders under results/ that are no study's.
RESERVED = ("store", "atlas", "bench", "calibration", "torture")
# The file of a study that is given in Python, while it runs. The report keeps the resolved study.
GIVEN = "given in Python.yaml"
OWN = "[A-Za-z0-9][A-Za-z0-9._-]*"  # Pattern of the name that a study can give itself, but for `@confirm`.
NAME = f"{OWN}(@[A-Za-z0-9._=+,-]+)?"  # Pattern of the name of a report.
MAX_ITEM, MAX_DIFFERENCE = 40, 80  # Characters of one difference, and of those that are added to a name.


def stem(name: str) -> str:
    """The name of the study: `x` of `x@seeds=3`."""
    return name.partition("@")[0]


def difference(name: str) -> str:
    """What follows the `@`."""
    return name.partition("@")[2]


def confirming(name: str) -> str:
    """The name of the report that confirms `name`, or is one that does."""
    return name if confirmed(name) else _joined(stem(name), [*_items(name), CONFIRM])


def confirmed(name: str) -> str | None:
    """The name of the report that is confirmed; None where none is."""
    items = _items(name)
    return _joined(stem(name), items[: items.index(CONFIRM)]) if CONFIRM in items else None


def written(name: str) -> str | None:
    """The name of the report as written from which a report differs; None for one that does not."""
    items = _items(name)
    kept = items[: items.index(CONFIRM) + 1] if CONFIRM in items else []
    return _joined(stem(name), kept) if len(kept) < len(items) else None


def beside(name: str, differences: Sequence[str]) -> str:
    """The name of a report that differs from `name`: the same for the same differences, and safe in any file system.

    What had to be changed or cut for that ends in a digest of the whole.

    >>> beside("x", ["seeds=3"]), beside("x@seeds=3", ["only=a b"])
    ('x@seeds=3', 'x@seeds=3,only=a-b-dc1cdd')
    """
    known = _items(name)
    new = [item for text in differences if (item := _safe(text, MAX_ITEM)) not in known]
    return _joined(stem(name), [*known, *filter(None, [_safe(",".join(new), MAX_DIFFERENCE, ",")])])


def _items(name: str) -> list[str]:
    return list(filter(None, difference(name).split(",")))


def _joined(name: str, items: Sequence[str]) -> str:
    return f"{name}@{','.join(items)}" if items else name


def _safe(text: str, length: int, more: str = "") -> str:
    """Letters, digits, `.`, `_`, `=`, `+`, `-` and `more`, at most `length` of them; file systems may ignore case."""
    safe = re.sub(f"[^A-Za-z0-9._=+{more}-]+", "-", re.sub(r"[\"'\[\]{}]", "", text))
    if safe == text and len(text) <= length and not text.endswith(".") and (more or text == text.lower()):
        return text
    digest = hashlib.blake2b(text.encode(errors="surrogateescape"), digest_size=3).hexdigest()
    return f"{safe[: length - 7].strip('-.,')}-{digest}"
