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
from ablate.core.derived import is_measured
from ablate.core.facts import BASELINE, Claim
from ablate.core.names import confirmed
from ablate.core.spelling import spelled
from ablate.pipeline.reported import as_reported
from ablate.records.folder import StudyFolder
from ablate.report.verdicts import planned_rows
from ablate.session.options import Options
from ablate.session.stage import Stage
from ablate.study.sections import TUNING_SEEDS_FROM, Asked, SeedsSection, asked_for, in_words
from ablate.study.study import Selection, Study


class NothingDecided(AblateError):
    """There is nothing to confirm."""

    exit_code = 0


def restrict_to_confirmed(
    study: Study, stages: tuple[Stage, ...], options: Options
) -> tuple[Study, tuple[Stage, ...]]:
    """Returns a study as it is, or of one that confirms another what that decided, on fresh seeds.

    Where a stage has a part in it that selects, as tuning has, the variants are selected again; else they are those of
    the report. Raises `NothingDecided`, or `AblateError` where there is no report of the study as it is written.
    """
    name = confirmed(study.config.name)
    if name is None:
        return study, stages
    source = StudyFolder(options.results, name)
    if not source.has_trials:
        raise AblateError(f"{source.path}: has no report that could be confirmed; run {source.name} first")
    reported, facts = as_reported(study, source), source.facts()
    decided_claims = {row["hash"] for row in source.claims() if row["verdict"] in ("supported", "refuted")}
    # Seeds say nothing about what is measured.
    claims = [claim for claim in reported.claims if claim.hash in decided_claims and not is_measured(claim)]
    claimed = {claim.metric for claim in claims}
    asked = [stage.in_confirmation(facts.searched, claimed) for stage in stages]
    kept = tuple(stage for stage in asked if stage is not None)
    selects_again = any(stage.selects for stage in kept)
    restricted = _restricted(study if selects_again else reported, claims, source, options, selects_again)
    return _without_keys_of_others(restricted, stages, kept), kept


def _restricted(
    study: Study, claims: Sequence[Claim], source: StudyFolder, options: Options, selects_again: bool
) -> Study:
    """Returns a study with the variants and claims that its report decided, on seeds that this has not used."""
    facts = source.facts()
    decided = {
        (row["variant"], row["baseline"])
        for row in planned_rows(source.comparisons())
        if row["metric"] == facts.metric and row["verdict"] in DECIDED
    }
    if not decided and not claims:
        raise NothingDecided(
            f"Nothing to confirm: {source.path} has decided no comparison on {spelled(facts.metric)} and no claim."
        )
    names = {BASELINE, *itertools.chain(*decided)}
    for claim in claims:
        names |= set(claim.variants)
    kept = [variant for variant in study.variants if variant.placebo or variant.name in names]
    seeds = unseen(study.config.seeds, facts.seeds, options.seeds, source)
    counts = [counted(len(of), noun) for noun, of in (("comparison", decided), ("claim", claims)) if of]
    measured = {claim.text for claim in study.claims if is_measured(claim)}
    texts = [text for text in study.config.claims if " ".join(text.split()) not in measured]
    return dataclasses.replace(
        study.judging(kept, study.design.paths, Selection() if selects_again else Selection("report")),
        config=study.config.model_copy(update={"seeds": seeds, "claims": texts}),
        claims=list(claims),
        not_judged=[],
        notes=[*_notes(study, source, joined(counts), facts.seeds, seeds.values)],
    )


def _without_keys_of_others(study: Study, stages: Sequence[Stage], kept: Sequence[Stage]) -> Study:
    """Returns a study without the keys of stages that do not go on as they are in a confirmation."""
    kept_configs = {stage.Config for stage in stages if stage in kept}
    defaults: dict[str, object] = {}
    for config in study.stage_configs:
        if config in kept_configs:
            continue
        for key, field in config.model_fields.items():
            defaults[key] = field.get_default(call_default_factory=True)
    return dataclasses.replace(study, config=study.config.model_copy(update=defaults))


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


def _notes(
    study: Study, source: StudyFolder, what: str, used: Sequence[int], seeds: Sequence[int]
) -> Iterator[str]:
    """What the report of a confirmation says of it."""
    chosen, searched = ", with the settings that it chose", source.facts().searched
    settings = chosen if study.selection.by else ", tuned again" if searched else ""
    yield (
        f"repeats on seeds {in_words(seeds)} what {source.name} decided on seeds {in_words(used)} ({what}){settings}, "
        "as a family of its own"
    )
    for task, described in zip(study.tasks, study.describe(study.variants[0]), strict=True):
        if described.sampling.pool != "fresh":
            of = (
                "test examples are those"
                if described.sampling.pool == "held_out"
                else "examples are from the pool"
            )
            yield f"confirms{study.on(task)} over seeds, not over examples: its {of} of {source.name}"
