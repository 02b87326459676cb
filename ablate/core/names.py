"""Names of reports and of their folders: the name of the study, and after an `@` how the run differs from it.

x                       the study as written
x@training.steps=50     a run that differs from it
x@confirm               what x found, again on fresh seeds
x@confirm,seeds=3       a confirmation that differs
"""

import hashlib
import re
from collections.abc import Sequence

CONFIRM = "confirm"
CONDITION = "condition="
"""Begins a difference that says which condition alone was trained."""
# Folders under results/ that are no study's.
RESERVED = ("store", "atlas", "bench", "calibration", "torture")
# The file of a study that is given in Python, while it runs. The report keeps the resolved study.
GIVEN = "given in Python.yaml"
OWN = "[A-Za-z0-9][A-Za-z0-9._-]*"  # Pattern of the name that a study can give itself, but for `@confirm`.
NAME = f"{OWN}(@[A-Za-z0-9._=+,-]+)?"  # Pattern of the name of a report.
MAX_ITEM = 40  # Characters of one difference.
MAX_DIFFERENCE = 80  # Characters of the differences that are added to a name.


def stem(name: str) -> str:
    """Returns the name of the study: `x` of `x@seeds=3`."""
    return name.partition("@")[0]


def confirming(name: str) -> str:
    """Returns the name of the report that confirms `name`; that is `name` where it confirms another."""
    if confirmed(name):
        return name
    return _joined(stem(name), [*differences(name), CONFIRM])


def confirmed(name: str) -> str | None:
    """Returns the name of the report that the report `name` confirms; None where it confirms none."""
    items = differences(name)
    if CONFIRM not in items:
        return None
    return _joined(stem(name), items[: items.index(CONFIRM)])


def written(name: str) -> str | None:
    """Returns the name of the report as written from which a report differs; None for one that does not."""
    items = differences(name)
    as_written = items[: items.index(CONFIRM) + 1] if CONFIRM in items else []
    if as_written == items:
        return None
    return _joined(stem(name), as_written)


def beside(name: str, added: Sequence[str]) -> str:
    """Returns the name of a report that differs from `name`.

    It is the same for the same differences, and safe in any file system; a difference that had to be changed or cut for
    that ends in a digest of the whole.

    >>> beside("x", ["seeds=3"]), beside("x@seeds=3", ["only=a b"])
    ('x@seeds=3', 'x@seeds=3,only=a-b-dc1cdd')
    """
    items = differences(name)
    safe = [_safe(text, MAX_ITEM) for text in added]
    new = ",".join(item for item in safe if item not in items)
    if new:
        items.append(_safe(new, MAX_DIFFERENCE, ","))
    return _joined(stem(name), items)


def differences(name: str) -> list[str]:
    """Returns what stands after the `@` in the name of a report, `confirm` among it; empty without one."""
    return list(filter(None, name.partition("@")[2].split(",")))


def _joined(name: str, items: Sequence[str]) -> str:
    """Returns the report name `name@item,item`; `name` alone without items."""
    return f"{name}@{','.join(items)}" if items else name


def _safe(text: str, length: int, more: str = "") -> str:
    """Returns the text with letters, digits, `.`, `_`, `=`, `+`, `-` and `more` alone, at most `length` of them.

    A text that is changed for that, or that a file system which ignores case may take for another, ends in a digest.
    """
    without_marks = re.sub(r"[\"'\[\]{}]", "", text)
    safe = re.sub(f"[^A-Za-z0-9._=+{more}-]+", "-", without_marks)
    is_unique = bool(more) or text == text.lower()
    if safe == text and len(text) <= length and not text.endswith(".") and is_unique:
        return text
    digest = hashlib.blake2b(text.encode(errors="surrogateescape"), digest_size=3).hexdigest()
    return f"{safe[: length - 7].strip('-.,')}-{digest}"
