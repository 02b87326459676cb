"""`match:` gives every variant as much of one quantity as the baseline has, by changing the value at one path."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ablate.base.errors import Invalid, Problem
from ablate.core.facts import BASELINE, Matched
from ablate.core.feature import features
from ablate.core.workload import Workload
from ablate.study.checks import Draft, attempt
from ablate.study.designs.design import Config, Resolve, Variant
from ablate.study.document import Document
from ablate.study.expand import refuse_twins, report_at
from ablate.study.patch import apply_patches, has_path, key_of, value_at
from ablate.study.schema import StudyBase
from ablate.study.sections.match import MatchSection
from ablate.study.solver import Number, Solver

NOUNS = {
    "parameters": "parameters",
    "flops": "FLOPs of a forward pass",
    "compute": "FLOPs of the whole training",
}
OTHER_PATH = "Match by another path"


class Matcher:
    """Changes the value at one path of a config so that its quantity meets the target."""

    def __init__(
        self,
        match: MatchSection,
        workload: Workload,
        baseline: Sequence[Config],
        resolve: Resolve,
    ) -> None:
        """`baseline` is resolved, one config a task."""
        self.match, self.workload, self.baseline, self.resolve = match, workload, baseline, resolve
        self.noun = NOUNS[match.quantity]
        self._amounts: dict[str, float | None] = {}
        self._matched: dict[tuple[str, int], tuple[Config, Matched]] = {}

    def __call__(self, config: Config, task_index: int = 0) -> tuple[Config, Matched]:
        """A resolved config with the value changed, and what that gives; the config itself where it fits already.

        Raises `Invalid`, with the path that is changed, when its value does not exist, is no number, has no effect, or
        misses the target by more than `within`.
        """
        key = (key_of(config), task_index)
        if key not in self._matched:
            self._matched[key] = self._solved(config, self.target(task_index))
        return self._matched[key]

    def given(self, config: Config, task_index: int = 0) -> Matched:
        """The value and quantity of a config that has been matched."""
        return Matched(self.number(config), self.amount(config), self.target(task_index))

    def _solved(self, config: Config, target: float) -> tuple[Config, Matched]:
        by, within = self.match.by, self.match.within
        start, now = self.number(config), self.amount(config)
        if now == target:
            return config, Matched(start, now, target)
        found = self._solver(config, start).closest(target)
        if found is None:
            raise self._no_effect(start)
        matched = self.resolve(apply_patches(config, {by: found[0]}))
        result = Matched(value_at(matched, by), found[1], target)
        if abs(result.residual) > within:
            of = "the baseline's " if self.match.target == "baseline" else ""
            percent = f"{100 * result.residual:+.2f} %".replace("-", "−")
            raise Invalid(
                by,
                f"cannot give {of}{target:,.0f} {self.noun} within {100 * within:.3g} %: the nearest is "
                f"{by} = {result.value:.6g}, with {result.achieved:,.0f} ({percent})",
                start,
                hint=f"{OTHER_PATH}, or allow more with `within`",
            )
        return matched, result

    def target(self, task_index: int = 0) -> float:
        """The quantity that every config is given; raises `Invalid` where the baseline's is not known."""
        if self.match.target == "baseline":
            return self.amount(self.baseline[task_index])
        return self.match.target

    def number(self, config: Config) -> Number:
        """The value at the path; raises `Invalid` when it does not exist or is no number."""
        by = self.match.by
        try:
            value = value_at(config, by)
        except Invalid as error:
            problem = error.problems[0]
            raise Invalid(by, "does not exist", allowed=problem.allowed, hint=problem.hint) from None
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise Invalid(by, "must be a number, which is changed to match", value, hint=OTHER_PATH)
        return value

    def amount(self, config: Config) -> float:
        """The quantity of a config; raises `Invalid` where the config cannot be built or the quantity is not known."""
        amount, problems = attempt(self._amount, config)
        if problems:
            raise Invalid.many(problems)
        if not amount:
            rule = f"has no known {self.noun}: they cannot be counted"
            raise Invalid("", rule, hint="Match another quantity")
        return amount

    def check_effect(self, config: Config) -> None:
        """Raises `Invalid` when the value at the path does not change the quantity at all."""
        start = self.number(config)
        if not self._solver(config, start).has_effect():
            raise self._no_effect(start)

    def _no_effect(self, value: Number) -> Invalid:
        return Invalid(self.match.by, f"has no effect on the {self.noun}", value, hint=OTHER_PATH)

    def _solver(self, config: Config, start: Number) -> Solver:
        """Solves for the value at the path, in whole numbers where the schema takes no others."""

        def quantity(value: Number) -> float | None:
            changed = self._with(config, value)
            if changed is None or attempt(self.workload.check, changed)[1]:
                return None  # such a config cannot be built
            return attempt(self._amount, changed)[0]

        whole = isinstance(start, int) and all(self._with(config, start + d) is None for d in (0.5, -0.5))
        return Solver(quantity, start, whole=whole)

    def _with(self, config: Config, value: Number) -> Config | None:
        try:
            return self.resolve(apply_patches(config, {self.match.by: value}))
        except Invalid:
            return None

    def _amount(self, config: Config) -> float | None:
        key, quantity = key_of(config), self.match.quantity
        if key not in self._amounts:
            if quantity == "parameters":
                self._amounts[key] = self.workload.parameters(config)
            else:
                self._amounts[key] = getattr(self.workload.describe(config), quantity)
        return self._amounts[key]


def check_match(match: MatchSection, draft: Draft) -> Matcher | None:
    """Checks a `match:` and returns its matcher.

    None where there are problems, which are reported to the document.
    """
    document = draft.document
    before = len(document.problems)
    _check_conflicts(match, draft.study, document)
    if len(document.problems) > before:
        return None
    matcher = Matcher(match, draft.workload, draft.design.variants[0].configs, draft.resolve)
    try:
        for index, config in enumerate(matcher.baseline):
            matcher.number(config)
            matcher.target(index)
            matcher.check_effect(config)
    except Invalid as error:
        for problem in error.problems:
            at = ("match", "by" if problem.path else match.quantity)
            document.report(replace(problem, rule=_of_baseline(problem, match.by), path=at))
        return None
    return matcher


def _check_conflicts(match: MatchSection, study: StudyBase, document: Document) -> None:
    """A path that is compared or searched cannot be changed to match."""
    by = match.by
    users = ["is a factor, whose levels are compared"] if by in study.factors else []
    varied = [of for feature in features() for of in feature.varies(study).items()]
    users += [f"is searched by `{section}`" for section, paths in varied if by in paths]
    for user in users:
        document.refuse(("match", "by"), f"{by} {user}; a match cannot change it", hint=OTHER_PATH)
    for name, patches in study.variants.items():
        if by in patches:
            rule = "is what `match` changes, so that this value would not be kept"
            hint = f"Take it out, or match by another path than {by}"
            document.refuse(("variants", name, by), rule, patches[by], hint=hint)


def match_variants(
    matcher: Matcher, variants: Sequence[Variant], document: Document
) -> tuple[list[Variant], dict[str, list[Matched]]]:
    """The variants as they are trained, under their own names, and by name what each was given, one a task.

    A variant that cannot be matched, or becomes the same as another, is reported to the document.
    """
    found: list[Variant] = []
    given: dict[str, list[Matched]] = {}
    for variant in variants:
        try:
            pairs = [matcher(config, index) for index, config in enumerate(variant.configs)]
        except Invalid as error:
            _report(error.problems, variant, matcher, document)
            continue
        found.append(replace(variant, configs=[config for config, _ in pairs]))
        given[variant.name] = [matched for _, matched in pairs]
    refuse_twins(
        found,
        f"has the same config as {{}} once the {matcher.noun} are matched by {matcher.match.by}, so that nothing is "
        "compared",
        f"{OTHER_PATH}, or take it out",
        document,
    )
    return found, given


def _report(problems: Sequence[Problem], variant: Variant, matcher: Matcher, document: Document) -> None:
    """Says at the variant's place why it cannot be matched."""
    by = matcher.match.by
    for problem in problems:
        if variant.name == BASELINE or variant.placebo:
            document.report(replace(problem, rule=_of_baseline(problem, by), path=("match", "by")))
            continue
        if not all(has_path(config, by) for config in variant.configs):
            rule = f"has no {by}, by which its {matcher.noun} should be matched"
            problem = Problem(rule, hint="Match by a path that every variant has")
        elif problem.path:
            problem = replace(problem, rule=f"{by} {problem.rule}", path=())
        report_at([problem], variant.patches, variant.at, document)


def _of_baseline(problem: Problem, by: str) -> str:
    return f"in the baseline, {by} {problem.rule}" if problem.path else f"the baseline {problem.rule}"
