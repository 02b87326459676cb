"""What a study found, again on seeds that it has not seen: a study of its own, in `results/<study>@confirm/`.

Its variants are those that were decided, its claims those that were, its settings those that were chosen, or tuned
again where tuning chose them, so that it is a family of its own whose outcome was not used to choose it.
"""

import dataclasses
import itertools
from collections.abc import Iterator, Sequence

from ablate.analysis.judge import DECIDED
from ablate.base.errors import AblateError, listed
from ablate.base.wording import counted, joined
from ablate.core.facts import BASELINE
from ablate.core.feature import features
from ablate.core.names import confirmed
from ablate.core.spelling import spelled
from ablate.records.folder import StudyFolder
from ablate.report.verdicts import planned_rows
from ablate.route.choose import as_reported
from ablate.route.claims import is_measured
from ablate.route.options import Options
from ablate.study.experiment import Choice, Experiment
from ablate.study.sections import TUNING_SEEDS_FROM, Asked, SeedsSection, asked_for, in_words


class NothingDecided(AblateError):
    """There is nothing to confirm."""

    exit_code = 0


def confirming(experiment: Experiment, options: Options) -> Experiment:
    """The study as it is; where it confirms another, the part of that which was decided.

    Its seeds are as many as the other has, where the options do not ask for others. Raises `NothingDecided`, or
    another `AblateError` where there is no report of it as it is written.
    """
    if (name := confirmed(experiment.study.name)) is None:
        return experiment
    source = StudyFolder(options.results, name)
    if not source.has_trials:
        raise AblateError(f"{source.path}: has no report that could be confirmed; run {source.name} first")
    found, facts = as_reported(experiment, source), source.facts()
    # What was tuned is tuned again, on other seeds.
    repeats = [feature for feature in features() if facts.searched and facts.searched == feature.repeats]
    found = experiment if repeats else found
    decided = {
        (row["variant"], row["baseline"])
        for row in planned_rows(source.comparisons())
        if row["metric"] == facts.metric and row["verdict"] in DECIDED
    }
    settled = {row["hash"] for row in source.claims() if row["verdict"] in ("supported", "refuted")}
    # Seeds say nothing about what is measured.
    apart = {claim.text for claim in found.claims if is_measured(claim)}
    claims = [claim for claim in found.claims if claim.hash in settled and claim.text not in apart]
    if not decided and not claims:
        raise NothingDecided(
            f"Nothing to confirm: {source.path} has decided no comparison on {spelled(facts.metric)} and no claim."
        )
    names = {BASELINE, *itertools.chain(*decided), *(name for claim in claims for name in claim.variants)}
    kept = [variant for variant in found.variants if variant.placebo or variant.name in names]
    seeds = unseen(experiment.study.seeds, facts.seeds, options.seeds, source)
    what = joined([counted(len(of), noun) for noun, of in (("comparison", decided), ("claim", claims)) if of])
    return dataclasses.replace(
        found.judging(kept, found.design.paths, Choice() if repeats else Choice("report")),
        study=experiment.study.model_copy(
            update={
                "seeds": seeds,
                "claims": [text for text in experiment.study.claims if " ".join(text.split()) not in apart],
                # Of what accompanies trainings only what a claim is about, and nothing that is measured. What narrows
                # a study after this is of its variants.
                **{
                    key: type(experiment.study).model_fields[key].default
                    for feature in features()
                    if "confirm" not in feature.after and feature not in repeats
                    for key in feature.grammar()
                    if not {claim.metric for claim in claims} & feature.metrics().keys()
                },
            }
        ),
        claims=claims,
        left_out=[],
        remarks=[*_remarks(found, source, what, facts.seeds, seeds.values)],
    )


def unseen(given: SeedsSection, used: Sequence[int], asked: Asked, source: StudyFolder) -> SeedsSection:
    """The seeds of the study where it names some beyond those used, else as many as were used, after the last.

    `asked`: these, or in place of as many. Raises `AblateError` where they were used, or would reach those that tune.
    """
    if asked is not None and not isinstance(asked, int):
        if again := sorted(set(asked) & set(used)):
            raise AblateError(
                f"--seeds {asked_for(asked)}: {source.path} used {listed(again)} already; name others, or a number of "
                f"seeds, which follow {max(used)}"
            )
        return given
    if given.start > max(used):
        return given
    start, count = max(used) + 1, asked or len(used)
    if start + count > TUNING_SEEDS_FROM:
        raise AblateError(
            f"{source.path}: used seeds up to {max(used)}, and {count} more would reach those from "
            f"{TUNING_SEEDS_FROM} on, which tune; ask for fewer with --seeds"
        )
    return SeedsSection.of(start, count)


def _remarks(
    found: Experiment, source: StudyFolder, what: str, used: Sequence[int], seeds: Sequence[int]
) -> Iterator[str]:
    """What the report of a confirmation says of it."""
    chosen, searched = ", with the settings that it chose", source.facts().searched
    settings = chosen if found.choice.by else ", tuned again" if searched else ""
    yield (
        f"repeats on seeds {in_words(seeds)} what {source.name} decided on seeds {in_words(used)} ({what}){settings}, "
        "as a family of its own"
    )
    for task, described in zip(found.tasks, found.describe(found.variants[0]), strict=True):
        if described.sampling.pool != "fresh":
            of = (
                "test examples are those"
                if described.sampling.pool == "held_out"
                else "examples are from the pool"
            )
            yield f"confirms{found.on(task)} over seeds, not over examples: its {of} of {source.name}"
