"""Mutated studies: their text, their tree, what their fields mean; and some that were thought out.

`ablate plan` reads most of them, which checks a study as `run` does and trains nothing; small ones that are still valid
are run.
"""

from __future__ import annotations

import io
import os
import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

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
    # What was asked for may take long; that is no refusal.
    done = place.start("run", "study.yaml", "--jobs", 0).wait(25)
    if done.code is None:
        return
    place.hold(done)
    if done.code == 2:
        place.violation(f"`plan` accepts what `run` refuses: {done.output[-300:]!r}")
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


def thought_out(rng: Random, place: Place) -> str:
    """Studies that were made to break: bombs, sizes, files that are none, plugins that do not behave."""
    shutil.copy(PLUGIN, place.path)
    number = int(place.path.parent.name.split("-")[1])
    list(THOUGHT_OUT.values())[number % len(THOUGHT_OUT)](place.path)
    done = place.ablate("plan", "study.yaml", limit=30)
    return "refused" if done.code != 0 else "accepted"


RUN = STUDIES["run"].text
SEQUENCE = STUDIES["sequence"].text


def _study(text: str) -> Callable[[Path], Any]:
    return lambda folder: (folder / "study.yaml").write_text(text)


def _sized(**sizes: Any) -> Callable[[Path], Any]:
    """The sequence study with other sizes of its model or training."""
    text = SEQUENCE
    for name, value in sizes.items():
        old = next(part for part in text.replace("{", " ").replace("}", ",").split(",") if f"{name}:" in part)
        text = text.replace(old.split("\n")[-1].strip(), f"{name}: {value}", 1)
    return _study(text)


def _plugin(code: str, name: str = "own.py") -> Callable[[Path], Any]:
    def write(folder: Path) -> None:
        (folder / "own.py").write_text(code)
        (folder / "study.yaml").write_text(RUN.replace("[ledger.py]", f'[ledger.py, "{name}"]'))

    return write


def _bomb(levels: int, wide: int) -> str:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * wide)}]" for i in range(1, levels)]
    return "\n".join(lines) + "\n"


def _chain(links: int) -> str:
    lines = ["a0: &a0 {x: 1}", *(f"a{i}: &a{i} {{x: *a{i - 1}}}" for i in range(1, links))]
    return "\n".join(lines) + "\n"


THOUGHT_OUT: dict[str, Callable[[Path], Any]] = {
    "billion laughs": _study(RUN + _bomb(10, 9)),
    "billion laughs in a level": _study(_bomb(10, 9) + RUN.replace("[0.2]", "[*a9]")),
    "chained aliases": _study(RUN + _chain(400)),
    "20,000 unknown keys": _study(RUN + "".join(f"key{i}: {i}\n" for i in range(20_000))),
    "20,000 factors": _study(
        RUN.replace("seeds: 3", "x: 1").replace("[0.2]", str([i / 1000 for i in range(20_000)]))
    ),
    "200,000 levels of nesting": _study("name: " + "[" * 200_000),
    "a million layers": _sized(num_layers=1_000_000),
    "a wide model": _sized(d_model=100_000),
    "many heads": _sized(num_heads=10**9),
    "a billion steps": _sized(steps=10**9),
    "a billion seeds": _study(SEQUENCE.replace("seeds: 2", "seeds: 1000000000")),
    "a huge batch": _sized(batch_size=10**9),
    "a long sequence": _sized(seq_len=10**6),
    "a large test set": _sized(test_size=10**10),
    "a fifo": lambda folder: os.mkfifo(folder / "study.yaml"),
    "a loop of links": lambda folder: (folder / "study.yaml").symlink_to("study.yaml"),
    "a device without end": lambda folder: (folder / "study.yaml").symlink_to("/dev/zero"),
    "50 MB of text": _study("# " + "x" * 50_000_000),
    "tags": _study(RUN.replace("name: run", "name: !!python/object/apply:os.system [id]")),
    "a bool that is none": _study(RUN + "placebo: !!bool maybe\n"),
    "a long name": _study(RUN.replace("name: run", f"name: {'n' * 300}")),
    "a plugin with NUL": _study(RUN.replace("ledger.py", '"a\\0b.py"')),
    "a plugin that recurses": _plugin("def f(): f()\nf()\n"),
    "a plugin that is nested": _plugin("x = " + "(" * 5000 + ")" * 5000 + "\n"),
    "a plugin of bytes": _plugin("\0\0\0"),
    "a plugin that is not there": _plugin("", "gone.py"),
    "a plugin that is a fifo": lambda folder: (
        os.mkfifo(folder / "own.py"),
        _study(RUN.replace("[ledger.py]", "[ledger.py, own.py]"))(folder),
    ),
    "a margin beyond the range": _study(SEQUENCE + "metric: {name: accuracy, margin: 5}\n"),
    "a variant that changes nothing": _study(
        SEQUENCE.replace("factors: {model.norm: [batch]}", "variants: {a: {}}")
    ),
}
"""By what they are."""
