"""A valid study, ready to run: its variants, trials, descriptions and claims."""

from __future__ import annotations

import dataclasses
import json
import traceback
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from ablate.errors import Invalid, Problem, StudyError, listed, nearest
from ablate.records.evidence import (
    BASELINE,
    ClaimFacts,
    Facts,
    Matched,
    MetricFacts,
    TaskFacts,
    VariantFacts,
)
from ablate.registry import CATALOGUE, Section
from ablate.study.claims import Claim, parse_claim
from ablate.study.designs import Config, Design, Resolve, Variant, expand, report_at, task_labels
from ablate.study.document import Document, PathKey
from ablate.study.load import load, parts_of, refuse_if_faulty, translated
from ablate.study.match import Matcher
from ablate.study.matching import Matching, match_facts
from ablate.study.patch import apply_patches
from ablate.study.plan import Cell, trial_id
from ablate.study.rates import Rates
from ablate.study.schema import PLACEBO, WINNER, StudyBase, config_model
from ablate.study.searches import SearchSpec, read_search
from ablate.study.sources import source_digest
from ablate.workload import Description, KeepsWeights, Metric, Resumes, Trial, Workload

MAX_CHECKED = 500
"""Variants of a factorial that are all built before the first is trained; of more, a sample is."""


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
        return [
            Cell(
                variant.name,
                task,
                seed,
                self.trial(config, seed, PLACEBO if variant.placebo else ""),
                f"{variant.name}{self.on(task)} seed {seed}",
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
            v.name: [matcher(config, index)[1] for index, config in enumerate(v.configs)]
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

    def facts(self, claims: Sequence[ClaimFacts], environment: Mapping[str, Any]) -> Facts:
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
                TaskFacts(task, {m: MetricFacts(**dataclasses.asdict(info)) for m, info in d.metrics.items()})
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
            roots = (*self.workload.sources(parsed), *(type(part).part for part in parts_of(parsed)))
            if roots not in self.digests:
                self.digests[roots] = source_digest(roots)
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
    _check_keeping(workload, study, document)
    refused = document.is_faulty(("task",)) or document.is_faulty(("tasks",))
    if "task" in sections and not refused and bool(study.given("task")) == bool(study.given("tasks")):
        document.report(Problem("give either `task`, or `tasks` with several", ("task",)))
    resolver = _Resolver(config_model(workload))
    baseline = study.configs(sections)
    if any(config.get("task", {}) is None for config in baseline):
        baseline = _with_stand_in(baseline, resolver, document)
    known = _check_baseline(workload, baseline, document)
    design = expand(study, baseline, resolver, document)
    _check_variants(workload, design, known, document)
    sound = not known
    tasks = task_labels([config["task"] for config in baseline]) if "task" in sections else [""]
    twice = {task for task in tasks if tasks.count(task) > 1 and not document.is_faulty(("tasks",))}
    for task in twice:
        document.report(Problem("names the same task twice", ("tasks",), task))
    metrics = _check_metric(workload, baseline, study, resolver, document)
    claims = _claims(study, design, metrics, document)
    specs: dict[str, Any] = {}
    if sound:
        _check_live(workload, design, document)
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


def winner_names(count: int) -> list[str]:
    """`winner`, `winner-2`, …"""
    return [WINNER, *(f"{WINNER}-{index}" for index in range(2, count + 1))]


def _check_keeping(workload: Workload, study: StudyBase, document: Document) -> None:
    """Refuses to keep what the workload does not hand out."""
    if study.checkpoint != "none" and not isinstance(workload, KeepsWeights):
        rule = f"needs a workload that keeps weights, which {study.workload} does not"
        document.report(Problem(rule, ("checkpoint",), study.checkpoint, "none"))
    if study.save_every is not None and not isinstance(workload, Resumes):
        rule = f"needs a workload that can go on inside a trial, which {study.workload} cannot"
        document.report(Problem(rule, ("save_every",), study.save_every, hint="Leave it out"))


def _with_stand_in(baseline: list[Config], resolver: _Resolver, document: Document) -> list[Config]:
    """The baseline on some other task, when the study's own cannot be read: so that more mistakes are found."""
    for name in CATALOGUE.names("task"):
        try:
            return [resolver({**config, "task": name}) for config in baseline]
        except Invalid:
            continue
    raise StudyError(document.problems)


class _Resolver:
    """Validates a config and fills in its defaults."""

    def __init__(self, model: type[Section]) -> None:
        self.model = model

    def __call__(self, config: Mapping[str, Any]) -> Config:
        try:
            return self.model.model_validate(config).model_dump()
        except ValidationError as error:
            raise Invalid.many(translated(error, self.model, config)) from None


def _check_baseline(workload: Workload, baseline: list[Config], document: Document) -> list[Problem]:
    """Builds the baseline; what is wrong with it."""
    found: list[Problem] = []
    for index, config in enumerate(baseline):
        problems = attempt(workload.check, config)[1] or attempt(workload.describe, config)[1]
        found += problems
        for problem in problems:
            path = problem.path
            if path[:1] == ("task",) and len(baseline) > 1:
                path = ("tasks", index, *path[1:])
            if not document.is_faulty(path):
                document.report(dataclasses.replace(problem, path=path))
    return found


def attempt(method: Callable[[Config], Any], config: Config) -> tuple[Any, list[Problem]]:
    """What a method of the workload says of a config, or what is wrong with it: also when a part of the
    user's raises an error of its own.
    """
    try:
        return method(config), []
    except Invalid as error:
        return None, error.problems
    except Exception as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        hint = f"It was raised in line {frame.lineno} of {frame.filename}"
        reason = (str(error).splitlines() or [""])[0][:300]
        return None, [Problem(f"cannot be built: {type(error).__name__}: {reason}", hint=hint)]


def _check_variants(workload: Workload, design: Design, known: list[Problem], document: Document) -> None:
    """Builds every distinct variant; in a large factorial each level and an even sample of the rest.

    What is wrong with the baseline already is not repeated.
    """
    levels = [v for v in design.variants if len(v.patches) == 1]
    rest = [v for v in design.variants if len(v.patches) > 1]
    before = len(document.problems)
    for variant in levels:
        _check_variant(workload, variant, known, document)
    if len(document.problems) == before:
        for variant in rest[:: max(1, -(-len(rest) // MAX_CHECKED))]:
            _check_variant(workload, variant, known, document)


def _check_variant(workload: Workload, variant: Variant, known: list[Problem], document: Document) -> None:
    for config in variant.configs:
        new = [problem for problem in attempt(workload.check, config)[1] if problem not in known]
        report_at(new, variant.patches, variant.at, document)


def _check_metric(
    workload: Workload, baseline: list[Config], study: StudyBase, resolver: _Resolver, document: Document
) -> Mapping[str, Metric]:
    """The metrics that all tasks have; the study's must be one of them."""
    described = [_metrics(workload, config, resolver) for config in baseline]
    shared = {name: info for name, info in described[0].items() if all(name in other for other in described)}
    name = study.metric.name
    if shared and name is not None and name not in shared and not document.is_faulty(("metric",)):
        hint = nearest(name, shared)
        document.report(Problem("no such metric", ("metric", "name"), name, listed(shared), hint))
    return shared


def _metrics(workload: Workload, config: Config, resolver: _Resolver) -> Mapping[str, Metric]:
    """The metrics of a config; where it cannot be built, those of its task with everything else at its default."""
    task = config.get("task")
    simpler: list[Config] = [{"task": task}, {"task": {"name": task["name"]}}] if task else [{}]
    for candidate in (config, *simpler):
        description, problems = attempt(lambda given: workload.describe(resolver(given)), candidate)
        if not problems:
            found: Mapping[str, Metric] = description.metrics
            return found
    return {}


def _claims(
    study: StudyBase, design: Design, metrics: Mapping[str, Metric], document: Document
) -> list[Claim]:
    claims: list[Claim] = []
    if study.search is not None:
        # Nobody knows them yet, but what is expected of them can be said.
        names = winner_names(study.search.winners)
        winners = [Variant(name, design.variants[0].configs) for name in names]
        design = dataclasses.replace(design, variants=[*design.variants, *winners])
    for index, text in enumerate(study.claims):
        at = ("claims", index)
        # A side cannot be judged when the factor that it names is at fault itself.
        faulty = [p for p in study.factors if p not in design.paths or document.is_faulty(("factors", p))]
        if any(path in text for path in faulty):
            continue
        try:
            claim = parse_claim(text, design, metrics or _AnyMetric())
        except Invalid as error:
            for problem in error.problems:
                document.report(dataclasses.replace(problem, path=at))
            continue
        if any(claim.hash == known.hash for known in claims):
            document.report(Problem("is made twice", at, text))
        claims.append(claim)
    return claims


class _AnyMetric:
    """Stands for the metrics of a baseline that cannot be built."""

    def __contains__(self, name: object) -> bool:
        return True

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


def _check_live(workload: Workload, design: Design, document: Document) -> None:
    """Every level under `model.`, alone, must change the parameters or the output of the baseline."""
    baseline = design.variants[0]
    models: list[tuple[PathKey, Mapping[str, Any], list[Config]]] = [
        (level.at, {f.path: level.value}, level.configs)
        for f in design.factors
        if _is_model(f.path)
        for level in f.levels
    ]
    models += [
        (v.at, v.patches, v.configs)
        for v in design.variants
        if v.at[:1] == ("variants",) and all(map(_is_model, v.patches))
    ]
    if not models:
        return
    reference = [attempt(workload.fingerprint, config) for config in baseline.configs]
    for problem in (problem for _, problems in reference for problem in problems):
        document.report(problem)
    for at, patches, configs in models:
        if document.is_faulty(at):
            continue
        found = [attempt(workload.fingerprint, config) for config in configs]
        problems = [problem for _, faults in found for problem in faults]
        if not problems and found == reference:
            rule = "changes nothing: under one seed, parameters and output are bitwise the baseline's"
            problems = [Problem(rule, hint="Give it another value, or take it out")]
        report_at(problems, patches, at, document)


def _is_model(path: str) -> bool:
    return path.split(".")[0] == "model"
