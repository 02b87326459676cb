"""The verdicts of a study's claims.

The interval of the mean difference between side A and side B, oriented so that more is better, decides; X is the
number that the claim names, 0 for a plain `beats`:

    claim                     supported                     refuted
    A beats B by X            95 % interval above X         95 % interval below X
    A matches B within X      90 % interval inside ±X       95 % interval outside ±X
    A does not lose X to B    90 % interval above −X        95 % interval below −X

Rates over seeds, their spread and speed have tests of their own, in `by_rate`, `by_spread` and `by_time`. An
interaction, `A beats B by more at P = y than at P = x`, is a plain `beats` about the difference of differences.

Otherwise it is inconclusive, or incomplete where a trial that it rests on failed or is missing. The 90 % intervals are
those of one-sided tests at .05: equivalence as in Schuirmann 1987, J. Pharmacokinet. Biopharm. 15, 657–680. On an
all-or-nothing task the seeds that only one side solved decide a plain `beats`, and bound `matches` and `does not lose`
beside the mean (`contrast`). A claim over several tasks holds where it holds on every one. The claims of a study are
one family, corrected by `verdicts.holm`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import chain
from typing import Literal

import pandas as pd

from ablate.analysis.by_mean import by_mean
from ablate.analysis.by_rate import by_rate
from ablate.analysis.by_spread import by_spread
from ablate.analysis.by_time import by_time
from ablate.analysis.grounds import Grounds
from ablate.analysis.interactions import by_interaction
from ablate.analysis.looks import Look, looked, looks, p_sequential
from ablate.analysis.measures import measure_of
from ablate.analysis.paired import NAN
from ablate.analysis.power import ALPHA
from ablate.analysis.runs import Runs
from ablate.analysis.verdicts import holm
from ablate.base import wording
from ablate.core.claim import INTERACTION, Claim
from ablate.core.evidence import Evidence

GROUNDS = {"mean": by_mean, "rate": by_rate, "spread": by_spread, "time": by_time}
"""Of a claim on one task, by the kind of its metric."""
ClaimVerdict = Literal["supported", "refuted", "inconclusive", "incomplete"]

COLUMNS = (
    *("claim", "hash", "declared", "verdict", "diff", "ci_low", "ci_high", "n", "reason", "exploratory"),
    *("ci90_low", "ci90_high", "p_supported", "p_refuted", "p", "p_holm", "metric", "task"),
)


def judge_claims(evidence: Evidence) -> pd.DataFrame:
    """One row a claim, in the order of the study, with `COLUMNS`.

    Each side is the per-seed mean over its variants. `p_supported` and `p_refuted` are on the scale where .05
    decides: two-sided for the 95 % interval, one-sided for the 90 % interval; over T tasks the largest of the one, and
    T times the smallest of the other.
    `p` is the smaller of the two. Holm is taken over the claims that were declared before any trial; the others are
    `exploratory`, judged on `p`, with NaN in `p_holm`. The numbers are those of the `task` that decides.
    """
    runs = Runs(evidence)
    followed = follow(runs)
    family = [one for one in followed if not one.claim.exploratory]
    adjusted = iter(holm([one.p for one in family]))
    rows = [one.row(NAN if one.claim.exploratory else next(adjusted), len(family)) for one in followed]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def follow(runs: Runs) -> list[Followed]:
    """Every claim of the study at each look, which end where it is decided."""
    at = [(look, runs.first(look.seeds)) for look in looks(runs.facts)]
    followed = [Followed(claim) for claim in runs.facts.claims]
    for look, fewer in at:
        for one in followed:
            if not (one.decided or one.closed):
                one.look_at(look, fewer)
        adjusted = iter(holm([one.p for one in followed if not one.claim.exploratory]))
        for one in followed:
            p = one.p if one.claim.exploratory else next(adjusted)
            one.decided = one.decided or p <= ALPHA
    return followed


def _supported(tasks: list[Grounds]) -> float:
    """The p at which a claim is supported on every task at one look."""
    return max((on.supported for on in tasks), default=1.0)


def _refuted(tasks: list[Grounds]) -> float:
    """The p at which it is refuted on some task."""
    return min([1.0, *(len(tasks) * on.refuted for on in tasks)])


@dataclass
class Followed:
    """One claim before Holm's adjustment, and how it stood at each look."""

    claim: Claim
    looks: list[tuple[Look, list[Grounds]]] = field(default_factory=list)
    "The last is shown, or the one that decided it."
    decided: bool = False

    def look_at(self, look: Look, runs: Runs) -> None:
        """Takes the look, unless some of its runs were not asked for there."""
        found = []
        for task in runs.facts.tasks:
            if measure := measure_of(self.claim.metric, task, runs.facts):
                if measure.kind == "time":
                    look = Look(1, 1, look.seeds)  # its processes are looked at once, whatever seeds do
                sides = [[measure.side(runs, name) for name in names] for names in self.claim.sides]
                if self.looks and not all(side.asked.all() for side in chain(*sides)):
                    return
                level = ALPHA * look.weight
                found.append(
                    by_interaction(runs, self.claim, sides, level)
                    if self.claim.kind == INTERACTION
                    else GROUNDS[measure.kind](runs, self.claim, sides[0], sides[1], level)
                )
        self.looks.append((look, found))

    @property
    def look(self) -> Look:
        """The last."""
        return self.looks[-1][0]

    @property
    def tasks(self) -> list[Grounds]:
        """The grounds on each task, at this look."""
        return self.looks[-1][1]

    @property
    def closed(self) -> bool:
        """Whether more seeds are not waited for: every task on which it is open is saturated or degenerate there."""
        return bool(self.looks) and all(on.closed for on in self.tasks)

    @property
    def open(self) -> bool:
        """Whether more seeds may decide it."""
        return not (self.decided or self.closed or any(on.missing for on in self.tasks))

    def _sequential(self, p: Callable[[list[Grounds]], float]) -> float:
        return p_sequential([p(tasks) for _, tasks in self.looks], self.look.count)

    @property
    def supported(self) -> float:
        """The p at which the claim is supported on every task."""
        return self._sequential(_supported)

    @property
    def refuted(self) -> float:
        """The p at which it is refuted on some task."""
        return self._sequential(_refuted)

    @property
    def way(self) -> ClaimVerdict:
        """How it is decided, if it is."""
        return "supported" if self.supported <= self.refuted else "refuted"

    @property
    def undecided(self) -> ClaimVerdict:
        """What it is, if it is not."""
        return "incomplete" if any(on.missing for on in self.tasks) else "inconclusive"

    @property
    def p(self) -> float:
        """The p at which it is decided."""
        return min(self.supported, self.refuted)

    @property
    def strongest(self) -> tuple[Look, list[Grounds]]:
        """The look from which p comes: not the last, where Holm's adjustment took other claims to decide."""
        p = _supported if self.way == "supported" else _refuted
        return min(self.looks, key=lambda at: p(at[1]) / at[0].weight)

    def shown(self, decided: bool) -> tuple[Look, list[Grounds]]:
        """The look whose numbers are shown: the one that decided it, else the last."""
        return self.strongest if decided else self.looks[-1]

    def deciding(self, tasks: list[Grounds]) -> Grounds | None:
        """The task whose numbers are shown: the one that stands against the claim most."""
        if not tasks:
            return None
        if self.way == "supported":
            return max(tasks, key=lambda on: on.supported)
        return min(tasks, key=lambda on: on.refuted)

    def row(self, p_holm: float, family: int) -> dict[str, object]:
        """The row, with `COLUMNS`."""
        claim = self.claim
        p = self.p if claim.exploratory else p_holm
        decided = p <= ALPHA
        look, tasks = self.shown(decided)
        on, alpha = self.deciding(tasks), ALPHA * look.weight
        bounds_95, bounds_90 = (
            ((NAN, NAN), (NAN, NAN)) if on is None else (on.interval(alpha), on.interval(2 * alpha))
        )
        return {
            "claim": claim.text,
            "hash": claim.hash,
            "declared": claim.declared,
            "verdict": self.way if decided else self.undecided,
            "diff": on.diff if on else NAN,
            "ci_low": bounds_95[0],
            "ci_high": bounds_95[1],
            "n": on.n if on else 0,
            "reason": self.reason(p, family, decided),
            "exploratory": claim.exploratory,
            "ci90_low": bounds_90[0],
            "ci90_high": bounds_90[1],
            "p_supported": self.supported,
            "p_refuted": self.refuted,
            "p": self.p,
            "p_holm": p_holm,
            "metric": claim.metric,
            "task": on.task if on else "",
        }

    def reason(self, p: float, family: int, decided: bool) -> str:
        """The evidence of each task, and why that decides or does not."""
        look, tasks = self.shown(decided)
        if not tasks:
            return f"no task of the study has the metric {self.claim.metric}"
        several = len(tasks) > 1
        parts = [f"{on.task}: {on.reading}" if several else on.reading for on in tasks]
        if several and self.p <= ALPHA:
            count = sum(
                (on.supported if self.way == "supported" else on.refuted) <= ALPHA * look.weight
                for on in tasks
            )
            parts.append(f"alone {self.way} on {wording.share(count, len(tasks))} tasks")
        if family > 1 and not self.claim.exploratory and self.p <= ALPHA:
            after = f"after Holm over {family} claims ({wording.p_value(p)})"
            alone, at = wording.p_value(self.p), self.strongest[0]
            if at != look:
                alone += f" at look {at.number}"
            parts.append(f"{alone}, {after}" if decided else f"decided alone ({alone}) but not {after}")
        if self.look.count > 1:
            parts.append(looked(look, self.claim.kind if decided else self.undecided))
        if self.claim.exploratory:
            parts.append("exploratory: declared after trials existed, judged on its own p")
        return "; ".join(parts)
