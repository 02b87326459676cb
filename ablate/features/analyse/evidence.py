"""Runs that exist as the evidence of a study, from which judge and report go on as from any other."""

from __future__ import annotations

from dataclasses import replace

from ablate.base.errors import Gather
from ablate.base.process import now
from ablate.core.derived import Offer
from ablate.core.facts import BASELINE, Claim, Evidence, Facts, TaskFacts, VariantFacts, frame_of
from ablate.core.facts import Given as How
from ablate.core.feature import derived
from ablate.core.metric import FRESH, Outcome, Sampling
from ablate.features.analyse.reading import refuse
from ablate.features.analyse.runs import KEY, Asked, Given, alike, check_baseline
from ablate.records.environment import versions
from ablate.report.words import say
from ablate.study.claims import Claimable, parse_claim
from ablate.study.designs import Design, OneFactor, Variant


def evidence_of(given: Given, asked: Asked, name: str, how: How, command: str) -> Evidence:
    """Evidence with the facts of the report `name`. Raises `AblateError`."""
    check_baseline(given, asked)
    trials, metric, examples = given.trials, next(iter(asked.metrics)), len(given.examples) > 0
    if how == "runs" and trials.groupby(KEY[:2]).size().max() == 1:
        if not examples:
            hint = "Run more seeds, or give --known-noise FILE, or a row an example"
            raise refuse(asked.runs, "one run of each variant shows no difference", hint=hint)
        how = "documents"
    shares = trials.groupby(KEY[1:])["variant"].nunique().max() > 1
    if not shares and (examples or asked.all_or_nothing):
        rule = "runs by example, and --all-or-nothing, take variants that share seeds"
        raise refuse(asked.runs, rule, hint="Give seeds, or leave these out")
    # The report knows the baseline by that name; another variant of the name has a new one.
    new = {BASELINE: f"former {BASELINE}", asked.baseline: BASELINE}
    shown = {old: new.get(old, old) for old in dict.fromkeys([asked.baseline, *trials["variant"]])}
    sampling = Sampling("held_out", len(given.examples["values"].iloc[0])) if examples else FRESH
    outcome: Outcome = "all_or_nothing" if asked.all_or_nothing else "graded"
    tasks = [*dict.fromkeys(trials["task"])]
    own = trials.groupby(KEY[:2])["seed"].agg(lambda seeds: sorted(map(int, seeds)))
    facts = Facts(
        *(name, say("analyse.question", asked.baseline, metric), "", metric, metric, "last", asked.margin),
        design="runs that exist",
        seeds=sorted(map(int, {*trials["seed"]})),
        tasks=[
            TaskFacts(t, dict(asked.metrics), outcome, sampling, sources=given.sources.get(t, []))
            for t in tasks
        ],
        variants=[VariantFacts(each, {}, {}) for each in shown.values()],
        factors={},
        claims=_claims(asked, shown),
        environment={"command": command, "versions": versions()},
        cautions=[say("analyse.alike", runs) for runs in alike(given, asked)],
        labels={BASELINE: asked.baseline} if asked.baseline != BASELINE else {},
        reported=now(),
        given=how,
        own_seeds={to: {task: own.get((old, task), []) for task in tasks} for old, to in shown.items()},
    )
    trials, curves = trials.assign(variant=trials["variant"].map(shown)), ("id", "step", "metric", "value")
    columns = ["id", *KEY, "status", "reason", *asked.metrics]
    return Evidence(facts, trials[columns].reset_index(drop=True), frame_of((), curves), given.examples)


def _claims(asked: Asked, shown: dict[str, str]) -> list[Claim]:
    """In the names that are `shown`; all count in the family."""
    design = Design([Variant(each, [{}]) for each in shown], {}, [], OneFactor())
    lacking = {name: why for name, of in derived().items() if (why := of.lacks(Offer(asked.metrics)))}
    known = {name: of.metric for name, of in derived().items() if name not in lacking}
    found = list[Claim]()
    with Gather() as at:
        for text in asked.claims:
            with at("--claim"):
                claim = parse_claim(text, design, Claimable({**asked.metrics, **known}, lacking))
                a, b = ([shown[name] for name in side] for side in claim.sides[:2])
                found.append(replace(claim, a=a, b=b, declared=now()))
    return found
