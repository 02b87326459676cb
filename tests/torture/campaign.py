"""Runs the cases of all kinds, in the order that their numbers give, until they or the time have run out."""

import argparse
import json
import os
import random
import shutil
import subprocess
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from .analyses import analyses
from .case import OUTCOMES, Kind, Place, Result, Shared, Skipped
from .comparisons import comparisons
from .crowds import crowds
from .damage import damage
from .disks import disks
from .kills import kills
from .mutations import mutations
from .own import own
from .process import ROOT, warm_up
from .sets import sets
from .streams import streams

KINDS = {
    kind.name: kind
    for kind in (
        Kind("mutations", mutations, 500),
        Kind("sets", sets, 100),
        Kind("kills", kills, 26),  # of two kills each
        Kind("damage", damage, 100),
        Kind("crowds", crowds, 5),
        Kind("disks", disks, 10),
        Kind("own", own, 50),
        Kind("analyse", analyses, 120),
        Kind("compare", comparisons, 50),
        Kind("gate", streams, 30),
    )
}
"""All kinds of attack, and how many cases of each a whole campaign has."""


def run_case(kind: Kind, number: int, seed: int, shared: Shared, keep: Path | None = None) -> Result:
    """One case, in a folder of its own; with `keep`, the folder stays, and what was printed with it."""
    folder = keep or Path(tempfile.mkdtemp(prefix=f"{kind.name}-{number}-", dir=shared.path))
    path = folder / "place"
    path.mkdir(parents=True)
    place = Place(path, shared)
    result = Result(kind.name, number)
    began = time.monotonic()
    try:
        result.outcome = kind.attack(random.Random(f"{seed}/{kind.name}/{number}"), place)
    except Skipped as error:
        result.skipped = str(error)
    except Exception:
        place.violation(f"the campaign broke: {traceback.format_exc(limit=-3)}")
    result.seconds = time.monotonic() - began
    result.violations, result.counts = place.violations, place.counts
    if keep:
        (folder / "said.txt").write_text("\n".join(place.heard))
    else:
        shutil.rmtree(folder, ignore_errors=True)
    return result


def spread(cases: dict[str, int]) -> list[tuple[str, int]]:
    """All cases, the kinds evenly mixed: time that runs out costs each the same share."""
    found = [
        ((number + 0.5) / count, name, number) for name, count in cases.items() for number in range(count)
    ]
    return [(name, number) for _, name, number in sorted(found)]


def campaign(
    cases: dict[str, int],
    seed: int,
    seconds: float = float("inf"),
    lanes: int = 2,
    say: Callable[[str], None] = str,
) -> list[Result]:
    """The results of so many cases of each kind; those that the time did not suffice for are missing."""
    warm_up()
    until = time.monotonic() + seconds
    with tempfile.TemporaryDirectory(prefix="torture-", ignore_cleanup_errors=True) as folder:
        shared = Shared(Path(folder))

        def one(case: tuple[str, int]) -> Result | None:
            if time.monotonic() > until:
                return None
            result = run_case(KINDS[case[0]], case[1], seed, shared)
            for violation in result.violations:
                say(f"{result.kind} {result.number}: {violation}")
            return result

        with ThreadPoolExecutor(lanes) as pool:
            found: Iterable[Result | None] = pool.map(one, spread(cases))
            return [result for result in found if result is not None]


def summary(results: list[Result], cases: dict[str, int], seed: int, seconds: float) -> dict[str, Any]:
    """Plain data: when, with what, and for each kind how many were tried and what became of them."""
    kinds: dict[str, dict[str, int]] = {}
    for name, asked in cases.items():
        of_kind = [result for result in results if result.kind == name]
        outcomes = Counter(result.outcome for result in of_kind)
        skipped = sum(bool(result.skipped) for result in of_kind)
        kinds[name] = {
            "tried": len(of_kind) - skipped,
            **{outcome: outcomes[outcome] for outcome in OUTCOMES},
            "skipped": skipped,
            "not_reached": asked - len(of_kind),
            "violated": sum(bool(result.violations) for result in of_kind),
            **sum((Counter(result.counts) for result in of_kind), Counter()),
        }
    describe = ["git", "describe", "--always", "--dirty", "--abbrev=40"]
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": subprocess.run(
            describe, cwd=ROOT, capture_output=True, text=True, check=False
        ).stdout.strip(),
        "seed": seed,
        "minutes": round(seconds / 60, 2),
        "kinds": kinds,
        "skipped": dict(Counter(f"{result.kind}: {result.skipped}" for result in results if result.skipped)),
        "violations": [
            {
                "violation": violation,
                "repeat": f"python -m tests.torture --only {result.kind} --seed {seed} --case {result.number}",
            }
            for result in sorted(results, key=lambda result: (result.kind, result.number))
            for violation in result.violations
        ],
    }


def write(folder: Path, found: dict[str, Any]) -> None:
    """torture.json, and its table as report.md."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "torture.json").write_text(json.dumps(found, indent=1) + "\n")
    columns = ("tried", *OUTCOMES, "skipped", "not_reached", "violated")
    lines = [
        f"# Torture\n\nSeed {found['seed']}, {found['date'][:10]}, commit {found['commit'][:12]}, "
        f"{found['minutes']:.0f} minutes: {len(found['violations'])} violations.\n",
        f"| kind | {' | '.join(columns)} |",
        f"|---|{'---:|' * len(columns)}",
        *(f"| {n} | {' | '.join(str(of[c]) for c in columns)} |" for n, of in found["kinds"].items()),
        *(f"- {one['violation'].splitlines()[0][:300]} `{one['repeat']}`" for one in found["violations"]),
    ]
    (folder / "report.md").write_text("\n".join(lines) + "\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code 1 where an invariant did not hold."""
    parser = argparse.ArgumentParser(prog="python -m tests.torture", description=__doc__)
    parser.add_argument("--seed", type=int, help="of all that is random (default: drawn, and printed)")
    parser.add_argument("--minutes", type=float, default=19, help="cases begin for so long (default: 19)")
    parser.add_argument(
        "--lanes", type=int, default=os.cpu_count() or 1, help="cases at once (default: one a core)"
    )
    parser.add_argument("--only", choices=sorted(KINDS), action="append", help="this kind; may be repeated")
    parser.add_argument("--share", type=float, default=1.0, help="of the cases of each kind (default: all)")
    parser.add_argument("--case", type=int, action="append", help="with --only: this number; may be repeated")
    parser.add_argument("--keep", type=Path, help="with --case: the folder that keeps what the case left")
    parser.add_argument("--results", type=Path, help="where report.md and torture.json are written")
    given = parser.parse_args(arguments)
    seed = random.SystemRandom().randrange(10**6) if given.seed is None else given.seed
    print(f"seed {seed}", flush=True)
    if given.case is not None:
        return _again(given, seed)
    cases = {name: max(1, round(KINDS[name].cases * given.share)) for name in given.only or KINDS}
    began = time.monotonic()
    results = campaign(cases, seed, 60 * given.minutes, given.lanes, lambda line: print(line, flush=True))
    found = summary(results, cases, seed, time.monotonic() - began)
    if given.results:
        write(given.results, found)
    for name, counts in found["kinds"].items():
        print(name, *(f"{key} {value}" for key, value in counts.items()), sep="  ")
    print(f"{len(found['violations'])} violations in {found['minutes']:.1f} minutes")
    return 1 if found["violations"] else 0


def _again(given: argparse.Namespace, seed: int) -> int:
    """The cases that were named, one by one."""
    warm_up()
    (kind,) = given.only
    bad = 0
    with tempfile.TemporaryDirectory(prefix="torture-", ignore_cleanup_errors=True) as folder:
        shared = Shared(Path(folder))
        for number in given.case:
            keep = given.keep / f"{kind}-{number}" if given.keep else None
            result = run_case(KINDS[kind], number, seed, shared, keep)
            bad += bool(result.violations)
            print(
                f"{kind} {number}: {result.outcome or result.skipped} in {result.seconds:.1f} s {dict(result.counts)}"
            )
            for violation in result.violations:
                print(f"  {violation}")
    return 1 if bad else 0
