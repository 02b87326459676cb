"""Mutated studies: their text, their tree, what their fields mean.

`ablate plan` reads most of them, which checks a study as `run` does and trains nothing; small ones that are still valid
are run.
"""

import io
import shutil
from functools import cache
from random import Random

from .case import Place
from .studies import PLUGIN, SHIPPED, STUDIES, TUNED_SEQUENCE
from .tables import VERDICTS, tables
from .values import changed

SMALL = (*(study.text for study in STUDIES.values()), TUNED_SEQUENCE)
TERMINALS = ({}, {"PYTHONIOENCODING": "latin-1"}, {"PYTHONIOENCODING": "ascii"})
SHARE_SHIPPED = 0.1
"""Of the cases that begin from a study of the repository, which are larger and take longer to check."""


def mutations(rng: Random, place: Place) -> str:
    """One mutated study."""
    shutil.copy(PLUGIN, place.path)
    shipped = rng.random() < SHARE_SHIPPED
    text = rng.choice(SHIPPED).read_text() if shipped else rng.choice(SMALL)
    content = _of_text(rng, text) if rng.random() < 0.3 else _of_tree(rng, text)
    (place.path / "study.yaml").write_bytes(content)
    return _judged(rng, place)


def _judged(rng: Random, place: Place) -> str:
    # Now and then as a user starts it, on a terminal that knows few characters.
    done = place.ablate(
        "plan", "study.yaml", limit=30, cold=rng.random() < 0.02, environment=rng.choice(TERMINALS)
    )
    if done.code != 0:
        return "refused"
    if b"workload: ledger" in (place.path / "study.yaml").read_bytes() and rng.random() < 0.15:
        place.counts["run"] += 1
        _run(place)
    return "accepted"


def _run(place: Place) -> None:
    """A study that `plan` has accepted runs, and its report can be made again."""
    command = "sweep" if _is_search_alone((place.path / "study.yaml").read_bytes()) else "run"
    # What was asked for may take long; that is no refusal.
    done = place.start(command, "study.yaml", "--jobs", 0).wait(25)
    if done.code is None:
        return
    place.hold(done)
    if done.code == 2:
        place.violation(f"`plan` accepts what `{command}` refuses: {done.output[-300:]!r}")
    for folder in [path.parent for path in (place.path / "results").glob("*/trials.parquet")]:
        before = tables(folder, VERDICTS)
        again = place.ablate("report", folder)
        if again.code != 0:
            place.violation(f"the report of a run cannot be made again: {again.output[-300:]!r}")
        elif tables(folder, VERDICTS) != before:
            place.violation("`report` gives other verdicts than `run`")
        page = (folder / "report.html").read_text() + (folder / "report.md").read_text()
        if strange := {c for c in page if (ord(c) < 32 and c not in "\n\t") or c in "\u202e\u2066"}:
            place.violation(f"characters {sorted(strange)} reach the page")


def _is_search_alone(content: bytes) -> bool:
    """Returns whether a study has nothing to run but its search."""
    sections = {line.partition(b":")[0].strip(b"\"'") for line in content.splitlines()}
    return b"search" in sections and sections.isdisjoint({b"factors", b"variants", b"design", b"tune"})


def _of_text(rng: Random, text: str) -> bytes:
    """Bytes flipped; lines doubled, deleted, moved, indented; the end cut off."""
    content = text.encode()
    for _ in range(rng.choice((1, 1, 2, 5))):
        lines = content.split(b"\n")
        number = rng.randrange(len(lines))
        match rng.choice(("flip", "double", "delete", "move", "indent", "cut", "insert", "replace")):
            case "flip" if content:
                at = rng.randrange(len(content))
                content = content[:at] + bytes([content[at] ^ (1 << rng.randrange(8))]) + content[at + 1 :]
                continue
            case "cut":
                content = content[: rng.randrange(len(content) + 1)]
                continue
            case "insert":
                at = rng.randrange(len(content) + 1)
                what = rng.choice(
                    (
                        *("\t", "\r", "\0", "&a ", "*a ", "!!int ", "!x ", "{", "]", "- ", ": ", "'", '"'),
                        *("|\n", "\ufeff", "%", "\x85", "<<: "),
                    )
                )
                content = content[:at] + what.encode() + content[at:]
                continue
            case "double":
                lines.insert(number, lines[number])
            case "delete":
                del lines[number]
            case "move":
                lines.insert(rng.randrange(len(lines)), lines.pop(number))
            case "indent":
                lines[number] = b" " * rng.choice((1, 2, 4)) + lines[number]
            case "replace":
                lines[number] = rng.choice(lines)
        content = b"\n".join(lines)
    return content


def _of_tree(rng: Random, text: str) -> bytes:
    from ruamel.yaml import YAML

    yaml = YAML(typ="safe", pure=True)
    tree = yaml.load(text)
    what = [changed(rng, tree, names()) for _ in range(rng.choice((1, 1, 1, 2, 4)))]
    out = io.BytesIO()
    try:
        yaml.dump(tree, out)
    except RecursionError:
        return b"[" * 1000
    except Exception as error:  # a tree that YAML cannot write, such as one whose key is a list
        return f"name: {error!r}"[:200].encode()
    return out.getvalue() + f"# {'; '.join(what)}\n".encode("ascii", "replace")


@cache
def names() -> list[str]:
    """Of every registered part, and of slots."""
    from ablate.base.registry import CATALOGUE

    CATALOGUE.load_builtin()
    return sorted({name for slot in CATALOGUE.slots() for name in (slot, *CATALOGUE.names(slot))})
