"""Design, seeds, versions and the machine."""

from __future__ import annotations

from collections.abc import Iterator

from ablate.base import wording
from ablate.core.evidence import Evidence
from ablate.report.section import Block, Material, Section, Terms
from ablate.report.tables import text
from ablate.report.timing import how_measured

POOLS = {
    "fresh": "drawn anew from a generator for every seed",
    "held_out": "the same examples for every seed, which no seed trains on; verdicts are conditional on this pool",
    "resplit": "every seed draws training and test examples from one finite pool; variances are corrected for it",
}
AT = {"last": "at the last step", "best_validation": "at the step that was best on validation"}


class Provenance(Section):
    """The last section."""

    place = 1400
    title = "How it was run"
    needs_trials = False
    inside = "command, commit, versions, machine, seeds and test data"

    def blocks(self, material: Material) -> Iterator[Block]:
        yield Terms(provenance(material.evidence))


def provenance(evidence: Evidence) -> list[tuple[str, str]]:
    """How the study was run, as pairs of a term and its description; what is not known is left out."""
    facts, known = evidence.facts, dict(evidence.facts.environment)
    commit, dirty = known.pop("commit", None), known.pop("dirty", None)
    versions = known.pop("versions", None) or {}
    statuses = evidence.trials["status"].value_counts().sort_index()
    seeds = f" ({', '.join(map(str, facts.seeds))})" if len(facts.seeds) <= 20 else ""
    training = [
        ("Metric", f"{facts.metric}, {AT.get(facts.at, facts.at)}"),
        ("Margin", "none declared" if facts.margin is None else f"±{wording.exact(facts.margin)}"),
        ("Seeds", f"{len(facts.seeds)}{seeds}"),
        ("Trials", ", ".join(f"{n} {status}" for status, n in statuses.items())),
        ("Test data", "; ".join(dict.fromkeys(POOLS[task.sampling.pool] for task in facts.tasks))),
    ]
    pairs = [
        ("Command", known.pop("command", None)),
        ("Commit", commit and f"{commit}{', with uncommitted changes' if dirty else ''}"),
        ("Versions", ", ".join(f"{name} {version}" for name, version in versions.items())),
        ("Machine", known.pop("machine", None)),
        *((key.replace("_", " ").capitalize(), value) for key, value in sorted(known.items())),
        ("Differs from the study", "; ".join(facts.differs)),
        ("Design", facts.design.replace("_", " ")),
        *([] if evidence.only_measured else training),
        ("Timing", how_measured(evidence)),
    ]
    return [(term, text(value)) for term, value in pairs if text(value)]
