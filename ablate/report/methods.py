"""The paragraph “Statistical methods” of a paper: one template, filled in with the numbers of a study.

It cites papers of `templates/references.bib` by key, as `[@holm1979simple]`, which pandoc reads as it stands.
"""

from __future__ import annotations

import re
from importlib import resources
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from ablate.analysis.headline import matched
from ablate.analysis.runs import Runs, solving_metric
from ablate.base import wording
from ablate.core.derived import DERIVED
from ablate.core.facts import Facts
from ablate.core.speed import LEAST, SpeedFacts
from ablate.report import timing
from ablate.report.brief.verdicts import verdict_rows
from ablate.report.section import Material
from ablate.report.sections.provenance import AT
from ablate.report.sections.tuning_given import budgets, parity
from ablate.report.tables import number, rows_of

TITLE = "Statistical methods"
CITED = re.compile(r" ?\[(@[a-z0-9]+(?:; @[a-z0-9]+)*)\]")


def methods(material: Material) -> str:
    """The paragraph; empty where the study planned no comparison and timed nothing."""
    numbers = _numbers(material)
    if not numbers["m"] and not numbers["speed"]:
        return ""
    environment = Environment(
        loader=PackageLoader("ablate.report"), undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {"counted": wording.counted, "joined": wording.joined}
    return " ".join(environment.get_template("methods.j2").render(numbers).split())


def bibliography() -> str:
    """The papers that it may cite, as BibTeX."""
    return (resources.files("ablate.report") / "templates" / "references.bib").read_text("utf-8")


def _numbers(material: Material) -> dict[str, Any]:
    """What the template takes."""
    facts, found = material.facts, Runs(material.evidence)
    family, speeds = verdict_rows(material.comparisons), rows_of(material.speeds)
    sides = found.sides()
    floors = [task.metrics[facts.metric].floor for task in facts.tasks if facts.metric in task.metrics]
    by = {kind: [row["task"] for row in family if row["decided_by"] == kind] for kind in ("t", "rate")}
    return {
        "m": len(family),
        "variants": sum(not variant.placebo for variant in facts.variants[1:]),
        "tasks": facts.tasks,
        "seeds": len(facts.seeds),
        "looks": facts.looks_in_words,
        "pools": _pools(facts),
        "matched": " ".join(matched(material.evidence)),
        "metric": facts.metric,
        "at": AT.get(facts.at, facts.at),
        "solved": _solved(facts),
        "decided_by": [kind for kind, tasks in by.items() if tasks],
        "rated": list(dict.fromkeys(map(str, by["rate"]))),
        "crossed": any(number(row["sd_example"]) is not None for row in family),
        "margin": wording.exact(facts.margin) if facts.margin is not None else "",
        "early": sum(not claim.exploratory for claim in facts.claims),
        "one_sided": facts.margin is None
        and any(c.kind in ("matches", "does_not_lose") for c in facts.claims),
        "claimed": {DERIVED[name].kind for claim in facts.claims if (name := claim.metric) in DERIVED},
        "runs": sum(int(side.asked.sum()) for side in sides),
        "diverged": sum(side.diverged for side in sides),
        "missing": sum(int((side.asked & ~side.ended).sum()) for side in sides),
        "floored": None not in floors,
        "stress": [
            (path, ", ".join(map(wording.brief, grid)))
            for path, grid in facts.features.get("stress", {}).items()
        ],
        "rate": facts.rate,
        **_searched(material),
        "speed": timing.how_measured(material.evidence) if speeds else "",
        "speed_margin": wording.in_percent((SpeedFacts.of(facts) or SpeedFacts()).margin),
        "least": wording.in_percent(LEAST),
        "software": _software(facts.environment),
    }


def _pools(facts: Facts) -> list[tuple[str, str, str]]:
    """Where the examples of tasks are drawn: kind of pool, its tasks, the numbers of their test examples."""
    by_pool: dict[str, list[Any]] = {}
    for task in facts.tasks:
        by_pool.setdefault(task.sampling.pool, []).append(task)
    return [
        (
            pool,
            wording.joined([task.name for task in tasks]),
            " or ".join(sorted({f"{t.sampling.test:,}" for t in tasks})),
        )
        for pool, tasks in by_pool.items()
    ]


def _solved(facts: Facts) -> list[tuple[str, str, str, str]]:
    """Of all-or-nothing tasks the threshold: task, metric, `at least` or `at most`, value."""
    found = []
    for task in facts.tasks:
        name = solving_metric(task, facts.metric)
        if task.outcome == "all_or_nothing" and name is not None:
            sign = "at most" if task.metrics[name].direction == "min" else "at least"
            found.append((task.name, name, sign, wording.exact(task.metrics[name].solved or 0.0)))
    return found


def _searched(material: Material) -> dict[str, Any]:
    """How settings were found; none of it where nothing was searched."""
    table, kind = material.searched, material.facts.searched
    if table is None or not kind:
        return {"searched": ""}
    if kind == "sweep":
        paths = wording.joined([parameter.path for parameter in table.facts.parameters])
        return {"searched": kind, "settings": len(table.trials), "paths": paths}
    spent = budgets(material)
    if not len(spent):
        return {"searched": ""}
    return {"searched": kind, "parity": parity(table.facts, spent).removesuffix(".")}


def _software(known: dict[str, Any]) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in (known.get("versions") or {}).items())
    dirty = " with uncommitted changes" if known.get("dirty") else ""
    commit = f"commit {str(known['commit'])[:10]}{dirty}" if known.get("commit") else ""
    return "; ".join(filter(None, [versions, commit, str(known.get("machine") or "")]))
