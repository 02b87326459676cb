"""`match:` applied to a study: what is wrong with it, and the variants as they are trained."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from ablate.base.errors import Invalid, Problem
from ablate.core.facts import BASELINE, Matched, MatchFacts
from ablate.core.workload import Workload
from ablate.records.rates import Rates
from ablate.study.designs import Config, Design, Resolve, Variant, report_at
from ablate.study.document import Document
from ablate.study.match import Matcher, Rate, key_of
from ablate.study.patch import apply_patches, has_path
from ablate.study.schema import StudyBase
from ablate.study.sections.search import MatchSection

OTHER_PATH = "Match by another path"


def match_facts(match: MatchSection) -> MatchFacts:
    """What tables and figures must know of a `match:` section."""
    target = match.target if match.target == "baseline" else f"{match.target:.12g}"
    return MatchFacts(match.quantity, match.by, target, match.within)


class Matching:
    """The variants of a study, matched where it says so."""

    def __init__(
        self, study: StudyBase, workload: Workload, design: Design, resolve: Resolve, document: Document
    ) -> None:
        self.study = study
        self.workload = workload
        self.design = design
        self.resolve = resolve
        self.document = document
        self.variants = design.variants
        "As they are trained; they keep the names of what was asked for."
        self.matcher: Matcher | None = None
        "None where nothing is matched, or the rates are not known."
        self.given: dict[str, list[Matched]] = {}
        "Variant → what it was given, one a task."

    def apply(self) -> None:
        """Matches the variants, unless rates must be measured first; reports what is wrong."""
        match = self.study.match
        if match is None:
            return
        matcher = self._matcher(match)
        before = len(self.document.problems)
        if match.quantity == "seconds":
            self._check_timed(match)
        self._check_free(match)
        sound = len(self.document.problems) == before and self._check_baseline(matcher)
        if sound and match.quantity != "seconds":
            self._match(matcher)

    def apply_rates(
        self, rates: Rates | None, tasks: Sequence[str], key: Callable[[Config, str], str]
    ) -> None:
        """Matches seconds by the rates of all variants, which are measured where that is allowed.

        `key` identifies a config up to the value of the path that it is given.
        """
        match, workload = self.study.match, self.workload
        path = workload.steps_path
        if match is None or match.quantity != "seconds" or rates is None or path is None:
            return
        groups = {
            task: {variant.name: variant.configs[index] for variant in self.design.variants}
            for index, task in enumerate(tasks)
        }
        known = rates.of(self.study.name, workload, groups, lambda config: key(config, path))
        if known is None:
            return

        def up_to_steps(config: Config) -> str:
            return key_of(apply_patches(config, {path: None}))

        of_config = {up_to_steps(c): known[key(c, path)] for v in self.design.variants for c in v.configs}
        self._match(self._matcher(match, lambda config: of_config.get(up_to_steps(config))))

    def _matcher(self, match: MatchSection, rate: Rate | None = None) -> Matcher:
        return Matcher(match, self.workload, self.design.variants[0].configs, self.resolve, rate)

    def _check_timed(self, match: MatchSection) -> None:
        at = ("match", "seconds")
        if self.workload.steps_path is None:
            rule = f"needs a workload that says what its steps are, which {self.study.workload} does not"
            self.document.report(Problem(rule, at, hint="Match another quantity"))
        elif match.by != self.workload.steps_path:
            rule = "must be the number of steps, of which the time is measured"
            self.document.report(Problem(rule, ("match", "by"), match.by, self.workload.steps_path))
        for section in ("search", "tune"):
            if getattr(self.study, section) is not None:
                rule = f"cannot be matched with `{section}`: rates are measured of variants, not of every setting"
                self.document.report(Problem(rule, at, hint="Match compute"))

    def _check_free(self, match: MatchSection) -> None:
        """What is compared or searched cannot be what is changed to match."""
        by, report = match.by, self.document.report
        if by in self.study.factors:
            rule = f"{by} is a factor: what is compared cannot be changed to match"
            report(Problem(rule, ("match", "by"), hint=OTHER_PATH))
        for name, patches in self.study.variants.items():
            if by in patches:
                rule = "is what `match` changes, so that it would not stay as it is given"
                hint = f"Take it out, or match by another path than {by}"
                report(Problem(rule, ("variants", name, by), patches[by], hint=hint))
        for name in ("search", "tune"):
            section = getattr(self.study, name)
            if section is not None and by in section.over:
                rule = f"{by} is searched by `{name}`, and so cannot be changed to match"
                report(Problem(rule, ("match", "by"), hint=OTHER_PATH))

    def _check_baseline(self, matcher: Matcher) -> bool:
        """Whether the path, the quantity and the effect are there; reports what is not."""
        match = matcher.match
        try:
            for index, config in enumerate(matcher.baseline):
                value = matcher.number(config)
                if match.quantity != "seconds":
                    matcher.target(index)
                    if not matcher.has_effect(config):
                        raise Invalid(
                            match.by, f"has no effect on the {matcher.noun}", value, hint=OTHER_PATH
                        )
        except Invalid as error:
            for problem in error.problems:
                at = ("match", "by" if problem.path else match.quantity)
                self.document.report(replace(problem, rule=_of_baseline(problem, match.by), path=at))
            return False
        return True

    def _match(self, matcher: Matcher) -> None:
        self.matcher = matcher
        self.variants = []
        same: dict[str, str] = {}
        for variant in self.design.variants:
            if variant.at and self.document.is_faulty(variant.at):
                continue
            try:
                pairs = [matcher(config, index) for index, config in enumerate(variant.configs)]
            except Invalid as error:
                self._report(error, variant, matcher)
                continue
            matched = replace(variant, configs=[config for config, _ in pairs])
            self.variants.append(matched)
            self.given[variant.name] = [given for _, given in pairs]
            other = same.setdefault(key_of(matched.configs), variant.name)
            if other != variant.name and not variant.placebo:
                rule = (
                    f"has the same config as {other} once the {matcher.noun} are matched by {matcher.match.by}, "
                    "so that nothing is compared"
                )
                hint = f"{OTHER_PATH}, or take it out"
                self.document.report(Problem(rule, variant.at, hint=hint))

    def _report(self, error: Invalid, variant: Variant, matcher: Matcher) -> None:
        """Says at the variant's place why it cannot be matched."""
        by = matcher.match.by
        for problem in error.problems:
            if variant.name == BASELINE or variant.placebo:
                rule = _of_baseline(problem, by)
                self.document.report(replace(problem, rule=rule, path=("match", "by")))
                continue
            if not all(has_path(config, by) for config in variant.configs):
                rule = f"has no {by}, by which its {matcher.noun} should be matched"
                problem = Problem(rule, hint="Match by a path that every variant has")
            elif problem.path:
                problem = replace(problem, rule=f"{by} {problem.rule}", path=())
            report_at([problem], variant.patches, variant.at, self.document)


def _of_baseline(problem: Problem, by: str) -> str:
    """The rule of a problem, as the section that asks for it says it."""
    return f"in the baseline, {by} {problem.rule}" if problem.path else f"the baseline {problem.rule}"
