"""The words that differ by what repeats a measurement: one record of message codes for each replication."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, assert_never

from ablate.core.replication import (
    Examples,
    Folds,
    GivenSeeds,
    KnownNoise,
    PlannedSeeds,
    Replication,
    Summaries,
    UnpairedRuns,
)


@dataclass(frozen=True)
class ReplicationWords:
    """The codes of messages on the runs of a report; the defaults are those of runs that were given."""

    over: str
    """Follows a difference: `over 5 seeds`."""
    on: str
    """Begins an answer: `On 5 seeds`."""
    compared: str
    """Says in the methods how runs were compared; empty of a study, whose design says it."""
    rests_on: str
    """Says what the verdicts rest on; empty where nothing is to be said."""
    paired: str = ""
    """How differences are paired, in a paper; empty where they are not."""
    replicate: Literal["seed", "fold", "run", "document"] = "run"
    """The word for what is repeated until the detectable difference would be seen."""
    interval: str = "methods.t_over_runs"
    """The test behind an interval."""
    interval_with_examples: str = "methods.t_over_runs_and_examples"
    """The test behind an interval, where outcomes by example are known."""
    interval_with_sources: str = "methods.t_over_runs_and_examples"
    """The test behind an interval, where examples are in clusters."""
    forest: str = "figures.forest"
    """The caption of a forest plot."""
    solved: str = "figures.solved"
    """The caption of a figure of the runs that solved a task."""
    claims: str = "verdicts.claims_of_given_runs"
    """When claims were declared, where none is late."""
    incidents: str = "cost.incidents_of_given"
    """The caption of runs without a result."""
    nothing_unstable: str = "stability.nothing_given"
    """Says that no run diverged and no spread differs."""
    comparison: str = "comparison"
    """A member of the family."""
    statuses: str = "Runs"
    """The term for what became of the runs."""


def replication_words(replication: Replication) -> ReplicationWords:
    """Returns the words of a replication."""
    match replication:
        case PlannedSeeds():
            return _OF_STUDIES
        case GivenSeeds():
            return ReplicationWords(
                over="verdicts.over_runs",
                on="answer.on_runs",
                compared="methods.runs",
                rests_on="limits.given_runs",
                paired="paper.paired_where_shared",
            )
        case Folds():
            return _OF_FOLDS
        case UnpairedRuns():
            return ReplicationWords(
                over="verdicts.over_unpaired_runs",
                on="answer.on_runs",
                compared="methods.runs_unpaired",
                rests_on="limits.given_runs",
            )
        case KnownNoise():
            return ReplicationWords(
                over="verdicts.from_kept_runs",
                on="answer.by_kept_runs",
                compared="methods.runs_known_noise",
                rests_on="limits.given_known_noise",
            )
        case Summaries():
            return ReplicationWords(
                over="verdicts.over_summaries",
                on="answer.on_runs",
                compared="methods.runs_summaries",
                rests_on="limits.given_summaries",
            )
        case Examples():
            return _OF_EXAMPLES
        case _:
            assert_never(replication)


_OF_STUDIES = ReplicationWords(
    over="verdicts.over_seeds",
    on="answer.on_seeds",
    compared="",
    rests_on="",
    paired="paper.paired",
    replicate="seed",
    interval="methods.t_over_seeds",
    interval_with_examples="methods.t_over_seeds_and_examples",
    interval_with_sources="methods.t_over_seeds_and_examples",
    forest="figures.paired_forest",
    solved="figures.solved_on_same_seeds",
    claims="verdicts.claims_planned",
    incidents="cost.incidents",
    nothing_unstable="stability.nothing",
    comparison="planned comparison",
    statuses="Trials",
)
_OF_FOLDS = ReplicationWords(
    over="verdicts.over_folds",
    on="answer.on_folds",
    compared="methods.folds",
    rests_on="limits.given_folds",
    paired="paper.paired_by_fold",
    replicate="fold",
    interval="methods.t_over_folds",
)
_OF_EXAMPLES = ReplicationWords(
    over="verdicts.over_documents",
    on="answer.on_documents",
    compared="methods.runs_documents",
    rests_on="limits.given_documents",
    paired="paper.paired_by_document",
    replicate="document",
    interval="methods.t_over_documents",
    interval_with_examples="methods.t_over_documents",
    interval_with_sources="methods.t_over_sources",
)
