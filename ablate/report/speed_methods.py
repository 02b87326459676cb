"""How speed was measured, for the paragraph on methods of a paper."""

from __future__ import annotations

from collections.abc import Iterator

from ablate.base import wording
from ablate.core.facts import BASELINE
from ablate.core.speed import LEAST, SpeedFacts
from ablate.report import bibliography as cite
from ablate.report import timing
from ablate.report.bibliography import Sentence
from ablate.report.section import Material
from ablate.report.tables import rows_of


def measured(material: Material) -> Iterator[Sentence]:
    """Sentences; none where nothing was timed."""
    facts, rows = SpeedFacts.of(material.facts), rows_of(material.speeds)
    if facts is None or not rows:
        return
    calls = wording.joined([said for call, said in timing.CALLS.items() if timing.of(rows, call)])
    yield [
        f"Speed was measured apart from training, of {calls}. {timing.how_measured(material.evidence)} Ratios are "
        "geometric means over processes, with t intervals of the mean log ratio."
    ]
    floors = timing.floors(rows)
    floor = f" ({wording.in_percent(max(floors.values()))} at most)" if floors else ""
    yield [
        f"The {BASELINE} was timed against itself too: no difference below this noise floor{floor} or below "
        f"{wording.in_percent(LEAST)} is called one; a ratio within ±{wording.in_percent(facts.margin)}, by two "
        "one-sided tests",
        cite.SCHUIRMANN,
        ", is called equivalent. Verdicts on speed are exploratory unless claimed.",
    ]
