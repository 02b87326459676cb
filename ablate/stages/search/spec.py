"""One search, read and checked: its space, objectives, sampler, pruner and budget; and the values of its objectives."""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ablate.analysis.runner_ups import MAX_RUNNER_UPS
from ablate.analysis.search_table import Objective, SearchFacts, winner_names
from ablate.base.errors import Gather, listed, nearest
from ablate.base.registry import PartConfig
from ablate.base.streams import stream_seed
from ablate.core.metric import Description, sign, validated
from ablate.core.names import CONFIRM, confirmed
from ablate.core.record import Record, on_validation
from ablate.core.trial import identified
from ablate.search.pruners import check_pruner
from ablate.stages.search.section import LEAST_SEEDS, SearchConfig, SearchSection, TuneSection
from ablate.stages.search.space import Space, SpaceReader
from ablate.study.checks import Draft
from ablate.study.designs import Config
from ablate.study.patch import key_of
from ablate.study.plain_yaml import PathKey
from ablate.study.sections import TUNING_SEEDS_FROM

COSTS = ("parameters", "flops", "compute")
STABILITY = ("divergence_rate", "seed_spread")
DEFAULT_TRIALS = 20
SEED_STARTS = 900_000  # Seeds at which tuning may begin.


@dataclass(frozen=True)
class SearchSpec:
    """One search, or one for each variant and task that is tuned."""

    space: Space
    # What tables and reports show.
    facts: SearchFacts
    section: SearchSection | TuneSection
    # `last`, or `best_validation`: the evaluation that counts.
    at: str
    # The tuning seeds on each task.
    seeds: Sequence[Sequence[int]]
    # The metric, less being better, that decides between settings alike in the objective; empty: none.
    tie: str = ""
    max_runner_ups: int = 0  # Of one setting that was tuned.


def _label(part: PartConfig) -> str:
    """The name, with the parameters that are not at their default: `tpe(n_startup_trials=5)`."""
    changed = part.model_dump(exclude_defaults=True, exclude={"name"})
    return part.name + (f"({','.join(f'{k}={v}' for k, v in changed.items())})" if changed else "")


def check_searches(draft: Draft, config: SearchConfig) -> Mapping[str, SearchSpec | None]:
    """Reads the `search:` and the `tune:` of a study; None for one with mistakes."""
    found = {kind: _read(draft, kind, section) for kind, section in config.sections().items()}
    if "search" in found and len(draft.design.variants[0].configs) > 1:
        draft.document.refuse(
            ("search",),
            "looks at one task, and the study has several",
            hint="Give `task`, one study for each",
        )
    return found


def _read(draft: Draft, kind: str, section: SearchSection | TuneSection) -> SearchSpec | None:
    document, variants = draft.document, draft.design.variants
    before = len(document.problems)
    _check_conflicts(draft, kind, section)
    changed = variants if kind == "tune" else variants[:1]
    bases = [(variant.name, config) for variant in changed for config in variant.configs]
    space = SpaceReader(draft, kind, bases).read(section.over)
    description = draft.workload.describe(variants[0].configs[0])
    objectives = _objectives(draft, kind, section, description)
    trials = section.trials or DEFAULT_TRIALS
    sampler = section.sampler.build()
    if sampler.exhaustive and space:
        trials = 0
        with document.reporting(kind, "over"):
            trials = len(space.grid())
        if section.trials and section.trials < trials:
            document.refuse(
                (kind, "trials"),
                f"would leave {trials - section.trials} of the {trials} points of the grid out",
                section.trials,
                f"{trials}",
                "Leave it out, use coarser steps, or another sampler",
            )
    with document.reporting(kind, "sampler"):
        sampler.check(
            objectives=len(objectives),
            numbers=space.always_numbers if space else None,
            suggest=space.suggested if space else None,
        )
    with document.reporting(kind, "pruner"):
        # A grid that was refused has no trials, and nothing to prune.
        earlier = (trials - 1) // section.batch * section.batch if trials else 1
        check_pruner(
            section.pruner.build(),
            objectives=len(objectives),
            seeds=section.seeds,
            reports=description.reports,
            earlier=earlier,
        )
    if isinstance(section, SearchSection) and section.winners > trials > 0:
        document.refuse(
            ("search", "winners"),
            f"are more than the {trials} settings that are tried",
            section.winners,
            f"1 to {trials}",
        )
    if isinstance(section, TuneSection) and section.seeds < LEAST_SEEDS and not section.each_seed:
        document.refuse(
            ("tune", "seeds"),
            "are too few: which setting they choose is luck",
            section.seeds,
            f"{LEAST_SEEDS} or more",
            "Or give `each_seed: on`, which chooses for each judged seed on validation data of its own",
        )
    if space is None or len(document.problems) > before:
        return None
    starts = [
        _first_seed(draft, config) if kind == "tune" else TUNING_SEEDS_FROM for config in variants[0].configs
    ]
    seeds = [list(range(start, start + section.seeds)) for start in starts]
    facts = SearchFacts(
        parameters=list(space.parameters),
        objectives=objectives,
        sampler=_label(section.sampler),
        pruner=_label(section.pruner),
        trials=trials,
        seeds=seeds[0],
        batch=section.batch,
    )
    losses = (n for n, m in description.metrics.items() if m.direction == "min" and n != objectives[0].name)
    max_runner_ups = 0 if kind == "search" or section.each_seed else min(MAX_RUNNER_UPS, trials - 1)
    return SearchSpec(space, facts, section, draft.config.metric.at, seeds, next(losses, ""), max_runner_ups)


def _first_seed(draft: Draft, baseline: Config) -> int:
    """By the baseline and its task alone, so that studies of one baseline share them; a confirmation has others."""
    known = key_of(identified(baseline, draft.workload.irrelevant(), {}))
    again = CONFIRM if confirmed(draft.config.name) else ""
    return TUNING_SEEDS_FROM + stream_seed(0, "tune", known, again) % SEED_STARTS


def _check_conflicts(draft: Draft, kind: str, section: SearchSection | TuneSection) -> None:
    """Refuses a path that is searched and set by something else at once."""
    config, refuse = draft.config, draft.document.refuse
    winners = winner_names(section.winners) if isinstance(section, SearchSection) else []
    for name in [name for name in winners if name in config.variants]:
        refuse(("variants", name), "is the name of a setting that a sweep finds", hint="Choose another name")
    changed = dict.fromkeys([*config.factors, *itertools.chain.from_iterable(config.variants.values())])
    for path in section.over:
        at: PathKey = (kind, "over", path)
        if path.partition(".")[0] in ("task", "tasks"):
            refuse(at, "changes the task, on which all settings must be judged alike")
        clash = [c for c in changed if f"{c}.".startswith(f"{path}.") or path.startswith(f"{c}.")]
        if kind == "tune" and clash:
            refuse(
                at,
                f"is part of what the study compares ({listed(clash)}); tuning would undo it",
                hint="Tune another path",
            )


def _objectives(
    draft: Draft, kind: str, section: SearchSection | TuneSection, baseline: Description
) -> list[Objective]:
    """Returns what is searched for."""
    config, metrics = draft.config, baseline.metrics
    known = {name: Objective(name, "min", "cost") for name in COSTS}
    known |= {name: Objective(name, "min", "stability") for name in STABILITY}
    measured = {name: Objective(name, of.direction, "validation", of.floor) for name, of in metrics.items()}
    every = measured | known | measured  # A metric comes before a cost of its name.
    asked = list(section.objectives if isinstance(section, SearchSection) else []) or [
        config.metric.name or next(iter(metrics))
    ]
    for index, name in enumerate(asked):
        with draft.document.reporting(kind, "objectives", index), Gather() as at:
            at.refuse(name in asked[:index], "", "is listed twice", name)
            at.refuse(name not in every, "", "no such objective", name, listed(every), nearest(name, every))
            own = name in metrics
            at.refuse(
                name in COSTS and not own and getattr(baseline, name) is None,
                "",
                f"is not known for this config of {draft.workload.name}",
                name,
                hint="Search for another cost",
            )
            at.refuse(
                name == "seed_spread" and not metrics.keys() & {*asked},
                "",
                "is the spread of a metric, and none is searched for",
                name,
                hint=f"Add one: {listed(metrics)}",
            )
            at.refuse(
                name == "seed_spread" and not own and section.seeds < 2,
                "",
                "is a standard deviation over seeds, and the search has one",
                name,
                hint="Give `seeds: 3`",
            )
    return [every[name] for name in asked if name in every]


# Statuses of a training that ended without a value, for a reason of its setting.
LOST = ("diverged", "failed")


def worst(objective: Objective) -> float:
    """The worst possible value."""
    return -sign(objective) * math.inf


def seed_value(record: Record, objective: Objective, at: str) -> float:
    """What one seed has of an objective that is a metric.

    One that diverged, or ran out of memory or time, counts as guessing if the metric declares the value of guessing,
    or else as the worst possible.
    """
    if record.status in LOST:
        return worst(objective) if objective.floor is None else objective.floor
    return on_validation(record, objective.name, at)[0]


def intermediate(record: Record, metric: str) -> dict[int, float]:
    """Step → value on validation data, as the trial reported it.

    An evaluation at which a trial diverged was not reported any more.
    """
    curve = record.curves.get(validated(metric), record.curves.get(metric))
    if curve is None:
        return {}
    found = {int(step): float(value) for step, value in zip(curve.steps, curve.values, strict=True)}
    last = (c.values[-1] for n, c in record.curves.items() if n.startswith("validation_") and len(c.values))
    if found and record.status == "diverged" and not all(map(math.isfinite, last)):
        found.popitem()
    return found


def summarised(
    records: Sequence[Record], objectives: Sequence[Objective], description: Description, at: str
) -> tuple[list[float], dict[str, Any]]:
    """Returns the value of each objective, and more for the row of a setting; that of a metric is its mean over seeds.

    Where a seed that was lost has no value of guessing, or a completed one no value, the setting has the worst possible
    value. The row: `values` of the first objective by seed; `spread`, their standard deviation, or that of the first
    metric; `diverged` seeds; `own`, whether some metric was not measured on validation data.
    """
    metrics = [objective for objective in objectives if objective.measured]
    columns = {o.name: [seed_value(record, o, at) for record in records] for o in metrics}
    finite = [value for value in next(iter(columns.values()), []) if math.isfinite(value)]
    lost = sum(record.status in LOST for record in records)
    known: dict[str, float | None] = {
        "divergence_rate": lost / len(records),
        "seed_spread": float(np.std(finite, ddof=1)) if len(finite) > 1 else math.nan,
        **{name: getattr(description, name) for name in COSTS},
        **{name: float(np.mean(column)) for name, column in columns.items()},
    }
    values = [
        worst(o) if value is None or math.isnan(value) else float(value)
        for o, value in zip(objectives, map(known.get, (o.name for o in objectives)), strict=True)
    ]
    return values, {
        "values": columns.get(objectives[0].name, [math.nan] * len(records)),
        "spread": known["seed_spread"],
        "diverged": lost,
        "own": any(on_validation(r, o.name, at)[1] == "own" for o in metrics for r in records),
    }
