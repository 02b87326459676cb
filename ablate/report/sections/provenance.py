"""Design, seeds, versions and the machine."""

from __future__ import annotations

from collections.abc import Iterator

from ablate.base import wording
from ablate.core.evidence import Evidence
from ablate.core.feature import features
from ablate.report.section import Block, Material, Section, Terms
from ablate.report.tables import text
from ablate.report.words import say


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
        ("Metric", say("cost.metric", facts.metric, say(f"cost.{facts.at}"))),
        ("Margin", say("cost.no_margin") if facts.margin is None else f"±{wording.exact(facts.margin)}"),
        ("Seeds", f"{len(facts.seeds)}{seeds}"),
        ("Trials", ", ".join(f"{n} {status}" for status, n in statuses.items())),
        ("Test data", "; ".join(dict.fromkeys(say(f"cost.{task.sampling.pool}") for task in facts.tasks))),
    ]
    pairs = [
        ("Command", known.pop("command", None)),
        ("Commit", commit and say("cost.commit", commit, dirty)),
        ("Versions", ", ".join(f"{name} {version}" for name, version in versions.items())),
        ("Machine", known.pop("machine", None)),
        *((key.replace("_", " ").capitalize(), value) for key, value in sorted(known.items())),
        ("Differs from the study", "; ".join(facts.differs)),
        ("Design", facts.design.replace("_", " ")),
        *([] if evidence.only_measured else training),
        *((feature.name.capitalize(), feature.told(evidence)[1]) for feature in features()),
    ]
    return [(term, text(value)) for term, value in pairs if text(value)]
