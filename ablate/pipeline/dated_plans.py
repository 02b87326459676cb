"""The plan of a study, dated as a whole before its first trial, and its differences from the first that had results."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ablate.base.datafile import DataFile
from ablate.base.errors import AblateError
from ablate.base.files import digest_of_data
from ablate.base.process import now
from ablate.base.text import masked
from ablate.base.wording import joined
from ablate.core.dated_plan import OF_COMPARISONS, Change, DatedPlan, PlanChanges
from ablate.core.facts import Claim
from ablate.records.folder import StudyFolder
from ablate.records.store import Store
from ablate.study.facts import facts_of
from ablate.study.patch import has_path, short_label, value_at
from ablate.study.sections import in_words

if TYPE_CHECKING:
    from ablate.session.session import Session
    from ablate.study.study import Study

# Keys of a study that are words about it, or how its trials are run and kept; and those from which its variants, seeds
# and claims are made, which a plan has as they are.
_NO_SETTINGS = {
    *("name", "question", "notes", "labels", "data", "folder", "plugins", "resources"),
    *("time_limit", "checkpoint", "save_every"),
    *("factors", "design", "variants", "placebo", "seeds", "claims"),
}
MAX_SHOWN = 60
"""The most characters of a value that a change shows."""


def date_plan(study: Study, claims: Sequence[Claim], session: Session) -> None:
    """Writes the plan of a study with its date where the last that its folder has is another.

    A plan that had no results is replaced; one seed alone decides nothing. claims: with their dates.
    """
    plans = session.folder.plans()
    plan = _plan_of(study, claims)
    if plans and plans[-1].hash == plan.hash:
        return
    if plans and not _has_results(session.folder, session.store):
        plans.pop()
    session.folder.write_plans([*plans, replace(plan, known=_trained_before(study, session.store))])


def _trained_before(study: Study, store: Store) -> list[str]:
    """Returns the variants of which the store has more than one trial, before this run trains any."""
    counts = Counter(cell.variant for cell in study.cells() if store.has(cell.id))
    return [variant.name for variant in study.variants[1:] if counts[variant.name] > 1]


def _plan_of(study: Study, claims: Sequence[Claim]) -> DatedPlan:
    """Returns the plan of a study as of now."""
    from ablate.analysis.family import family_size  # with numpy, which the tests of claims alone do not need

    content: dict[str, Any] = {
        "settings": _settings(study),
        "variants": {
            variant.name: _levels(variant.patches, variant.configs[0]) for variant in study.variants[1:]
        },
        "seeds": list(study.config.seeds.values),
        "looks": study.config.seeds.looks,
        "comparisons": family_size(facts_of(study, claims)),
    }
    content = json.loads(json.dumps(content, default=str))
    digest = digest_of_data([content, sorted(claim.hash for claim in claims)])
    rows = [
        {
            "claim": claim.text,
            "hash": claim.hash,
            "declared": claim.declared,
            "exploratory": str(claim.exploratory),
        }
        for claim in claims
    ]
    return DatedPlan(declared=now(), hash=digest, claims=rows, **content)


def _settings(study: Study) -> dict[str, Any]:
    """Returns path → value of all that the study says of its trials and how they are judged, with defaults.

    Left out is what changes neither a trial nor a verdict.
    """
    excluded = set(_NO_SETTINGS)
    for config in study.stage_configs:
        if not config.decides:
            excluded |= config.model_fields.keys()
    settings = dict(_flat(study.config.model_dump(exclude=excluded)))
    settings["metric.name"] = study.metric
    # A whole section that changes no trial, as the metrics of one's own code, changes verdicts.
    irrelevant = [path for path in study.ids.irrelevant if "." in path]
    for path in [*settings]:
        # The margin of a metric of one's own code is that of the study where it is judged, and else none.
        is_margin = path.startswith("metrics.") and path.endswith(".margin")
        if is_margin or any(f"{path}.".startswith(f"{outer}.") for outer in irrelevant):
            del settings[path]
    return settings


def _flat(node: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yields dotted path → value, lists and empty mappings whole."""
    for key, value in node.items():
        if isinstance(value, Mapping) and value:
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value.written if isinstance(value, DataFile) else value


def _levels(patches: Mapping[str, Any], config: Mapping[str, Any]) -> dict[str, Any]:
    """Returns path → what a variant has there, of the paths that it changes."""
    return {path: value_at(config, path) for path in patches if has_path(config, path)}


def _has_results(folder: StudyFolder, store: Store) -> bool:
    """Returns whether there are results on which verdicts rest: two seeds were reported, or a run was killed midway."""
    if not folder.has_report:
        return any(cell.judged and store.has(cell.id) for cell in folder.trial_list.cells())
    try:
        return len(folder.reported_seeds()) > 1
    except AblateError:
        return True  # What was reported is not known.


def plan_changes(
    folder: StudyFolder, given: Mapping[str, Any], store: Store, begun: Mapping[str, Sequence[str]]
) -> PlanChanges | None:
    """Returns how the last plan of a folder differs from the first of its study that had results.

    None where it does not, and where the folder has no plan. given: the study file, as options have changed it; begun:
    variant → when its trials began.
    """
    plans = folder.plans()
    return _changes_of(plans[-1], folder, given, store, begun) if plans else None


def expected_changes(
    study: Study, claims: Sequence[Claim], folder: StudyFolder, store: Store
) -> PlanChanges | None:
    """Returns how a run now would change the plan of its study, as `plan_changes`; writes nothing."""
    return _changes_of(_plan_of(study, claims), folder, study.document.data, store, begun={})


def _changes_of(
    plan: DatedPlan,
    folder: StudyFolder,
    given: Mapping[str, Any],
    store: Store,
    begun: Mapping[str, Sequence[str]],
) -> PlanChanges | None:
    """Returns how a plan differs from the first of its study that had results; None where it does not."""
    known = _known_before(plan, folder, begun)
    seen = _seen_before(plan, folder, store)
    if not seen or seen[0].hash == plan.hash:
        return PlanChanges(plan.declared, known) if known else None

    first = seen[0]
    shared = first.variants.keys() & plan.variants.keys()
    found = PlanChanges(
        first=first.declared,
        known=known,
        changes=_changes(first, plan, given),
        changed=[name for name in shared if first.variants[name] != plan.variants[name]],
        added=[name for name in plan.variants if name not in shared],
        dropped=[name for name in first.variants if name not in shared],
    )
    if not (found.known or found.changes or found.changed or found.added or found.dropped):
        return None
    if not found.changes_path("seeds"):
        return found
    return _with_level(found, plan, [earlier for earlier in seen if _trains_same(earlier, plan, given)])


def _known_before(plan: DatedPlan, folder: StudyFolder, begun: Mapping[str, Sequence[str]]) -> list[str]:
    """Returns the variants whose results are older than every plan that has them: of a study that was renamed, or whose
    folder was removed, even where its trials were trained anew.

    A single trial decides nothing, and may be older.
    """
    plans = [plan, *(other for each in folder.of_study() for other in each.plans())]
    known: list[str] = []
    for name, levels in plan.variants.items():
        having = [other for other in plans if other.variants.get(name) == levels]
        first = min(having, key=lambda other: other.declared)
        num_older = sum(start < first.declared for start in begun.get(name, ()))
        if num_older > 1 or name in first.known:
            known.append(name)
    return known


def _seen_before(plan: DatedPlan, folder: StudyFolder, store: Store) -> list[DatedPlan]:
    """Returns the earlier plans of a study, in all folders of its runs, under which there were results."""
    seen: list[DatedPlan] = []
    for each in folder.of_study():
        plans = each.plans()
        # All but the last have results, else they would have been replaced.
        if plans and not _has_results(each, store):
            plans.pop()
        seen += [other for other in plans if other.decides and other.declared < plan.declared]
    return sorted(seen, key=lambda other: other.declared)


def _changes(first: DatedPlan, plan: DatedPlan, given: Mapping[str, Any]) -> list[Change]:
    """Returns what has changed for all variants."""
    changes = [
        Change(path, _shown(first.settings, path), _shown(plan.settings, path))
        for path in _changed_paths(first, plan, given)
    ]
    seeds_before = _seeds_in_words(first)
    seeds_now = _seeds_in_words(plan)
    if seeds_before != seeds_now:
        changes.append(Change("seeds", seeds_before, seeds_now))
    # With more of them, each is judged more strictly, which misleads nobody.
    if plan.comparisons < first.comparisons:
        changes.append(Change("comparisons", str(first.comparisons), str(plan.comparisons)))
    return changes


def _changed_paths(first: DatedPlan, plan: DatedPlan, given: Mapping[str, Any]) -> list[str]:
    """Returns the paths of settings that have changed; of a part that was replaced, its name alone.

    A path that the first plan lacks is none where the study file does not give it either: a later version of this
    package has added it with its default.
    """
    changed: list[str] = []
    for path in {**first.settings, **plan.settings}:
        if first.settings.get(path) == plan.settings.get(path):
            continue
        if path in first.settings or has_path(given, path):
            changed.append(path)
    parts = [path.removesuffix("name") for path in changed if path.endswith(".name")]
    return [path for path in changed if not _is_below(path, parts)]


def _is_below(path: str, parts: Sequence[str]) -> bool:
    """Returns whether a path is that of a parameter of one of these parts, and not its name."""
    return any(path.startswith(part) and path != f"{part}name" for part in parts)


def _trains_same(earlier: DatedPlan, plan: DatedPlan, given: Mapping[str, Any]) -> bool:
    """Returns whether an earlier plan trains a variant of this one, and the baseline, in the same way."""
    others = [path for path in _changed_paths(earlier, plan, given) if path not in OF_COMPARISONS]
    same = [name for name, levels in plan.variants.items() if earlier.variants.get(name) == levels]
    return not others and bool(same)


def _with_level(found: PlanChanges, plan: DatedPlan, seen: Sequence[DatedPlan]) -> PlanChanges:
    """Returns changes with the level of a verdict on these seeds, after the looks of earlier plans."""
    from ablate.analysis.earlier_looks import LEAST_CHOSEN, level_of_choice, level_of_looks, looks_of

    if not seen:
        return found
    looked = list(dict.fromkeys(_seeds_in_words(earlier) for earlier in seen))
    known = sorted({seed for earlier in seen for seed in earlier.seeds})
    is_seen = any(earlier.seeds == plan.seeds for earlier in seen)
    count = len(plan.seeds)
    is_chosen = count >= LEAST_CHOSEN and {*plan.seeds} < {*known} and plan.seeds != known[:count]
    if is_chosen and not is_seen:
        return replace(found, looked=[in_words(known)], level=level_of_choice(len(known)), chosen=True)
    looks = [look for earlier in [*seen, plan] for look in looks_of(earlier.seeds, earlier.looks)]
    return replace(found, looked=looked, level=level_of_looks(looks))


def _seeds_in_words(plan: DatedPlan) -> str:
    """Returns `0–7`, or `0–19 with looks at 5, 10, 15 and 20`."""
    seeds = in_words(plan.seeds)
    return f"{seeds} with looks at {joined([str(look) for look in plan.looks])}" if plan.looks else seeds


def _shown(settings: Mapping[str, Any], path: str) -> str:
    """Returns the value at a path in few words, without passwords."""
    if path not in settings:
        return "not given"
    words = masked(short_label(settings[path]))
    return words if len(words) <= MAX_SHOWN else f"{words[: MAX_SHOWN - 1]}…"
