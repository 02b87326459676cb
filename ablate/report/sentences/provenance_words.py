"""The words that differ by who trained the runs of a report: one record of message codes for each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

from ablate.core.facts import StudyFacts
from ablate.core.provenance import Given, Planned
from ablate.report.sentences.data_words import stated_of


@dataclass(frozen=True)
class ProvenanceWords:
    """The codes of messages on who trained the runs, and on what is known of their training."""

    none_diverged: str
    """Says in the methods that no run diverged."""
    divergence_rate: str
    """The meaning of the measure of stability."""
    versions: str
    """The term for the versions in the environment: code that is not ours may have run with others than ablate."""


def provenance_words(facts: StudyFacts) -> ProvenanceWords:
    """Returns the words of runs that were given, of those of a user's own code, or of those of built-in tasks."""
    match facts.provenance:
        case Given():
            return _GIVEN
        case Planned():
            return _BUILT_IN if stated_of(facts) is None else _OWN_CODE
        case _:
            assert_never(facts.provenance)


_GIVEN = ProvenanceWords(
    none_diverged="methods.none_marked",
    divergence_rate="stability.given_divergence_rate",
    versions="Analysed with",
)
_OWN_CODE = ProvenanceWords(
    none_diverged="methods.none_infinite",
    divergence_rate="stability.stated_divergence_rate",
    versions="Ablate ran with",
)
_BUILT_IN = ProvenanceWords(
    none_diverged="methods.none_diverged",
    divergence_rate="stability.divergence_rate",
    versions="Versions",
)
