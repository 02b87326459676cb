"""Tables of runs with a known truth: written in equivalent ways, and spoiled in ways that are no table any more."""

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

Key = tuple[str, str, str]
Row = dict[str, str]
ROLES = (
    "seed",
    "variant",
    "task",
    "status",
    "reason",
    "id",
    "example",
    "source",
    "n",
    "metric",
    "baseline",
    "value",
)
CELLS = (
    *(
        "nan",
        "NaN",
        "-nan",
        "inf",
        "-inf",
        "Infinity",
        "1e999",
        "9" * 400,
        "many",
        "",
        " ",
        "1,5",
        "0x10",
        "\u0661",
    ),
    *(
        "1_000",
        "null",
        "None",
        "NA",
        "n/a",
        "#DIV/0!",
        "true",
        "1e-400",
        "1.2.3",
        "--",
        "\x00",
        "\x1b[2J",
        "\u202e",
    ),
    *("é", "a" * 100_000, '"', "'", "=1+1", "1\n2", "1\r2", "[1]", '{"a": 1}', "\ufeff1", "\udc80"),
)
SEEDS = (
    *(
        "1.0",
        "1.5",
        "1e3",
        "-1",
        "9007199254740993",
        "9" * 30,
        "9" * 400,
        "nan",
        "inf",
        "",
        "x",
        "0x1",
        "\u0661",
    ),
    *("1e999", "00", "+1", " 1", "True", "2026-11-22"),
)


@dataclass(frozen=True)
class RunsTable:
    """Rows of a table, and the truth that they tell."""

    rows: Sequence[Row]
    metric: str
    is_paired: bool

    @property
    def columns(self) -> list[str]:
        """The columns of all rows."""
        return [*dict.fromkeys(name for row in self.rows for name in row)]

    def values(self, variant: str, task: str) -> dict[str, float]:
        """The value of each seed, or of each row where there are none."""
        found = {}
        for number, row in enumerate(self.rows):
            if row["variant"] == variant and row.get("task", "runs") == task:
                found[row.get("seed", str(number))] = float(row[self.metric])
        return found


def made(rng: Random) -> RunsTable:
    """A table of two or three variants, on one or two tasks, with seeds or without."""
    is_paired = rng.random() < 0.75
    first = rng.choice((0, 0, 1, 100, 2**31, 2**53, 2**62, -3))
    count = rng.randint(2, 8)
    mean, spread = rng.choice((0, 1, 1000, -5)), 10 ** rng.uniform(-4, 3)
    tasks = ("one", "two") if rng.random() < 0.3 else ("",)
    metric = rng.choice(("loss", "accuracy", "val/loss", "Δ loss", "m 1"))
    rows = []
    for number, variant in enumerate(("base", "wide", "deep")[: rng.choice((2, 2, 3))]):
        for task in tasks:
            for seed in range(first, first + count):
                value = rng.gauss(mean + number * rng.choice((0, 1, 3)) * spread, spread)
                row = {"variant": variant, metric: repr(value)}
                if task:
                    row["task"] = task
                if is_paired:
                    row["seed"] = str(seed)
                rows.append(row)
    if is_paired and count > 3 and rng.random() < 0.3:
        # A run is missing: its pair is left out.
        del rows[rng.randrange(len(rows))]
    return RunsTable(rows, metric, is_paired)


def write(
    table: RunsTable,
    path: Path,
    *,
    separator: str = ",",
    encoding: str = "utf-8",
    end: str = "\n",
    quoting: int = csv.QUOTE_MINIMAL,
) -> None:
    """Writes a table as CSV."""
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, table.columns, delimiter=separator, lineterminator=end, quoting=quoting)  # type: ignore[arg-type]
    writer.writeheader()
    writer.writerows(table.rows)
    path.write_bytes(
        text.getvalue().encode(encoding, "surrogatepass" if encoding.startswith("utf") else "replace")
    )


def equivalent(rng: Random, table: RunsTable, folder: Path) -> tuple[Path, str]:
    """Writes a table that says the same in another order and spelling; its file, and how."""
    rows = (
        rng.sample(list(table.rows), len(table.rows))
        if table.is_paired or rng.random() < 0.5
        else list(table.rows)
    )
    columns = rng.sample(table.columns, len(table.columns))
    spell = rng.choice((str, lambda text: f"{float(text):.17e}", lambda text: f"{float(text):+.17g}"))
    respelled = []
    for row in rows:
        other = {name: row[name] for name in columns if name in row}
        other[table.metric] = spell(row[table.metric])
        if rng.random() < 0.5:
            other[table.metric] = f" {other[table.metric]} "
        respelled.append(other)
    if rng.random() < 0.3:
        respelled = [{**row, "machine": "one"} for row in respelled]
    other_table = replace(table, rows=respelled)
    if rng.random() < 0.3:
        return _as_parquet(rng, other_table, folder), "parquet"
    options = {
        "separator": rng.choice(",;\t"),
        "encoding": rng.choice(("utf-8", "utf-8-sig")),
        "end": rng.choice(("\n", "\r\n")),
        "quoting": rng.choice((csv.QUOTE_MINIMAL, csv.QUOTE_ALL)),
    }
    path = folder / "other.csv"
    write(other_table, path, **options)
    return path, str(options)


def _as_parquet(rng: Random, table: RunsTable, folder: Path) -> Path:
    import pandas as pd

    frame = pd.DataFrame(table.rows)
    frame[table.metric] = frame[table.metric].astype(float)
    if "seed" in frame and rng.random() < 0.7:
        frame["seed"] = frame["seed"].astype("int64")
    frame.to_parquet(folder / "other.parquet", index=False)
    return folder / "other.parquet"


def spoiled(rng: Random, table: RunsTable, folder: Path) -> tuple[Path, str, str]:
    """Writes a table that is spoiled; its file, the metric's column, and what was done."""
    rows = [dict(row) for row in table.rows]
    metric = table.metric
    done = []
    options: dict[str, object] = {}
    for _ in range(rng.choice((1, 1, 2))):
        row = rng.choice(rows)
        match rng.choice(
            ("role", "rename", "double", "cell", "cell", "cell", "seed", "seed", "drop", "extra", "form")
        ):
            case "role":
                new = rng.choice(ROLES)
                for each in rows:
                    if metric in each:
                        each[new] = each.pop(metric)
                metric = new
                done.append(f"metric is {new!r}")
            case "rename":
                old, new = rng.choice(list(row)), rng.choice((*ROLES, *CELLS))
                for each in rows:
                    if old in each:
                        each[new] = each.pop(old)
                done.append(f"{old!r} is {new[:20]!r}")
            case "double":
                rows.insert(rng.randrange(len(rows)), dict(row))
                done.append("a row twice")
            case "cell":
                name, cell = rng.choice(list(row)), rng.choice(CELLS)
                row[name] = cell
                done.append(f"{name!r} = {cell[:20]!r}")
            case "seed":
                row["seed"] = rng.choice(SEEDS)
                done.append(f"seed {row['seed'][:20]!r}")
            case "drop":
                name = rng.choice(list(row))
                del row[name]
                done.append(f"no {name!r}")
            case "extra":
                name = rng.choice(("lr", "steps", "status", "x" * 5000, "", "seed2", "start_time", *ROLES))
                for each in rows:
                    each[name] = rng.choice((*CELLS, "1", "2"))
                done.append(f"a column {name[:20]!r}")
            case "form":
                options["separator"] = rng.choice("|: ,;\t")
                options["encoding"] = rng.choice(("utf-16", "latin-1", "utf-8", "utf-32"))
                options["end"] = rng.choice(("\r", "\n\n", "\x0b", "\n"))
                done.append(str(options))
    path = folder / "spoiled.csv"
    try:
        write(replace(table, rows=rows, metric=metric), path, **options)  # type: ignore[arg-type]
    except csv.Error as error:
        path.write_text(repr(error))
    if rng.random() < 0.15:
        done.append(_spoil_file(rng, path))
    return path, metric, "; ".join(done)


def _spoil_file(rng: Random, path: Path) -> str:
    """Spoils the bytes or the place of a file; what was done."""
    import os

    content = path.read_bytes()
    ways: dict[str, Callable[[], object]] = {
        "cut": lambda: path.write_bytes(content[: rng.randrange(len(content) + 1)]),
        "empty": lambda: path.write_bytes(b""),
        "binary": lambda: path.write_bytes(rng.randbytes(2000)),
        "a byte": lambda: path.write_bytes(content[:5] + rng.randbytes(1) + content[6:]),
        "zeros": lambda: path.write_bytes(content + b"\0" * 1000),
        "a fifo": lambda: (path.unlink(), os.mkfifo(path)),
        "a folder": lambda: (path.unlink(), path.mkdir()),
        "a link to itself": lambda: (path.unlink(), path.symlink_to(path.name)),
        "an endless device": lambda: (path.unlink(), path.symlink_to("/dev/zero")),
        "gone": path.unlink,
        "quotes": lambda: path.write_bytes(b'"' + content),
    }
    name = rng.choice(sorted(ways))
    ways[name]()
    return name
