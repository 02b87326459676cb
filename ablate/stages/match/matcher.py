"""Changes the value at one path of a config until it has the quantity that is asked for."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from ablate.base.errors import Invalid, Problem
from ablate.base.wording import percent
from ablate.core.facts import BASELINE
from ablate.core.workload import Workload
from ablate.stages.match.section import QUANTITIES, MatchSection
from ablate.stages.match.solver import Number, Solver
from ablate.study.checks import Draft, attempt
from ablate.study.designs import Config, Resolve, Variant
from ablate.study.document import Document
from ablate.study.expand import refuse_twins, report_at
from ablate.study.patch import apply_patches, key_of, value_at

OTHER_PATH = "Match by another path"


class Matcher:
    """Changes the value at one path of a config so that its quantity meets the target."""

    def __init__(
        self, match: MatchSection, workload: Workload, baseline: Sequence[Config], resolve: Resolve
    ) -> None:
        """`baseline` is resolved, one config a task; raises `Invalid` where its quantity is unknown or fixed."""
        self.match, self.workload, self.resolve = match, workload, resolve
        self._known: dict[tuple[str, int], Config] = {}
        self.noun = QUANTITIES[match.quantity]
        self.targets = [self._amount(c) if match.target == "baseline" else match.target for c in baseline]
        for config in baseline:
            if not self._solver(config).has_effect():
                raise self._no_effect(config)

    def __call__(self, config: Config, task_index: int = 0) -> Config:
        """A resolved config with the value changed; the config itself where it fits already.

        Raises `Invalid`, with the path that is changed, when its value does not exist, is no number, has no effect, or
        misses the target by more than `within`.
        """
        key = key_of(config), task_index
        if key not in self._known:
            self._known[key] = self._matched(config, self.targets[task_index])
        return self._known[key]

    def _matched(self, config: Config, target: float) -> Config:
        by, within = self.match.by, self.match.within
        self._amount(config)  # or its problems
        found = self._solver(config).closest(target)
        if found is None:
            raise self._no_effect(config)
        value, achieved = found
        residual = achieved / target - 1
        if abs(residual) > within:
            of = "the baseline's " if self.match.target == "baseline" else ""
            raise Invalid(
                by,
                f"cannot give {of}{target:,.0f} {self.noun} within {100 * within:.3g} %: the nearest is "
                f"{by} = {value:.6g}, with {achieved:,.0f} ({percent(residual, 2)})",
                self._number(config),
                hint=f"{OTHER_PATH}, or allow more with `within`",
            )
        return self.resolve(apply_patches(config, {by: value}))

    def variant(self, variant: Variant) -> Variant:
        """A variant with its configs changed."""
        return replace(variant, configs=[self(config, i) for i, config in enumerate(variant.configs)])

    def given(self, config: Config, task_index: int = 0) -> dict[str, float]:
        """Of a config that has been matched its value, its quantity, and the error of that as a share of the target."""
        achieved = self._amount(config)
        return {
            "value": self._number(config),
            "achieved": achieved,
            "residual": achieved / self.targets[task_index] - 1,
        }

    def _number(self, config: Config) -> Number:
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

    def _amount(self, config: Config) -> float:
        """The quantity of a config; raises `Invalid` where the config cannot be built or the quantity is not known."""
        amount, problems = attempt(self._quantity, config)
        if problems:
            raise Invalid.many(problems)
        if not amount:
            raise Invalid(
                "", f"has no known {self.noun}: they cannot be counted", hint="Match another quantity"
            )
        return float(amount)

    def _quantity(self, config: Config) -> Any:
        if self.match.quantity == "parameters":
            return self.workload.parameters(config)
        return getattr(self.workload.describe(config), self.match.quantity)

    def _no_effect(self, config: Config) -> Invalid:
        return Invalid(
            self.match.by, f"has no effect on the {self.noun}", self._number(config), hint=OTHER_PATH
        )

    def _solver(self, config: Config) -> Solver:
        """Solves for the value at the path, in whole numbers where the schema takes no others."""
        start = self._number(config)

        def changed(value: Number) -> Any:
            return attempt(self.resolve, apply_patches(config, {self.match.by: value}))[0]

        def quantity(value: Number) -> float | None:
            found = changed(value)
            if found is None or attempt(self.workload.check, found)[1]:
                return None  # such a config cannot be built
            return attempt(self._quantity, found)[0]

        whole = isinstance(start, int) and all(changed(start + d) is None for d in (0.5, -0.5))
        return Solver(quantity, start, whole=whole)


def check_match(draft: Draft, match: MatchSection) -> Matcher | None:
    """Returns the matcher of a study; None where problems are reported to the document."""
    document, config = draft.document, draft.config
    by = match.by
    before = len(document.problems)
    # A path that is compared or searched cannot be changed to match.
    users = ["is a factor, whose levels are compared"] if by in config.factors else []
    for key, paths in draft.outline.varied_paths.items():
        if by in paths and key != "match":
            users.append(f"is searched by `{key}`")
    for user in users:
        document.refuse(("match", "by"), f"{by} {user}; a match cannot change it", hint=OTHER_PATH)
    for name, patches in config.variants.items():
        if by in patches:
            document.refuse(
                ("variants", name, by),
                "is what `match` changes, so that this value would not be kept",
                patches[by],
                hint=f"Take it out, or match by another path than {by}",
            )
    if len(document.problems) > before:
        return None
    try:
        matcher = Matcher(match, draft.workload, draft.design.variants[0].configs, draft.resolve)
    except Invalid as error:
        for problem in error.problems:
            at = ("match", "by" if problem.path else match.quantity)
            document.report(replace(problem, rule=_of_baseline(problem, by), path=at))
        return None
    _check_variants(matcher, draft.design.variants, document)
    return matcher


def _check_variants(matcher: Matcher, variants: Iterable[Variant], document: Document) -> None:
    """Reports a variant that cannot be matched, or becomes the same as another."""
    found: list[Variant] = []
    by = matcher.match.by
    for variant in variants:
        try:
            found.append(matcher.variant(variant))
        except Invalid as error:
            for problem in error.problems:
                if variant.name == BASELINE or variant.placebo:
                    document.report(replace(problem, rule=_of_baseline(problem, by), path=("match", "by")))
                else:
                    own = replace(problem, rule=f"{by} {problem.rule}", path=()) if problem.path else problem
                    report_at([own], variant.patches, variant.at, document)
    refuse_twins(
        found,
        f"has the same config as {{}} once the {matcher.noun} are matched by {by}, so that nothing is compared",
        f"{OTHER_PATH}, or take it out",
        document,
    )


def _of_baseline(problem: Problem, by: str) -> str:
    return f"in the baseline, {by} {problem.rule}" if problem.path else f"the baseline {problem.rule}"
