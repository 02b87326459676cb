"""The checks of a calibration, for machines and for readers: calibration.json, checks.csv and report.md."""

import json
import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd

from ablate.base.wording import number
from ablate.records.environment import environment

from .check import OWN, Check, Place

Found = Mapping[str, tuple[Sequence[Check], float]]


def write(folder: Path, found: Found, seed: int, place: Place) -> None:
    """Everything into `folder`; the same seed gives the same bytes, times and environment aside."""
    table = frame(found)
    folder.mkdir(parents=True, exist_ok=True)
    table.to_csv(folder / "checks.csv", index=False)
    head = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "seed": seed,
        "studies": place.studies,
        "draws": place.draws,
        "seconds": {name: round(seconds, 1) for name, (_, seconds) in found.items()},
        "environment": environment("make calibrate", (Path(__file__).parent,)),
    }
    lines = rows_of(table)
    data = head | {"checks": lines.to_dict("records")}
    (folder / "calibration.json").write_text(json.dumps(data, indent=1, default=str) + "\n")
    (folder / "report.md").write_text(page(head, table, lines))


def frame(found: Found) -> pd.DataFrame:
    """One row a check: part, what, rules, its setting in words, the figure, its band, how many it was counted over."""
    rows = [
        {
            "part": part,
            "what": check.what,
            "rules": check.rules,
            "setting": ", ".join(f"{name} {value}" for name, value in check.setting.items()),
            "value": round(check.value, 6),
            "low": round(check.low, 6),
            "high": round(check.high, 6),
            "studies": check.studies,
            "inside": check.inside,
            "error": check.error,
        }
        for part, (checks, _) in found.items()
        for check in checks
    ]
    return pd.DataFrame(rows)


def rows_of(table: pd.DataFrame) -> pd.DataFrame:
    """One row a kind of check and rules: its settings, the range that was measured, the band, how many lie outside."""
    grouped = table.groupby(["part", "what", "rules"], sort=False)
    return grouped.agg(
        settings=("value", "size"),
        studies=("studies", "max"),
        smallest=("value", "min"),
        largest=("value", "max"),
        low=("low", "max"),
        high=("high", "min"),
        highest=("high", "max"),
        outside=("inside", lambda inside: int((~inside).sum())),
    ).reset_index()


def wrong_rules_missed(checks: Sequence[Check]) -> list[str]:
    """The wrong rules of which no figure lies outside of its band."""
    names = {check.rules for check in checks} - {OWN}
    return sorted(names - {check.rules for check in checks if not check.inside})


def page(head: Mapping[str, Any], table: pd.DataFrame, lines: pd.DataFrame) -> str:
    """The report as markdown."""
    own, wrong = lines[lines["rules"] == OWN], lines[lines["rules"] != OWN]
    outside = table[(table["rules"] == OWN) & ~table["inside"]]
    failed = int((own["outside"] > 0).sum())
    text = [
        "# Calibration",
        "",
        "How often the verdicts are wrong, how often they find what is there, and what the intervals hold. "
        "A frequency over R studies must lie in the binomial 99 % band around its target or, where a test may be "
        "conservative, at most at the upper edge; settings of one check over conditions share that 99 %. `checks.csv` "
        "has every setting.",
        "",
        "At most .05 a page holds where differences have no outliers to one side. What is published without a band is "
        "beyond that: stragglers and lognormal losses, skewed effects of sources, seeds chosen afterwards, independent "
        "conditions of which those with the fewest seeds vary most, many conditions on five seeds as a sample. Seeds "
        "added after a look have the levels of their own rows.",
        "",
        f"Seed {head['seed']}, commit {(head['environment']['commit'] or 'unknown')[:12]}, {head['date'][:10]}: "
        f"{len(own)} checks in {int(own['settings'].sum())} settings, **{failed} failed**.",
        "",
        *_table(own, "passed", "**FAIL**"),
        *(f"- outside: {r.what} ({r.setting}): {_value(r.value)}" for r in outside.itertuples()),
        "",
        "Of rules that are known to be wrong, each must lie outside of at least one band.",
        "",
        *_table(wrong, "inside", "found"),
    ]
    return "\n".join([*text, ""])


def _table(lines: pd.DataFrame, inside: str, outside: str) -> list[str]:
    named = (lines["rules"] != OWN).any()
    first, line = ("| rules ", "|---") if named else ("", "")
    rows = [f"{first}| check | settings | R | measured | band | |", f"{line}|---|---:|---:|---:|---:|---|"]
    for r in lines.sort_values("rules", kind="stable").itertuples():
        result = outside if r.outside else inside if _band(r) else ""
        if r.outside and r.settings > 1:
            result += f" {r.outside} of {r.settings}"
        studies = f"{r.studies:,}" if r.studies else ""
        cells = [r.what, r.settings, studies, _range(r.smallest, r.largest), _band(r), result]
        rows.append("| " + " | ".join(map(str, [r.rules, *cells] if named else cells)) + " |")
    return rows


def _band(row: Any) -> str:
    """Of one kind of check; where R differs between settings, so does the edge. Empty: it is only published."""
    if math.isinf(row.high):
        return "" if math.isinf(row.low) else f"≥ {_value(row.low)}"
    return f"≤ {_range(row.high, row.highest)}" if math.isinf(row.low) else _range(row.low, row.high)


def _range(low: float, high: float) -> str:
    return " – ".join(dict.fromkeys(map(_value, (low, high))))


def _value(value: float) -> str:
    # Plus zero: what rounds to −0 is 0.
    return f"{value + 0.0:.0f}" if value == round(value) else number(value, 4)
