"""Changes the value at one path of a config until it has the quantity that is asked for."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from ablate.base.errors import Invalid, Problem
from ablate.base.wording import percent
from ablate.core.facts import BASELINE
from ablate.core.match_facts import MatchedRow
from ablate.core.workload import Workload
from ablate.stages.match.section import QUANTITIES, MatchSection
from ablate.stages.match.solver import Number, Solver
from ablate.study.checks import attempt
from ablate.study.designs import Config, Resolve, Variant
from ablate.study.document import Document
from ablate.study.draft import Draft
from ablate.study.expand import refuse_twins, report_at
from ablate.study.patch import apply_patches, key_of, value_at

OTHER_PATH = "Match by another path"


class Matcher:
    """Changes the value at one path of a config until its quantity meets the target."""

    def __init__(
        self, match: MatchSection, workload: Workload, baseline: Mapping[str, Config], resolve: Resolve
    ) -> None:
        """Computes the targets; raises `Invalid` where the baseline's quantity is unknown or fixed.

        baseline: task → resolved config.
        """
        self.match = match
        self.workload = workload
        self.resolve = resolve
        # The quantity in words.
        self.noun = QUANTITIES[match.quantity]
        # Task → the quantity that is asked for there.
        self.targets: dict[str, float] = {}
        # A config, as its key, and its task → the config that matches.
        self._matched_configs: dict[tuple[str, str], Config] = {}
        for task, config in baseline.items():
            self.targets[task] = self._amount(config) if match.target == "baseline" else match.target
        for config in baseline.values():
            if not self._solver(config).has_effect():
                raise self._no_effect(config)

    def __call__(self, config: Config, task: str) -> Config:
        """Returns a resolved config on a task with the value changed; the config itself where it fits already.

        Raises `Invalid`, with the path that is changed, when its value does not exist, is no number, has no effect, or
        misses the target by more than `within`.
        """
        key = (key_of(config), task)
        if key not in self._matched_configs:
            self._matched_configs[key] = self._matched(config, self.targets[task])
        return self._matched_configs[key]

    def _matched(self, config: Config, target: float) -> Config:
        by = self.match.by
        within = self.match.within
        self._amount(config)  # Raises what is wrong with the config as it is.
        closest = self._solver(config).closest(target)
        if closest is None:
            raise self._no_effect(config)
        value, achieved = closest
        residual = achieved / target - 1
        if abs(residual) > within:
            owner = "the baseline's " if self.match.target == "baseline" else ""
            raise Invalid(
                by,
                f"cannot give {owner}{target:,.0f} {self.noun} within {100 * within:.3g} %: the nearest is "
                f"{by} = {value:.6g}, with {achieved:,.0f} ({percent(residual, 2)})",
                self._number(config),
                hint=f"{OTHER_PATH}, or allow more with `within`",
            )
        return self.resolve(apply_patches(config, {by: value}))

    def variant(self, variant: Variant) -> Variant:
        """Returns a variant with its configs changed."""
        return replace(
            variant, configs={task: self(config, task) for task, config in variant.configs.items()}
        )

    def row(self, variant: str, task: str, config: Config) -> MatchedRow:
        """Returns the changed value of a matched config, its quantity, and the error of that as a share of the
        target.
        """
        achieved = self._amount(config)
        residual = achieved / self.targets[task] - 1
        return MatchedRow(variant, task, self._number(config), achieved, residual)

    def _number(self, config: Config) -> Number:
        """Returns the value at the path.

        Raises `Invalid` when it does not exist or is no number.
        """
        by = self.match.by
        try:
            value = value_at(config, by)
        except Invalid as error:
            problem = error.problems[0]
            raise Invalid(by, "does not exist", allowed=problem.allowed, hint=problem.hint) from None
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise Invalid(by, "must be a number, which `match` can change", value, hint=OTHER_PATH)
        return value

    def _amount(self, config: Config) -> float:
        """Returns the quantity of a config.

        Raises `Invalid` where the config cannot be built or the quantity is not known.
        """
        amount, problems = attempt(self._quantity, config)
        if problems:
            raise Invalid.many(problems)
        if not amount:
            rule = f"has no known {self.noun}: they cannot be counted"
            raise Invalid("", rule, hint="Match another quantity")
        return float(amount)

    def _quantity(self, config: Config) -> float | None:
        """Returns the quantity of a config; None where it is not known."""
        match self.match.quantity:
            case "parameters":
                return self.workload.parameters(config)
            case "flops":
                return self.workload.describe(config).flops
            case _:
                return self.workload.describe(config).compute

    def _no_effect(self, config: Config) -> Invalid:
        rule = f"has no effect on the {self.noun}"
        return Invalid(self.match.by, rule, self._number(config), hint=OTHER_PATH)

    def _solver(self, config: Config) -> Solver:
        """Returns a solver for the value at the path.

        It tries whole numbers alone where the schema takes no others.
        """
        start = self._number(config)

        def changed(value: Number) -> Config | None:
            resolved: Config | None
            resolved, _ = attempt(self.resolve, apply_patches(config, {self.match.by: value}))
            return resolved

        def quantity(value: Number) -> float | None:
            resolved = changed(value)
            if resolved is None:
                return None
            _, problems = attempt(self.workload.check, resolved)
            if problems:
                return None  # Such a config cannot be built.
            amount: float | None
            amount, _ = attempt(self._quantity, resolved)
            return amount

        whole = isinstance(start, int) and changed(start + 0.5) is None and changed(start - 0.5) is None
        return Solver(quantity, start, whole=whole)


def check_match(draft: Draft, match: MatchSection) -> Matcher | None:
    """Returns the matcher of a study; None where problems are reported to the document."""
    document = draft.document
    num_problems = len(document.problems)
    _check_path(draft, match.by)
    if len(document.problems) > num_problems:
        return None
    try:
        matcher = Matcher(match, draft.workload, draft.design.variants[0].configs, draft.resolve)
    except Invalid as error:
        for problem in error.problems:
            key = "by" if problem.path else match.quantity
            rule = _of_baseline(problem, match.by)
            document.report(replace(problem, rule=rule, path=("match", key)))
        return None
    _check_variants(matcher, draft.design.variants, document)
    return matcher


def _check_path(draft: Draft, by: str) -> None:
    """Refuses a path that is compared, searched or set by a variant: a match changes it."""
    document = draft.document
    config = draft.config
    uses: list[str] = []
    if by in config.factors:
        uses.append("is a factor, whose levels are compared")
    for key, paths in draft.outline.varied_paths.items():
        if by in paths and key != "match":
            uses.append(f"is searched by `{key}`")
    for use in uses:
        document.refuse(("match", "by"), f"{by} {use}; a match cannot change it", hint=OTHER_PATH)
    for name, patches in config.variants.items():
        if by in patches:
            document.refuse(
                ("variants", name, by),
                "is changed by `match`, which would overwrite this value",
                patches[by],
                hint=f"Remove it, or match by a path other than {by}",
            )


def _check_variants(matcher: Matcher, variants: Iterable[Variant], document: Document) -> None:
    """Reports a variant that cannot be matched, or becomes the same as another."""
    by = matcher.match.by
    matched: list[Variant] = []
    for variant in variants:
        try:
            matched.append(matcher.variant(variant))
        except Invalid as error:
            for problem in error.problems:
                _report(problem, variant, by, document)
    refuse_twins(
        matched,
        f"has the same config as {{}} once {by} is changed to match the {matcher.noun}",
        f"{OTHER_PATH}, or remove it",
        document,
    )


def _report(problem: Problem, variant: Variant, by: str, document: Document) -> None:
    """Reports a problem of a variant where the study file asks for the variant."""
    if variant.name == BASELINE or variant.placebo:
        document.report(replace(problem, rule=_of_baseline(problem, by), path=("match", "by")))
        return
    if problem.path:
        problem = replace(problem, rule=f"{by} {problem.rule}", path=())
    report_at([problem], variant.patches, variant.at, document)


def _of_baseline(problem: Problem, by: str) -> str:
    """Returns the rule of a problem of the baseline."""
    return f"in the baseline, {by} {problem.rule}" if problem.path else f"the baseline {problem.rule}"
