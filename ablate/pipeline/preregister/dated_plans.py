"""The plan of a study, dated as a whole before its first trial, and its differences from the first that had results."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ablate.base.datafile import DataFile
from ablate.base.errors import AblateError
from ablate.base.process import now
from ablate.base.text import masked
from ablate.core.dated_plan import OF_TRENDS, OF_VERDICTS, Change, DatedPlan, PlanChanges
from ablate.core.facts import Claim
from ablate.core.trial import Cell
from ablate.pipeline.preregister.plan_settings import changed_paths, trains_baseline_alike
from ablate.pipeline.preregister.seen_elsewhere import seen_in_other_studies
from ablate.pipeline.preregister.seen_plans import (
    SeenPlan,
    may_be_picked,
    planned_in_words,
    seeds_run_before,
    with_error_rate,
)
from ablate.records.folder import StudyFolder
from ablate.records.store import Store
from ablate.study.patch import has_path, short_label, value_at
from ablate.study.schema import StudyConfig

if TYPE_CHECKING:
    from ablate.session.session import Session
    from ablate.study.study import Study

# Keys that describe a study, or say how its trials are run and stored; and those of its variants, seeds and claims,
# which a plan has in fields of their own.
_NOT_COMPARED = {
    *("name", "question", "notes", "labels", "data", "folder", "plugins", "resources"),
    *("time_limit", "checkpoint", "save_every"),
    *("factors", "design", "variants", "placebo", "seeds", "claims"),
}
MAX_SHOWN = 60
"""The most characters of a value that a change shows."""


def date_plan(study: Study, claims: Sequence[Claim], session: Session) -> DatedPlan:
    """Returns the plan of a study with its date, and writes it unless it equals the last plan of its folder.

    A plan under which no verdict may have been seen is replaced. claims: with their dates.
    """
    plans = session.folder.plans()
    plan = _plan_of(study, claims)
    if plans and plans[-1].hash == plan.hash:
        return plans[-1]
    if plans and not _has_results(session.folder, session.store):
        plans.pop()
    # Not before the last one, should the clock have been set back: trials are dated after it.
    declared = max([plan.declared, *(other.declared for other in plans)])
    plan = replace(plan, declared=declared, known=_trained_before(study, session.store))
    session.folder.write_plans([*plans, plan])
    return plan


def _trained_before(study: Study, store: Store) -> list[str]:
    """Returns the variants with more than one trial in the store, before this run trains any."""
    counts = Counter(cell.variant for cell in study.cells() if store.has(cell.id))
    return [variant.name for variant in study.variants[1:] if counts[variant.name] > 1]


def _plan_of(study: Study, claims: Sequence[Claim]) -> DatedPlan:
    """Returns the plan of a study as of now."""
    # With numpy and what own code needs, for which a report that is drawn again must not wait.
    from ablate.analysis.family import family_size
    from ablate.study.facts import facts_of

    content: dict[str, Any] = {
        "settings": _settings(study),
        "variants": {
            variant.name: _levels(variant.patches, variant.configs[study.tasks[0]])
            for variant in study.variants[1:]
        },
        "seeds": list(study.config.seeds.values),
        "looks": study.config.seeds.looks,
        "comparisons": family_size(facts_of(study, claims)),
        "conditions": [*study.tasks] if study.left_out_tasks else [],
    }
    content = json.loads(json.dumps(content, default=str))
    rows = [
        {
            "claim": claim.text,
            "hash": claim.hash,
            "declared": claim.declared,
            "exploratory": str(claim.exploratory),
        }
        for claim in claims
    ]
    plan = DatedPlan(declared=now(), hash="", claims=rows, **content)
    return replace(plan, hash=plan.digest)


def _settings(study: Study) -> dict[str, Any]:
    """Returns path → value of the settings that change a trial or a verdict, with defaults."""
    excluded = set(_NOT_COMPARED)
    for config in study.stage_configs:
        if not config.decides:
            excluded |= config.model_fields.keys()
    for key, value in study.config.model_dump(include={"conditions", *OF_VERDICTS, OF_TRENDS}).items():
        if value == StudyConfig.model_fields[key].default:
            excluded.add(key)  # Plans of studies that do not give it stay as they were dated.
    settings = dict(_flat(study.config.model_dump(exclude=excluded)))
    settings["metric.name"] = study.metric
    for stage_config in study.stage_configs:
        for path, rule in stage_config.rules.items():
            if settings.get(path):
                settings[path] = rule
    # A path without a dot is a whole section: the metrics of a user's own code change no trial, but do change verdicts.
    irrelevant = [path for path in study.ids.irrelevant if "." in path]
    for path in [*settings]:
        # Only the judged metric's margin matters, and `metric.margin` already has it.
        is_margin = path.startswith("metrics.") and path.endswith(".margin")
        if is_margin or any(f"{path}.".startswith(f"{outer}.") for outer in irrelevant):
            del settings[path]
    return settings


def _flat(node: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yields the dotted path and the value of each leaf; lists and empty mappings are leaves."""
    for key, value in node.items():
        if isinstance(value, Mapping) and value:
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value.written if isinstance(value, DataFile) else value


def _levels(patches: Mapping[str, Any], config: Mapping[str, Any]) -> dict[str, Any]:
    """Returns path → level of the paths that a variant changes."""
    return {path: value_at(config, path) for path in patches if has_path(config, path)}


def _has_results(folder: StudyFolder, store: Store) -> bool:
    """Returns whether verdicts may have been seen.

    They may after a report on two or more seeds, or any trial of a run that wrote no report, unless it failed.
    """
    try:
        if not folder.has_report:
            return any(cell.judged and _may_be_seen(cell.id, store) for cell in folder.trial_list.cells())
        return len(folder.reported_seeds()) > 1
    except AblateError:
        return True  # Report or list cannot be read, and there may have been verdicts.


def _may_be_seen(trial_id: str, store: Store) -> bool:
    """Returns whether a trial has a record that shows more than its failure; one that cannot be read may."""
    if not store.has(trial_id):
        return False
    record = store.load(trial_id)
    return record is None or record.status != "failed"


def plan_changes(
    folder: StudyFolder,
    given: Mapping[str, Any],
    store: Store,
    *,
    cells: Iterable[Cell],
    starts: Mapping[str, Sequence[str]],
) -> PlanChanges | None:
    """Returns how the last plan of a folder differs from the first of its study that had results.

    None where it does not, and where the folder has no plan. given: the study file, as options have changed it; cells:
    those of the plan; starts: variant → when its trials started.
    """
    plans = folder.plans()
    if not plans:
        return None
    return _changes_of(plans[-1], folder, given, store, cells=cells, starts=starts)


def expected_changes(
    study: Study, claims: Sequence[Claim], folder: StudyFolder, store: Store, *, cells: Iterable[Cell]
) -> PlanChanges | None:
    """Returns how a run now would change the plan of its study, as `plan_changes`; writes nothing."""
    plan = _plan_of(study, claims)
    return _changes_of(plan, folder, study.document.data, store, cells=cells, starts={})


def _changes_of(
    plan: DatedPlan,
    folder: StudyFolder,
    given: Mapping[str, Any],
    store: Store,
    *,
    cells: Iterable[Cell],
    starts: Mapping[str, Sequence[str]],
) -> PlanChanges | None:
    """Returns the changes of a plan, also where its seeds may have been picked by the results of other studies.

    Where they were not, the comparisons that share runs count those of other studies.
    """
    earlier_plans = _seen_before(plan, folder, store)
    changes = _differences(plan, earlier_plans, folder, given, starts)
    seen: list[SeenPlan] = []
    if changes is not None and changes.changes_path("seeds"):
        alike = [earlier for earlier in earlier_plans if _trains_same(earlier, plan, given)]
        seen = _with_seeds_that_ran(alike, plan, folder, store)
        if seen:
            changes = with_error_rate(changes, plan, seen)
        if changes.chosen:
            return changes

    first = min(other.declared for other in [*earlier_plans, plan] if other.seeds == plan.seeds)
    seen = [*seen_in_other_studies(cells, folder, store, before=first), *seen]
    if may_be_picked(plan.seeds, seen):
        return with_error_rate(changes or PlanChanges(plan.declared), plan, seen)
    return changes


def _with_seeds_that_ran(
    earlier_plans: Sequence[DatedPlan], plan: DatedPlan, folder: StudyFolder, store: Store
) -> list[SeenPlan]:
    """Returns earlier plans of a study with their seeds on which a trial had begun before a plan was dated."""
    if not earlier_plans:
        return []
    seeds_run = seeds_run_before(plan, folder, store)
    return [SeenPlan.of(earlier, seeds_run) for earlier in earlier_plans]


def _differences(
    plan: DatedPlan,
    seen: Sequence[DatedPlan],
    folder: StudyFolder,
    given: Mapping[str, Any],
    starts: Mapping[str, Sequence[str]],
) -> PlanChanges | None:
    """Returns how a plan differs from the first of its study that had results; None where it does not."""
    predating = _predating(plan, folder, starts)
    if not seen or seen[0].hash == plan.hash:
        return PlanChanges(plan.declared, predating) if predating else None

    first = seen[0]
    # In the order of the study: a set has another in each process.
    shared = [name for name in plan.variants if name in first.variants]
    changes = PlanChanges(
        first=first.declared,
        known=predating,
        changes=_changes(first, plan, given),
        changed=[name for name in shared if first.variants[name] != plan.variants[name]],
        added=[name for name in plan.variants if name not in shared],
        dropped=[name for name in first.variants if name not in shared],
    )
    if not (changes.known or changes.changes or changes.changed or changes.added or changes.dropped):
        return None
    return changes


def _predating(plan: DatedPlan, folder: StudyFolder, starts: Mapping[str, Sequence[str]]) -> list[str]:
    """Returns the variants that had results before any plan on their conditions listed them.

    This happens where a study was renamed or its folder removed. One trial is not counted.
    """
    plans = [other for other in _plans_in_order(folder) if other.shares_conditions(plan)] + [plan]
    predating: list[str] = []
    for name, levels in plan.variants.items():
        first = next(other for other in plans if other.variants.get(name) == levels)
        num_older = sum(start < first.declared for start in starts.get(name, ()))
        if num_older > 1 or name in first.known:
            predating.append(name)
    return predating


def _plans_in_order(folder: StudyFolder, store: Store | None = None) -> list[DatedPlan]:
    """Returns the plans of a study from all folders of its runs, the first one first.

    Within a folder the order of the list beats the dates, since the clock may have been set back. store: leaves out
    the last plan of a folder for which the store has no results.
    """
    dated: list[tuple[str, DatedPlan]] = []
    for place in folder.of_study():
        plans = place.plans()
        # The others may have results, else they would have been replaced.
        if store is not None and plans and not _has_results(place, store):
            plans.pop()
        moment = ""
        for plan in plans:
            moment = max(moment, plan.declared)
            dated.append((moment, plan))
    dated.sort(key=lambda entry: entry[0])
    return [plan for _, plan in dated]


def _seen_before(plan: DatedPlan, folder: StudyFolder, store: Store) -> list[DatedPlan]:
    """Returns the earlier plans of a study under which there were results, from all folders of its runs."""
    plans = _plans_in_order(folder, store)
    if plan in plans:
        plans = plans[: plans.index(plan)]
    return [other for other in plans if other.decides and other.shares_conditions(plan)]


def _changes(first: DatedPlan, plan: DatedPlan, given: Mapping[str, Any]) -> list[Change]:
    """Returns the changes that concern all variants."""
    changes = [
        Change(path, _shown(first.settings, path), _shown(plan.settings, path))
        for path in changed_paths(first, plan, given)
    ]
    seeds_before = planned_in_words(first.seeds, first.looks)
    seeds_now = planned_in_words(plan.seeds, plan.looks)
    if seeds_before != seeds_now:
        changes.append(Change("seeds", seeds_before, seeds_now))
    # More comparisons only make each verdict stricter, which misleads nobody.
    if plan.comparisons < first.comparisons:
        changes.append(Change("comparisons", str(first.comparisons), str(plan.comparisons)))
    return changes


def _trains_same(earlier: DatedPlan, plan: DatedPlan, given: Mapping[str, Any]) -> bool:
    """Returns whether an earlier plan trains a variant of this one, and the baseline, in the same way."""
    if not trains_baseline_alike(earlier, plan, given):
        return False
    return any(earlier.variants.get(name) == levels for name, levels in plan.variants.items())


def _shown(settings: Mapping[str, Any], path: str) -> str:
    """Returns the value at a path in at most `MAX_SHOWN` characters, without passwords."""
    if path not in settings:
        return "not given"
    words = masked(short_label(settings[path]))
    return words if len(words) <= MAX_SHOWN else f"{words[: MAX_SHOWN - 1]}…"
