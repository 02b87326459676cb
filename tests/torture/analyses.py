"""`ablate analyse`: runs whose truth is known, in equivalent and in spoiled tables, and options that cannot be."""

import math
from random import Random
from typing import Any

from .case import Place
from .foreign_runs import SLOWEST, analysed, comparisons_of, experiments, noise, samples
from .intervals import close, paired, welch
from .runtables import RunsTable, equivalent, made, spoiled, write
from .values import BAD_NUMBERS

NUMBERS = (*BAD_NUMBERS, "0.01", "1", "1e-300", "1e300")
CLAIMS = (
    *(
        "wide beats base on {m}",
        "wide beats base on {m} by 1e999",
        "wide beats base on {m} by -1",
        "wide beats base",
    ),
    *(
        "wide matches base on {m} within 0.1",
        "wide matches base on {m} within nan",
        "wide matches base on {m}",
    ),
    *(
        "a beats b on c",
        "",
        "x" * 10_000,
        "wide beats wide on {m}",
        "base beats base on {m}",
        "wide beats base on x",
    ),
    *(
        "wide does not lose to base on {m} within 1",
        "wide beats base on {m}@far",
        "wide beats base on {m} by one",
    ),
    *(
        "wide beats base on {m} by more at a=b than at c=d",
        "\x1b[2J beats \u202e on {m}",
        "beats on",
        "(((((",
    ),
    *("wide beats base on {m} by " + "9" * 400, "baseline beats wide on {m}", "WIDE beats BASE on {m}"),
)
COLUMNS = ("variant", "task", "seed", "example", "source", "status")
WHERE = (
    "variant=wide",
    "seed=0",
    "seed=",
    "=",
    "gone=1",
    "variant",
    "variant==wide",
    "{m}=nan",
    "seed=1e999",
    "\x00=1",
)


def analyses(rng: Random, place: Place) -> str:
    """One table, folder or experiment, in one of several ways."""
    way = rng.choices([*WAYS], [5, 6, 4, 3, 1, 2])[0]
    place.counts[way] += 1
    before = len(place.violations)
    outcome = WAYS[way](rng, place)
    place.violations[before:] = [f"{text} [{way}]" for text in place.violations[before:]]
    return outcome


def _judging(rng: Random, metric: str) -> list[str]:
    words = ["--baseline", "base", "--metric", metric, "--direction", rng.choice(("max", "min"))]
    return [*words, "--margin", rng.choice(("0.01", "1"))] if rng.random() < 0.7 else words


def _equivalent(rng: Random, place: Place) -> str:
    """The interval is that of scipy, in whatever order and spelling the same runs are given."""
    table = made(rng)
    write(table, place.path / "runs.csv")
    words = _judging(rng, table.metric)
    done = analysed(place, "runs.csv", *words)
    if done.code != 0:
        place.violation(f"refused: {done.output[-400:]!r}")
        return "refused"
    rows = comparisons_of(place, "runs")
    for row in rows:
        _check(place, row, table, 1 if "max" in words else -1)
    path, how = equivalent(rng, table, place.path)
    again = analysed(place, path.name, *words, "--name", "other")
    if again.code != 0:
        place.violation(f"{how}: refused: {again.output[-400:]!r}")
        return "accepted"
    others = {(row["variant"], row["task"]): row for row in comparisons_of(place, "other")}
    if len(others) != len(rows):
        place.violation(f"{how}: {len(others)} comparisons instead of {len(rows)}")
    for row in rows:
        other = others.get((row["variant"], row["task"]), {})
        scale = max(abs(row["mean_baseline"]), abs(row["mean_variant"]))
        wrong = [(k, other.get(k), row[k]) for k in row if not _alike(other.get(k), row[k], scale)]
        if wrong:
            place.violation(f"{how}: {wrong}")
    return "accepted"


def _alike(one: object, other: object, scale: float) -> bool:
    """Whether two cells are the same but for rounding, of which values of this size have more."""
    if not isinstance(one, float | int) or not isinstance(other, float | int):
        return one == other
    if one == other or (math.isnan(one) and math.isnan(other)):
        return True
    return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-12 * scale)


def _check(place: Place, row: dict[str, Any], table: RunsTable, sign: int) -> None:
    """Holds a comparison to a paired or Welch's t by scipy."""
    base, other = table.values("base", row["task"]), table.values(row["variant"], row["task"])
    shared = sorted(base.keys() & other.keys(), key=int) if table.is_paired else []
    if table.is_paired and len(shared) > 1:
        ours, theirs = [sign * base[seed] for seed in shared], [sign * other[seed] for seed in shared]
        plain = paired(ours, theirs, row["level"], with_resolution=False)
        expected = [plain, paired(ours, theirs, row["level"])]
    else:
        ours, theirs = [sign * v for v in base.values()], [sign * v for v in other.values()]
        expected = [welch(ours, theirs, row["level"])]
        expected.append(welch(ours, theirs, row["level"], with_resolution=True))
    given = (row["diff"], row["ci_low"], row["ci_high"])
    if not any(close(given, each) for each in expected):
        place.violation(f"{row['variant']}: difference and interval are {given}, by scipy {expected}")
    if row["verdict"] in ("better", "worse") and row["ci_low"] < 0 < row["ci_high"]:
        place.violation(f"{row['variant']}: {row['verdict']} although the interval {given} holds 0")


def _spoiled(rng: Random, place: Place) -> str:
    """A table that is spoiled: refused, or judged, and never a traceback."""
    table = made(rng)
    path, metric, what = spoiled(rng, table, place.path)
    place.heard.append(f"spoiled: {what}")
    words = _judging(rng, metric)
    before = len(place.violations)
    done = analysed(place, path.name, *words)
    place.violations[before:] = [f"{text} [{what}]" for text in place.violations[before:]]
    return "refused" if done.code else "accepted"


def _options(rng: Random, place: Place) -> str:
    """Options that cannot be: no number that is none is taken."""
    table = made(rng)
    write(table, place.path / "runs.csv")
    words = _judging(rng, table.metric)
    m = table.metric
    texts = [
        *(
            [name, rng.choice(NUMBERS)]
            for name in ("--margin", "--floor", "--ceiling", "--resolution", "--all-or-nothing")
        ),
        ["--claim", rng.choice(CLAIMS).replace("{m}", m)],
        ["--where", rng.choice(WHERE).replace("{m}", m)],
        ["--column", rng.choice(COLUMNS), rng.choice((m, "seed", "x"))],
        ["--also", rng.choice((m, "seed", "variant", "x", "")), "max"],
        ["--name", rng.choice(("..", "store", "a/b", "", "\x1b", "x" * 300, "CON", "runs@x"))],
        ["--baseline", rng.choice(("gone", "", "baseline", "wide", "\u202e"))],
        ["--made-with", "data", rng.choice(("", "x" * 10_000, "\x1b[2J"))],
        ["--results", rng.choice(("runs.csv", "runs.csv/x", "self"))],
        ["--replicates"], ["--gate"], ["--strict"], ["--json"],
        ["--experiment", rng.choice(("gone", "x", ""))],
        [rng.choice(("--known-noise", "--keep-noise")), rng.choice(("runs.csv", "self", "results", "gone/x", ""))],
    ]  # fmt: skip
    (place.path / "self").symlink_to("self")
    chosen = rng.sample(texts, rng.choice((1, 1, 2, 3)))
    given = [*words, *(word for each in chosen for word in each)]
    content = (place.path / "runs.csv").read_bytes()
    done = place.hold_quick(
        place.start("analyse", "runs.csv", *(word.replace("\0", "") for word in given)),
        SLOWEST,
        codes=(0, 1, 2, 3),
    )  # fmt: skip
    if (place.path / "runs.csv").read_bytes() != content:
        place.violation(f"the table of runs was written over: {chosen}")
    if not (place.path / "self").is_symlink():
        place.violation(f"a link was replaced: {chosen}")
    if done.code in (0, 1, 3):
        for option in chosen:
            if option[0] in ("--margin", "--floor", "--ceiling", "--all-or-nothing") and not _is_finite(
                option
            ):
                place.violation(f"{option} is taken")
    return "refused" if done.code == 2 else "accepted"


def _is_finite(words: list[str]) -> bool:
    """Whether a number is one that may be taken: finite, and positive where it is a margin."""
    try:
        number = float(words[1])
    except ValueError:
        return False
    return math.isfinite(number) and (words[0] != "--margin" or number > 0)


WAYS = {
    "equivalent": _equivalent,
    "spoiled": _spoiled,
    "options": _options,
    "samples": samples,
    "experiment": experiments,
    "noise": noise,
}
