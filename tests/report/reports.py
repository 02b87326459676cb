"""Evidence of studies that were never run, of each kind that a report can be about, by name: `MADE`."""

from dataclasses import replace

import made_over
import numpy as np
import searches
import synthetic
import timings
from made_evidence import claim, crossed, study
from made_searches import after_search, by_learning_rate, searched
from made_speed import speed_frame, timed
from synthetic import BATCH, BEST, RMS, norms

from ablate.core.match_facts import MatchedRow, MatchFacts
from ablate.core.metric import Metric, Sampling
from ablate.core.provenance import Planned

SOLVING = {"accuracy": Metric("max", 0.001, floor=0.1, ceiling=1.0, solved=0.9)}


def noisy(mean, spread=0.004, n=8, seed=1):
    return list(mean + spread * np.random.default_rng(seed).normal(size=n))


def troubled():
    """Each reason for an inconclusive comparison that one graded task can have."""
    n, base = 8, noisy(0.9)
    values = {
        "baseline": base,
        "same": base,
        "diverges": noisy(0.89, seed=2),
        "fails": noisy(0.9, seed=3),
        "open": noisy(0.895, 0.02, seed=4),
        "worse": noisy(0.7, seed=5),
        "groups": [0.1, 0.1, 0.1, *noisy(0.9, n=n - 3, seed=6)],
        "placebo": noisy(0.97, seed=7),
    }
    lost = {("diverges", 1): "diverged", ("fails", 2): "failed"}
    said = [claim("beats", "baseline", "worse", by=0.05), claim("matches", "open", by=0.02, exploratory=True)]
    return study(values, statuses=lost, placebos=["placebo"], margin=0.02, claims=said, planned=n)


def unlearned():
    return study({"baseline": noisy(0.1), "a": noisy(0.1, seed=2)}, margin=0.01)


def rates():
    ones = [1.0] * 8
    values = {"baseline": ones, "always": ones, "never": [0.2] * 8, "mostly": [0.2, *ones[1:]]}
    return study(values, metrics=SOLVING, outcome="all_or_nothing", margin=0.02)


def several_tasks():
    tasks = {name: {"accuracy": Metric("max", 0.001, 0.1, 1.0)} for name in ("recall", "copy")}
    values = {
        "baseline": noisy(0.8),
        "a": {"recall": noisy(0.7, seed=2), "copy": noisy(0.8, seed=3)},
        "b": noisy(0.6, seed=4),
    }
    return study(values, tasks=tasks, margin=0.05)


def factorial():
    effects = {"x": 0.0, "y": -0.1, "p": 0.0, "q": 0.02}
    rng = np.random.default_rng(4)
    return crossed(
        {"m.a": ["x", "y"], "m.b": ["p", "q"]},
        lambda levels, seed: 0.8 + sum(effects[level] for level in levels.values()) + 0.01 * rng.normal(),
    )


def one_seed():
    return study({"baseline": [0.9], "a": [0.8]}, margin=0.02)


def looks():
    found = study(
        {"baseline": noisy(0.9), "a": noisy(0.8, seed=2), "b": noisy(0.9, 0.02, seed=3)}, margin=0.01
    )
    return replace(found, facts=replace(found.facts, provenance=Planned({"a": {"recall": 4}}, [4, 8])))


def held_out():
    rng = np.random.default_rng(8)
    outcomes = {
        name: (rng.random((8, 200)) < share).astype(float) for name, share in (("baseline", 0.9), ("a", 0.8))
    }
    values = {name: of.mean(axis=1) for name, of in outcomes.items()}
    return study(values, examples=outcomes, sampling=Sampling("held_out", 200), margin=0.02)


def losses():
    """Less is better, and a variant is worse."""
    values = {"baseline": [1.0, 1.1, 1.2], "a": [2.0, 2.2, 2.1]}
    return study(values, metric="loss", metrics={"loss": Metric("min")})


def stressed():
    """A variant that diverges at high rates, and claims that no verdict speaks of."""
    rng = np.random.default_rng(9)
    rates = (1e-4, 3e-4, 1e-3, 3e-3, 1e-2)
    values = {name: 0.8 + 0.01 * rng.normal(size=5) for name in ("baseline", "a", "b")}
    grids = {name: 0.5 + 0.02 * rng.normal(size=(5, 5)) for name in values}
    grids["a"][:, 3:] = np.inf
    about = [claim("beats", "baseline", "a", 0.01, metric=name) for name in ("lr_sensitivity", "accuracy")]
    return study(values, stress=grids, rates=rates, claims=about, statuses={("b", 1): "diverged"})


def tuned():
    return after_search(by_learning_rate(BEST), norms())


def tuned_unevenly():
    """Budgets of which some was lost, a best setting at an edge, one that still rises, and none."""
    values = {"baseline": [0.7, 0.9] + [0.5] * 4, BATCH: [0.5] * 5 + [0.8], RMS: [np.nan] * 6}
    ends = [(BATCH, 0, "diverged"), (BATCH, 1, "pruned"), (RMS, 0, "failed"), (RMS, 1, "invalid")]
    statuses = {(name, number): status for name, number, status in ends}
    statuses |= {(RMS, number): "failed" for number in range(2, 6)}
    lrs = {"baseline": [2e-3, 0.0912, 1e-3, 3e-3, 4e-3, 5e-3], BATCH: [1e-3] * 6, RMS: [1e-3] * 6}
    found = searched(values, statuses=statuses, lrs=lrs, pruner="median")
    return after_search(found, norms(placebo=False))


def swept():
    table = searches.sweep(24, (searches.ACCURACY, searches.PARAMETERS), winners=2)
    return after_search(table, searches.after(table, placebo=True))


def swept_in_vain():
    """The winner is the baseline."""
    table = searches.sweep(24)
    found = searches.after(table)
    facts = replace(found.facts, variants=found.facts.variants[:1])
    alone = found.trials[found.trials["variant"] == "baseline"]
    return after_search(table, replace(found, facts=facts, trials=alone))


def matched():
    """Three variants of the parameters of the baseline, one of which sees more examples."""
    found = norms()
    values = [4, 3.71, 4]
    parts = {"recall": {"embedding": 500, "mixer": 8_000, "relative": 0}}
    costs = [(8_500, 250_000, 6_400), (8_470, 240_000, 12_800), (8_500, 250_000, 6_400)]
    variants = [
        replace(
            variant,
            parameters={"recall": size},
            parameters_by_part=parts,
            flops={"recall": flops},
            training_flops={"recall": 3 * flops},
            examples={"recall": examples},
        )
        for variant, (size, flops, examples) in zip(found.facts.variants, costs, strict=False)
    ]
    rows = [
        MatchedRow(variant.name, "recall", value=value, achieved=size, residual=size / 8_500 - 1)
        for variant, value, (size, *_) in zip(variants, values, costs, strict=False)
    ]
    match = MatchFacts(
        "parameters", by="model.feedforward.expansion", target="baseline", within=0.01, rows=rows
    )
    return replace(
        found, facts=replace(found.facts, variants=variants, features={}, provenance=Planned())
    ).having(match)


def many_timed():
    """Six slower variants on two tasks, on a loud machine."""
    slow = timings.LOGS["slow"] + 0.1
    logs = {"baseline": 10 * timings.LOGS["baseline"]} | {f"v{i}": slow + 0.1 * i for i in range(6)}
    tasks = {name: {"accuracy": Metric("max")} for name in ("recall", "copy")}
    return timed(*(speed_frame(logs, task=name, call=call) for name, call in TIMED), tasks=tasks)


TIMED = (("recall", "step"), ("copy", "generation"))


def only_timed():
    found = timings.study()
    return replace(found, trials=found.trials[:0], curves=found.curves[:0])


def over_mean():
    """Three variants in eight conditions, judged by their mean."""
    return made_over.evidence("mean", names=[f"game{place}" for place in range(8)])


def ladder():
    """Two variants at three widths, judged in every one, with a trend."""
    return made_over.ladder()


def in_order():
    """Claims over conditions that are judged in their order, of which one is open and the last is not tested."""
    found = made_over.ladder("mean")
    said = [claim("beats", "baseline", "a", metric="score")]
    said += [claim("beats", "b", metric="score"), claim("matches", "b", by=0.05, metric="score")]
    return replace(found, facts=replace(found.facts, claims=said, family="ordered"))


JUDGED = (troubled, unlearned, rates, several_tasks, factorial, one_seed, looks, held_out, losses, stressed)
OVER = (over_mean, ladder, in_order)
BESIDE = (tuned, tuned_unevenly, swept, swept_in_vain, matched, many_timed, only_timed)
MADE = {"ugly-names": lambda: synthetic.study(num_seeds=3)}
MADE |= {one.__name__: one for one in (*JUDGED, *OVER, *BESIDE)}
