"""The paragraph “Statistical methods” of a paper: one template, filled in with the numbers of a study.

It cites papers of `templates/references.bib` by key, as `[@akiba2019optuna]`, which pandoc reads as it stands.
"""

from __future__ import annotations

import re
from importlib import resources
from typing import Any

from ablate.analysis.family import family_size
from ablate.analysis.runs import Runs, solving_metric
from ablate.base import wording
from ablate.core.facts import Facts
from ablate.core.feature import derived, features
from ablate.report.section import Material
from ablate.report.verdicts import planned_rows
from ablate.report.words import say

TITLE = "Statistical methods"
CITED = re.compile(r" ?\[(@[a-z0-9]+(?:; @[a-z0-9]+)*)\]")


def methods(material: Material) -> str:
    """The paragraph; empty where the study planned no comparison and timed nothing."""
    facts, evidence = material.facts, material.evidence
    planned, told = planned_rows(material.comparisons), [f.account(evidence) for f in features()]
    if not planned and not any(told):
        return ""
    runs = Runs(evidence)
    sides = runs.sides()
    return say(
        "methods.paragraph",
        m=family_size(facts) if planned else 0,
        variants=sum(not variant.placebo for variant in facts.variants[1:]),
        tasks=len(facts.tasks),
        seeds=len(facts.seeds),
        looks=facts.looks,
        pools=list(dict.fromkeys(task.sampling.pool for task in facts.tasks)),
        metric=facts.metric,
        at=facts.at,
        solved=_solved(facts),
        graded=any(task.outcome == "graded" for task in facts.tasks),
        crossed=len(evidence.examples) > 0,
        margin=facts.margin,
        claimed={derived()[claim.metric].kind for claim in facts.claims if claim.metric in derived()},
        runs=sum(int(side.asked.sum()) for side in sides),
        diverged=sum(side.diverged for side in sides),
        missing=sum(int((side.asked & ~side.ended).sum()) for side in sides),
        rate=facts.rate,
        tuned=any(variant.tuned for variant in facts.variants),
        features=" ".join(filter(None, told)),
        software=_software(facts.environment),
    )


def bibliography() -> str:
    """The papers that it may cite, as BibTeX."""
    return (resources.files("ablate.report") / "templates" / "references.bib").read_text("utf-8")


def _solved(facts: Facts) -> list[tuple[str, ...]]:
    """Of all-or-nothing tasks the threshold: task, metric, direction, value."""
    found: list[tuple[str, ...]] = []
    for task in facts.tasks:
        name = solving_metric(task, facts.metric)
        if task.outcome == "all_or_nothing" and name is not None:
            known = task.metrics[name]
            found.append((task.name, name, known.direction, wording.exact(known.solved or 0.0)))
    return found


def _software(known: dict[str, Any]) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in (known.get("versions") or {}).items())
    commit = (
        say("methods.commit", str(known["commit"])[:10], known.get("dirty")) if known.get("commit") else ""
    )
    return "; ".join(filter(None, [versions, commit, str(known.get("machine") or "")]))
