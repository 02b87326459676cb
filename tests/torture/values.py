"""Values that no field of a study asks for, and how trees of values are changed."""

import copy
import json
import math
from collections.abc import Iterator
from pathlib import Path as FilePath
from random import Random
from typing import Any

Path = tuple[Any, ...]

ODD: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2, 3, 7, 1e-300, 1e300, -0.0, 0.1, 1e6, 10**9, 10**18, 10**30, -(10**9)),
    *(math.nan, math.inf, -math.inf, "", " ", "null", "on", "off", "baseline", "winner", "none", "1e-3", "~"),
    *("a" * 300, "a" * 100_000, "\x00", "\x1b[31mred", "\u202egnp.exe", "é" * 50, "\U0001f600", "a/b"),
    *("../up", "..", "/etc/passwd", "con", "a\nb", "a,b", "a=b", "a: b", "=", "$(id)", "{{ 1 + 1 }}", "%s%n"),
    *("<script>alert(1)</script>", "model.norm", [], {}, [[]], [{}], [None], [1, 2, 3], ["a", "a"]),
    *([0] * 1000, {"name": None}, {"name": {}}, {"": 1}, {"a": {"b": {"c": 1}}}, {"float": [1, 0]}),
    *({"from": 0, "count": 10**9}, {"min": 1, "max": 10**12}, {"name": "attention", "num_heads": 3}, 4096),
    *(100_000, 65_537, 1_000_000, 0.5, 1.5, -0.5, 2**31, 2**63, "2026-11-22", "0x10", "1_000", "012", ".5"),
)


def nodes(tree: Any, path: Path = (), above: tuple[int, ...] = ()) -> Iterator[Path]:
    """The paths of all nodes below the root, those inside themselves and below depth 20 left out."""
    items = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    if id(tree) in above or len(above) == 20:
        return
    for key, value in items:
        yield (*path, key)
        yield from nodes(value, (*path, key), (*above, id(tree)))


def at(tree: Any, path: Path) -> Any:
    for key in path:
        tree = tree[key]
    return tree


def changed(rng: Random, tree: Any, names: list[str]) -> str:
    """Changes a tree in place at one random node; what was done. `names` are those of parts."""
    paths = list(nodes(tree))
    if not paths:
        return "nothing"
    path = rng.choice(paths)
    parent, key = at(tree, path[:-1]), path[-1]
    other = rng.choice(paths)
    way = rng.choice(
        (
            *("value", "value", "delete", "rename", "swap", "copy", "name", "nest", "wrap", "alias"),
            *("insert", "cycle", *["tweak"] * 8),
        )
    )
    if way == "value":
        parent[key] = copy.deepcopy(rng.choice(ODD))
    elif way == "delete":
        del parent[key]
    elif way == "rename" and isinstance(parent, dict):
        text = str(key)
        new = rng.choice(
            (text + "s", text[:-1], text.upper(), text.replace("_", "-"), rng.choice(names), "", "x" * 200)
        )
        parent[new] = parent.pop(key)
    elif way == "swap":
        holder = at(tree, other[:-1])
        if other[: len(path)] != path and path[: len(other)] != other:
            parent[key], holder[other[-1]] = holder[other[-1]], parent[key]
    elif way == "copy":
        parent[key] = copy.deepcopy(at(tree, other))
    elif way == "name":
        parent[key] = rng.choice(names)
    elif way == "nest":
        for _ in range(rng.choice((1, 2, 50, 400))):
            parent[key] = [parent[key]] if rng.random() < 0.5 else {"name": parent[key]}
    elif way == "wrap":
        parent[key] = [copy.deepcopy(parent[key]) for _ in range(rng.choice((1, 2, 30)))]
    elif way == "alias":
        parent[key] = at(tree, other[: rng.randint(0, len(other))])
    elif way == "cycle":
        parent[key] = parent
    elif way == "tweak":
        parent[key] = tweaked(rng, parent[key])
    elif way == "insert" and isinstance(parent, dict):
        parent[
            rng.choice((*names, "steps", "lr", "seeds", "task", "plugins", "workload", "extends", "metric"))
        ] = rng.choice(ODD)
    return f"{way} at {'.'.join(map(str, path))[:100]}"


def tweaked(rng: Random, value: Any) -> Any:
    """Another value of the same type, often one that is allowed."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return rng.choice((value + 1, value - 1, 2 * value, value * 1000, -value, float(value)))
    if isinstance(value, float):
        return value * rng.choice((0.5, 2, 1e-3, 1e3, -1, 1e9))
    if isinstance(value, str):
        return rng.choice(
            (
                *(value.upper(), f" {value} ", value[: len(value) // 2], f"{value}{value}"),
                value.replace("=", "= "),
            )
        )
    if isinstance(value, list):
        return rng.choice((value[::-1], value * 2, value[:1]))
    return dict(reversed(value.items())) if isinstance(value, dict) else value


BAD_NUMBERS = (
    "inf",
    "-inf",
    "nan",
    "-1",
    "0",
    "1e999",
    "9" * 400,
    "",
    " ",
    "1,5",
    "0x10",
    "one",
    "\u0661",
    "1_0",
    "-0.0",
)
"""Texts that are no positive finite number."""


def edited_line(rng: Random, path: FilePath) -> str:
    """Edits a file of JSON lines as a careless hand or disk does; what was done."""
    lines = path.read_text().splitlines()
    number = rng.randrange(len(lines))
    way = rng.choice(
        ("field", "field", "field", "field", "cut", "lost", "word", "doubled", "moved", "bytes", "blank")
    )
    if way == "field":
        data = json.loads(lines[number])
        holder = data
        key = rng.choice(sorted(data))
        while isinstance(holder[key], dict) and holder[key] and rng.random() < 0.7:
            holder = holder[key]
            key = rng.choice(sorted(holder))
        if rng.random() < 0.25:
            del holder[key]
        else:
            odd = rng.choice((*ODD, *("nan", 10**400, math.nan, math.inf)))
            holder[key] = tweaked(rng, holder[key]) if rng.random() < 0.5 else odd
        way = f"line {number + 1}, {key} → {str(holder.get(key, 'gone'))[:40]!r}"
        lines[number] = json.dumps(data)
    elif way == "cut":
        text = path.read_text()
        path.write_text(text[: rng.randrange(len(text))])
        return "cut"
    elif way == "lost":
        del lines[number]
    elif way == "word":
        lines[number] = rng.choice(("[]", "1", "null", "{}", '"x"', "[" * 50_000, "{", "x", '{"commit": 1}'))
    elif way == "doubled":
        lines.insert(number, lines[number])
    elif way == "moved":
        lines.insert(rng.randrange(len(lines)), lines.pop(number))
    elif way == "bytes":
        content = bytearray(path.read_bytes())
        content[rng.randrange(len(content))] = rng.randrange(256)
        path.write_bytes(content)
        return "a byte"
    elif way == "blank":
        lines.insert(number, "")
    path.write_text("\n".join(lines) + "\n")
    return way
