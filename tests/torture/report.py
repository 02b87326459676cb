"""The counts of a campaign, for machines and for readers."""

from __future__ import annotations

import json
import platform
import subprocess
from collections import Counter
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from .case import OUTCOMES, Result
from .process import ROOT

PACKAGES = ("ablate", "torch", "numpy", "pandas", "pydantic", "ruamel.yaml", "optuna", "mlflow")
MOST = 200
"""Violations that are listed; all are counted."""


def summary(results: list[Result], cases: dict[str, int], seed: int, seconds: float) -> dict[str, Any]:
    """Plain data: when, with what, and for each kind how many were tried and what became of them."""
    kinds: dict[str, dict[str, int]] = {}
    for name, asked in cases.items():
        mine = [result for result in results if result.kind == name]
        outcomes = Counter(result.outcome for result in mine)
        skipped = Counter(result.skipped for result in mine if result.skipped)
        kinds[name] = {
            "tried": len(mine) - skipped.total(),
            **{outcome: outcomes[outcome] for outcome in OUTCOMES},
            "skipped": skipped.total(),
            "not_reached": asked - len(mine),
            "violated": sum(bool(result.violations) for result in mine),
            **dict(sorted(sum((Counter(result.counts) for result in mine), Counter()).items())),
        }
    commit = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    dirty = subprocess.run(
        ["git", "status", "--porcelain", "--", "ablate", "tests", "studies"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": commit.stdout.strip() + ("-dirty" if dirty.stdout.strip() else ""),
        "versions": {"python": platform.python_version(), **{name: version(name) for name in PACKAGES}},
        "machine": f"{platform.system()} {platform.release()} {platform.machine()}",
        "seed": seed,
        "minutes": round(seconds / 60, 2),
        "kinds": kinds,
        "skipped": dict(Counter(f"{result.kind}: {result.skipped}" for result in results if result.skipped)),
        "violations": [
            {
                "kind": result.kind,
                "case": result.number,
                "violation": violation,
                "repeat": f"python -m tests.torture --only {result.kind} --seed {seed} --case {result.number}",
            }
            for result in sorted(results, key=lambda result: (result.kind, result.number))
            for violation in result.violations
        ],
    }


def write(folder: Path, found: dict[str, Any]) -> None:
    """torture.json and report.md."""
    folder.mkdir(parents=True, exist_ok=True)
    listed = {**found, "violations": found["violations"][:MOST], "num_violations": len(found["violations"])}
    (folder / "torture.json").write_text(json.dumps(listed, indent=1) + "\n")
    (folder / "report.md").write_text(_page(found))


def _page(found: dict[str, Any]) -> str:
    columns = ("tried", *OUTCOMES, "skipped", "not_reached", "violated")
    lines = [
        "# Torture",
        "",
        f"`make torture SEED={found['seed']}`, {found['date'][:10]}, commit {found['commit'][:12]}, "
        f"{found['minutes']:.0f} minutes: {len(found['violations'])} violations.",
        "",
        "Held for every case: no traceback; no refusal after more than 10 s; no finished trial lost or trained twice;",
        "no wrong number accepted; final tables bitwise those of an uninterrupted run, times aside.",
        "",
        f"| kind | {' | '.join(column.replace('_', ' ') for column in columns)} | of which |",
        f"|---|{'---:|' * len(columns)}---|",
    ]
    for name, counts in found["kinds"].items():
        more = ", ".join(f"{counts[key]} {key}" for key in counts if key not in columns)
        lines.append(f"| {name.replace('_', ' ')} | {' | '.join(str(counts[c]) for c in columns)} | {more} |")
    if found["skipped"]:
        lines += ["", "Skipped", *(f"- {reason} ({count})" for reason, count in found["skipped"].items())]
    if found["violations"]:
        lines += ["", "Violations"]
        lines += [
            f"- {one['violation'].splitlines()[0][:300]}  \n  `{one['repeat']}`"
            for one in found["violations"][:MOST]
        ]
    versions = ", ".join(f"{name} {number}" for name, number in found["versions"].items())
    return "\n".join([*lines, "", f"{found['machine']}; {versions}.", ""])
