"""A valid study, ready to run: its variants, trials, descriptions and claims."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from ablate.base.errors import Invalid, Problem
from ablate.core.cell import Cell
from ablate.core.claim import Claim
from ablate.core.facts import BASELINE, Facts, Matched, TaskFacts, VariantFacts
from ablate.core.metric import Description, Metric
from ablate.core.trial import Trial
from ablate.core.workload import Workload
from ablate.records.rates import Rates
from ablate.study.checks import (
    Resolver,
    attempt,
    check_baseline,
    check_faulty_paths,
    check_keeping,
    check_live,
    check_metric,
    check_variants,
    read_claims,
    with_stand_in,
)
from ablate.study.designs import Config, Design, Resolve, Variant, expand, task_labels
from ablate.study.document import Document
from ablate.study.ids import trial_id
from ablate.study.load import load, parts_of, refuse_if_faulty
from ablate.study.match import Matcher
from ablate.study.matching import Matching, match_facts
from ablate.study.patch import apply_patches
from ablate.study.schema import PLACEBO, StudyBase, config_model
from ablate.study.searches import SearchSpec, read_search
from ablate.study.sources import source_digest


@dataclass(frozen=True)
class Experiment:
    """Everything that a run, a plan or a report needs to know of a study."""

    path: Path
    study: StudyBase
    workload: Workload
    sections: list[str]
    design: Design
    tasks: list[str]
    "Labels of the tasks; one empty label when the workload has none."
    claims: list[Claim]
    resolve: Resolve
    variants: list[Variant]
    "As they are trained, the baseline first: those of the design, with `match:` as it matches them."
    matcher: Matcher | None = None
    "What matches a config; None where nothing is matched, or rates are not measured yet."
    matched: Mapping[str, Sequence[Matched]] = dataclasses.field(default_factory=dict)
    "Variant → what it was given, one a task; empty where nothing is matched."
    search: SearchSpec | None = None
    "Of `search:`, when it was asked for."
    tune: SearchSpec | None = None
    searched: str = ""
    "The search that its variants come from: `sweep`, `tuning`, or none."
    left_out: list[str] = dataclasses.field(default_factory=list)
    "Variants that are not judged, since their search is not over."
    _described: dict[str, list[Description]] = dataclasses.field(default_factory=dict, repr=False)

    @cached_property
    def _ids(self) -> _Ids:
        return _Ids(self.workload)

    @property
    def awaits_rates(self) -> bool:
        """Whether what is matched cannot be told before the first run has measured it."""
        return self.study.match is not None and self.matcher is None

    def describe(self, variant: Variant) -> list[Description]:
        """Parameters, FLOPs and metrics, one description a task."""
        if variant.name not in self._described:
            self._described[variant.name] = [self.workload.describe(config) for config in variant.configs]
        return self._described[variant.name]

    def cells(self) -> list[Cell]:
        """All trials; seed by seed, so that the first blocks are complete early."""
        labels = {path: self.design.labels(path) for path in self.design.paths}
        return [
            Cell(
                variant.name,
                task,
                seed,
                self.trial(config, seed, PLACEBO if variant.placebo else ""),
                f"{variant.name}{self.on(task)} seed {seed}",
                {path: by_variant[variant.name] for path, by_variant in labels.items()},
            )
            for seed in range(self.study.seeds)
            for variant in self.variants
            for task, config in zip(self.tasks, variant.configs, strict=True)
        ]

    def on(self, task: str) -> str:
        """` on TASK`, where the study has several."""
        return f" on {task}" if len(self.tasks) > 1 else ""

    def trial(self, config: Config, seed: int, stream: str = "") -> Trial:
        """The trial that trains a resolved config under one seed."""
        # How a trial is kept changes nothing of its result, so that none of it is in the id.
        limit, checkpoint, save_every = self.study.time_limit, self.study.checkpoint, self.study.save_every
        trial_id = self._ids(config, seed, stream)
        return Trial(trial_id, config, seed, stream, limit, checkpoint, save_every=save_every)

    def setting(self, base: Config, patches: Mapping[str, Any], task_index: int = 0) -> Config:
        """A resolved config with `patches`, matched, as a search tries it; raises `Invalid` when it cannot be."""
        config = self.resolve(apply_patches(base, patches))
        if problems := attempt(self.workload.check, config)[1]:
            raise Invalid.many(problems)
        return self.matcher(config, task_index)[0] if self.matcher else config

    def judging(self, variants: Sequence[Variant], paths: Sequence[str], searched: str) -> Experiment:
        """The same study with the variants that a search has found, the baseline first, which differ on `paths`."""
        factors = [f for f in self.design.factors if f.path in paths]
        design = Design(list(variants), factors, list(paths), self.design.factorial)
        matcher = self.matcher
        matched = {
            v.name: [matcher.given(config, index) for index, config in enumerate(v.configs)]
            for v in variants
            if matcher is not None
        }
        return dataclasses.replace(
            self,
            design=design,
            variants=list(variants),
            matched=matched,
            searched=searched,
            _described={},
        )

    def settling(self, names: Collection[str]) -> Experiment:
        """The same study with the claims that variants of these `names` can settle."""
        claims = [claim for claim in self.claims if {*claim.a, *claim.b} <= set(names)]
        return dataclasses.replace(self, claims=claims)

    def facts(self, claims: Sequence[Claim], environment: Mapping[str, Any]) -> Facts:
        """What tables and figures must know of the study."""
        described = {v.name: self.describe(v) for v in self.variants}
        metric = self.study.metric
        name = metric.name or next(iter(described[BASELINE][0].metrics))
        labels = {path: self.design.labels(path) for path in self.design.paths}
        return Facts(
            study=self.study.name,
            question=self.study.question,
            notes=self.study.notes,
            metric=name,
            column=name if metric.at == "last" else f"{name}_at_{metric.at}",
            at=metric.at,
            margin=metric.margin,
            design=self.study.design,
            seeds=list(range(self.study.seeds)),
            tasks=[
                TaskFacts(task, dict(d.metrics))
                for task, d in zip(self.tasks, described[BASELINE], strict=True)
            ],
            variants=[
                VariantFacts(
                    name=v.name,
                    levels={path: by_variant[v.name] for path, by_variant in labels.items()},
                    changes={path: labels[path][v.name] for path in v.patches if path in labels},
                    placebo=v.placebo,
                    parameters={t: d.parameters for t, d in zip(self.tasks, described[v.name], strict=True)},
                    parameters_by_part={
                        t: dict(d.parameters_by_part)
                        for t, d in zip(self.tasks, described[v.name], strict=True)
                    },
                    tuned={task: dict(labels) for task, labels in v.tuned.items()},
                    flops={t: d.flops for t, d in zip(self.tasks, described[v.name], strict=True)},
                    training_flops={
                        t: d.training_flops for t, d in zip(self.tasks, described[v.name], strict=True)
                    },
                    examples={t: d.examples for t, d in zip(self.tasks, described[v.name], strict=True)},
                    matched=dict(zip(self.tasks, self.matched.get(v.name, []), strict=False)),
                )
                for v in self.variants
            ],
            factors={path: list(dict.fromkeys(filter(None, by.values()))) for path, by in labels.items()},
            claims=list(claims),
            environment=dict(environment),
            data_fixed=any(d.data_fixed for d in described[BASELINE]),
            searched=self.searched,
            left_out=self.left_out,
            match=match_facts(self.study.match) if self.study.match and self.matched else None,
        )

    def resolved(self) -> dict[str, Any]:
        """The study with every default filled in, as plain data."""
        data = self.study.model_dump()
        for empty in ("task", "tasks", "search", "tune", "match"):
            if empty in data and not data[empty]:
                del data[empty]
        return data


class _Ids:
    """Trial ids; what depends on the config alone is computed once."""

    def __init__(self, workload: Workload, ignored: Sequence[str] = ()) -> None:
        self.workload = workload
        self.irrelevant = (*workload.irrelevant(), *ignored)
        self.model = config_model(workload)
        self.known: dict[str, tuple[Mapping[str, str], str]] = {}
        self.digests: dict[tuple[Any, ...], str] = {}

    def __call__(self, config: Config, seed: int, stream: str) -> str:
        key = json.dumps(config, sort_keys=True)
        if key not in self.known:
            parsed = self.model.model_validate(config)
            parts = [type(part).part for part in parts_of(parsed)]
            roots = (*self.workload.sources(parsed), *parts)
            if roots not in self.digests:
                self.digests[roots] = source_digest(roots, [type(self.workload), *parts])
            self.known[key] = (self.workload.identity(config), self.digests[roots])
        identity, sources = self.known[key]
        return trial_id(
            config,
            seed=seed,
            stream=stream,
            irrelevant=self.irrelevant,
            identity=identity,
            sources=sources,
        )


def prepare(
    path: Path, sets: Sequence[str] = (), seeds: int | None = None, rates: Rates | None = None
) -> Experiment:
    """Reads, expands, checks and matches a study; raises `StudyError` with everything that is wrong with it.

    rates: where the rates are that a study needs which matches seconds; without them its variants are as they come.
    """
    document, study, workload = load(path, sets, seeds)
    sections = list(workload.schema())
    if study is None:
        refuse_if_faulty(document)
        raise AssertionError("a study that cannot be read has a problem")
    check_keeping(workload, study, document)
    refused = document.is_faulty(("task",)) or document.is_faulty(("tasks",))
    if "task" in sections and not refused and bool(study.given("task")) == bool(study.given("tasks")):
        document.report(Problem("give either `task`, or `tasks` with several", ("task",)))
    resolver = Resolver(config_model(workload))
    baseline = study.configs(sections)
    if any(config.get("task", {}) is None for config in baseline):
        baseline = with_stand_in(baseline, resolver, document)
    check_faulty_paths(study, baseline, document)
    known = check_baseline(workload, baseline, document)
    design = expand(study, baseline, resolver, document)
    check_variants(workload, design, known, document)
    sound = not known
    tasks = task_labels([config["task"] for config in baseline]) if "task" in sections else [""]
    twice = {task for task in tasks if tasks.count(task) > 1 and not document.is_faulty(("tasks",))}
    for task in twice:
        document.report(Problem("names the same task twice", ("tasks",), task))
    metrics = check_metric(workload, baseline, study, resolver, document)
    claims = read_claims(study, design, metrics, document)
    specs: dict[str, Any] = {}
    if sound:
        check_live(workload, design, document)
        specs = _searches(workload, study, design, metrics, resolver, document)
    matching = Matching(study, workload, design, resolver, document)
    if sound:
        matching.apply()
    refuse_if_faulty(document)
    matching.apply_rates(rates, tasks, lambda config, path: _Ids(workload, [path])(config, 0, "rate"))
    refuse_if_faulty(document)
    return Experiment(
        path,
        study,
        workload,
        sections,
        design,
        tasks,
        claims,
        resolver,
        matching.variants,
        matching.matcher,
        matching.given,
        **specs,
    )


def _searches(
    workload: Workload,
    study: StudyBase,
    design: Design,
    metrics: Mapping[str, Metric],
    resolve: Resolve,
    document: Document,
) -> dict[str, Any]:
    """What `search:` and `tune:` ask for."""

    def build(config: Config) -> list[Problem]:
        return attempt(workload.check, config)[1]

    found: dict[str, Any] = {}
    description = attempt(workload.describe, design.variants[0].configs[0])[0]
    for kind, variants in (("search", design.variants[:1]), ("tune", design.variants)):
        if getattr(study, kind) is not None:
            bases = [(v.name, config) for v in variants for config in v.configs]
            found[kind] = read_search(study, kind, bases, description, metrics, resolve, build, document)
    if study.search is not None and len(design.variants[0].configs) > 1:
        rule = "looks at one task, and the study has several"
        document.report(Problem(rule, ("search",), hint="Give `task`, one study for each"))
    return found
