"""Lines of a report about a plan that was changed after results, and about other runs of its variants."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from ablate.analysis.chances import error_rate_with_another
from ablate.base.wording import seeds_in_words
from ablate.core.dated_plan import PlanChanges
from ablate.core.other_looks import RunChoice, SupersededRuns
from ablate.report.tables.verdicts import names_of
from ablate.report.words import message

if TYPE_CHECKING:
    from ablate.core.facts import StudyFacts
    from ablate.core.other_looks import EarlierCalls, OtherRuns
    from ablate.report.section import ReportData

DRAWN = 0.005
"""How far two simulations of one error rate may be apart."""
MAX_CHANGES = 8
"""The changes of a plan that a sentence names."""


def plan_lines(report_data: ReportData) -> Iterator[str]:
    """Yields a line on each kind of change after results, and on other runs of the variants."""
    facts = report_data.facts
    if facts.plan.replanned is not None:
        yield changes_in_words(facts.plan.replanned, facts)
    if facts.plan.kept:
        yield message("replanned.kept", facts.plan.kept, facts.planned)
    yield from _superseded_in_words(facts)
    yield from _calls_in_words(facts.earlier_calls)
    others = report_data.other_runs
    names = list(others.folders)
    if others.seeds:
        names.append(message("replanned.stored", seeds_in_words(others.seeds)))
    if names:
        yield _others_in_words(names)
    yield from _shared_in_words(
        others, 0.0 if facts.plan.replanned is None else facts.plan.replanned.level or 0.0
    )
    if others.retrained:
        code = "replanned.retrained" if len(others.retrained) > 1 else "replanned.retrained_one"
        yield message(code, seeds_in_words(others.retrained))


def changes_in_words(replanned: PlanChanges, facts: StudyFacts) -> str:
    """Returns the changes of a plan in words, with the error rate of a verdict after earlier looks."""
    names = names_of(facts)
    first = replanned.first[:10]
    sentences: list[str] = []
    if replanned.known:
        predating = [names.get(name, name) for name in replanned.known]
        sentences.append(message("replanned.known", predating))
    if replanned.changes:
        sentences.append(message("replanned.changed", first, _changes_in_words(replanned)))
    added = [names.get(name, name) for name in replanned.added]
    levels = [names.get(name, name) for name in replanned.changed]
    if added:
        sentences.append(message("replanned.added", first, added))
    if levels:
        sentences.append(message("replanned.levels", levels))
    if replanned.dropped:
        sentences.append(message("replanned.dropped", replanned.dropped))
    if replanned.level is not None:
        sentences.append(_looks_in_words(replanned, replanned.level))
    return " ".join(sentences)


def _looks_in_words(replanned: PlanChanges, level: float) -> str:
    """Returns the seeds whose results were seen before, and the error rate of a verdict after that."""
    if replanned.num_chosen:
        return message("replanned.so_many_chosen", replanned.looked, level, replanned.num_chosen)
    code = "replanned.chosen" if replanned.chosen else "replanned.looked"
    return message(code, replanned.looked, level)


def _changes_in_words(replanned: PlanChanges) -> list[str]:
    """Returns `path before → now` for the first changes that concern all variants, and how many more there are."""
    words = [
        message("replanned.change", change.path, change.before, change.now) for change in replanned.changes
    ]
    if len(words) > MAX_CHANGES:
        words[MAX_CHANGES:] = [message("replanned.more", len(words) - MAX_CHANGES)]
    return words


def _superseded_in_words(facts: StudyFacts) -> Iterator[str]:
    """Yields how often runs failed or were trained again, where that differs between sides of a comparison."""
    none = SupersededRuns(0, 0)
    counts = {variant.name: facts.superseded.get(variant.name, none) for variant in facts.variants}
    failed = {name: count.failed for name, count in counts.items()}
    replaced = {name: count.replaced for name, count in counts.items()}
    yield from _unequal("replanned.failed", failed, facts)
    yield from _unequal("replanned.replaced", replaced, facts)
    yield from _left_out_in_words(counts, facts)
    rounds = {name: _rounds(count, name, facts) for name, count in counts.items()}
    yield from _some_again_in_words(counts, rounds, facts)
    times = _times_again(rounds, facts)
    if times:
        rate = 0.0
        for _ in range(times + 1):
            rate = error_rate_with_another(rate)
        yield message("replanned.again", times, rate)


def _left_out_in_words(counts: Mapping[str, SupersededRuns], facts: StudyFacts) -> Iterator[str]:
    """Yields the seeds that are left out on which runs failed, unless each variant failed on those of the baseline."""
    baseline = counts[facts.variants[0].name].failed_on
    if all(superseded.failed_on == baseline for superseded in counts.values()):
        return
    names = names_of(facts)
    sides: list[str] = []
    for name, superseded in counts.items():
        if superseded.failed_on:
            sides.append(_on_seeds(names[name], superseded.failed_on))
    yield message("replanned.left_out", sides)


def _on_seeds(name: str, seeds: Sequence[int]) -> str:
    """Returns the name of a variant with its seeds."""
    code = "replanned.on_seeds" if len(seeds) > 1 else "replanned.on_seed"
    return message(code, name, seeds_in_words(seeds))


def _times_again(rounds: Mapping[str, int], facts: StudyFacts) -> int:
    """Returns how often all runs of some comparison were trained again. rounds: variant → as `_rounds` returns them."""
    baseline = facts.variants[0].name
    of_others = [times for name, times in rounds.items() if name != baseline]
    return min(rounds[baseline], max(of_others, default=0))


def _rounds(superseded: SupersededRuns, variant: str, facts: StudyFacts) -> int:
    """Returns how often all runs of a variant were trained again, after they had other results."""
    times: list[int] = []
    for task in facts.tasks:
        replaced = Counter(superseded.replaced_on.get(task.name, ()))
        times += [replaced[seed] for seed in facts.seeds_of(variant, task.name)]
    if superseded.replaced and not superseded.replaced_on:
        return superseded.replaced // max(1, len(times))  # A folder of an older version has no seeds of them.
    return min(times, default=0)


def _some_again_in_words(
    counts: Mapping[str, SupersededRuns], rounds: Mapping[str, int], facts: StudyFacts
) -> Iterator[str]:
    """Yields on which seeds runs were trained again more often than the other runs of their variant."""
    names = names_of(facts)
    sides: list[str] = []
    for name, superseded in counts.items():
        seeds: set[int] = set()
        for replaced in superseded.replaced_on.values():
            times = Counter(replaced)
            seeds |= {seed for seed in times if times[seed] > rounds[name]}
        if seeds:
            sides.append(_on_seeds(names[name], sorted(seeds)))
    if sides:
        yield message("replanned.some_again", sides)


def _unequal(code: str, counts: Mapping[str, int], facts: StudyFacts) -> Iterator[str]:
    """Yields a sentence on the variants with another count than the baseline; none without any."""
    names = names_of(facts)
    baseline = facts.variants[0].name
    unequal = [f"{names[name]} {count}" for name, count in counts.items() if count != counts[baseline]]
    if unequal:
        yield message(code, unequal, counts[baseline])


def _calls_in_words(calls: EarlierCalls) -> Iterator[str]:
    """Yields which of the seen runs are kept, and the earlier analyses of them, with the level of all together."""
    yield from map(_choice_in_words, calls.choices)
    if not calls.looks:
        return
    looks = [message("replanned.call", look.differs, look.verdicts, look.report) for look in calls.looks]
    yield message("replanned.calls", len(looks), looks)
    if calls.level is None:
        yield message("replanned.same_tests")
    elif not calls.choices or calls.level < 1:
        yield message("replanned.any_call", calls.level)


def _choice_in_words(choice: RunChoice) -> str:
    """Returns how many of the seen variants, seeds or runs are kept, and how often the best choice errs."""
    if choice.rate is None:
        return message("replanned.kept_unbounded", choice.kept, choice.seen, choice.what)
    code = "replanned.kept_variants" if choice.what == "variants" else "replanned.kept_seeds"
    return message(code, choice.kept, choice.seen, choice.rate)


def _others_in_words(names: Sequence[str]) -> str:
    """Returns the names of other runs in words."""
    if len(names) == 1:
        return message("replanned.other", names[0])
    return message("replanned.others", len(names), names)


def _shared_in_words(others: OtherRuns, told: float) -> Iterator[str]:
    """Yields who else compares by the same runs, and the error rate of all comparisons together.

    told: the error rate that the changes of the plan have named already.
    """
    if others.shared:
        yield message("replanned.shared", others.shared)
    if others.level is not None and others.level > told + DRAWN:
        yield message("replanned.together", others.comparisons, others.level)
