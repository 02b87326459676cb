"""The costs of a study's conditions, and what each form of a verdict over them can detect."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ablate.analysis.chances import weights
from ablate.analysis.family import family_size
from ablate.analysis.form_prospects import LEAST_CONDITIONS_FOR_MEAN, FormEffects, effects_of_forms
from ablate.base.errors import Invalid
from ablate.core.facts import StudyFacts
from ablate.core.over import MEAN, Form
from ablate.study.forms import Addends
from ablate.study.study import Study


@dataclass(frozen=True)
class ConditionCost:
    """The number, time and compute of the trainings of one condition."""

    name: str
    trials: int
    """One a variant and seed."""
    to_train: int
    """Those that are not in the store."""
    seconds: float | None
    """The time of all on one worker; None where no training has been timed."""
    compute_share: float | None
    """The share of the study's FLOPs; None where some are not known."""


@dataclass(frozen=True)
class ConditionPlan:
    """The costs of a study's conditions, and what each form of a verdict over them can detect."""

    form: Form
    along: str
    costs: Sequence[ConditionCost]
    seeds: int
    """The planned seeds; of a sequential design, those of the last look."""
    is_sequential: bool
    """Whether looks at the seeds decide on their number."""
    effects: FormEffects | None
    """In standard deviations of a difference; None of a single seed, and of runs that solve a task or do not."""
    judges_rows: bool
    """Whether comparisons are judged, and not claims alone."""
    has_mean: bool
    """Whether the differences of conditions can be added."""

    @property
    def proposes_mean(self) -> bool:
        """True where there are many conditions, each judged alone, and a mean would find smaller effects."""
        is_long = len(self.costs) >= LEAST_CONDITIONS_FOR_MEAN
        return self.form == "each" and self.has_mean and self.judges_rows and is_long


def condition_plan(
    study: Study,
    facts: StudyFacts,
    cached: Mapping[tuple[str, str], int],
    seconds: Mapping[tuple[str, str], float],
) -> ConditionPlan | None:
    """Returns the plan of a study's conditions; None where a study has one condition.

    cached: variant and condition → the number of trials in the store. seconds: the seconds of one training there.
    """
    if len(study.tasks) < 2:
        return None
    over = facts.over
    descriptions = study.describe(study.variants[0])
    by_rate = all(description.outcome == "all_or_nothing" for description in descriptions.values())
    num_seeds = study.config.seeds.count
    num_rows = _size_of(MEAN, facts)
    effects: FormEffects | None = None
    if num_seeds > 1 and num_rows and not by_rate:
        num_looks = max(1, len(study.config.seeds.looks))
        effects = effects_of_forms(
            num_seeds,
            len(study.tasks),
            num_rows,
            sizes=[*over.sizes.values()],
            num_rows_of_each=_size_of("each", facts),
            share=weights(num_looks)[-1],
        )
    return ConditionPlan(
        form=over.form,
        along=over.along,
        costs=_costs(study, cached, seconds),
        seeds=num_seeds,
        is_sequential=bool(study.config.seeds.looks),
        effects=effects,
        judges_rows=facts.family == "all",
        has_mean=_has_mean(study),
    )


def _costs(
    study: Study, cached: Mapping[tuple[str, str], int], seconds: Mapping[tuple[str, str], float]
) -> list[ConditionCost]:
    """Returns what each condition costs, in the order of the study."""
    num_seeds = study.config.seeds.count
    compute = {task: _compute(study, task) for task in study.tasks}
    known_compute = [flops for flops in compute.values() if flops]
    costs: list[ConditionCost] = []
    for name, flops in compute.items():
        places = [(variant.name, name) for variant in study.variants]
        times = [seconds[place] for place in places if place in seconds]
        trials = num_seeds * len(places)
        total_time = trials * sum(times) / len(times) if times else None
        share = flops / sum(known_compute) if flops and len(known_compute) == len(compute) else None
        num_cached = sum(cached.get(place, 0) for place in places)
        costs.append(ConditionCost(name, trials, trials - num_cached, total_time, share))
    return costs


def _compute(study: Study, task: str) -> int | None:
    """Returns the FLOPs of one training of each variant in a condition; None where some are not known."""
    total = 0
    for variant in study.variants:
        compute = study.describe(variant)[task].compute
        if compute is None:
            return None
        total += compute
    return total


def _size_of(form: Form, facts: StudyFacts) -> int:
    """Returns M, the size of the family, as if verdicts had another form."""
    return family_size(replace(facts, over=replace(facts.over, form=form)))


def addends_of(study: Study) -> Addends:
    """Returns the conditions of a study with the metrics of its baseline and the scales that it declares."""
    descriptions = study.describe(study.variants[0])
    return Addends([*descriptions], [*descriptions.values()], study.config.scale)


def _has_mean(study: Study) -> bool:
    """Returns whether the differences of conditions in the judged metric can be added."""
    addends = addends_of(study)
    try:
        addends.check_shared(study.metric, "")
        addends.check(study.metric, "", "")
    except Invalid:
        return False
    return True
