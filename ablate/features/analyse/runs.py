"""The rows of a table checked, and as the evidence of a study, from which judge and report go on as from any other."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pandas as pd

from ablate.base.errors import AblateError, Gather, Problem, listed, nearest
from ablate.base.process import now
from ablate.core.derived import Offer
from ablate.core.facts import (
    BASELINE,
    EXAMPLES,
    Claim,
    Evidence,
    Facts,
    Given,
    TaskFacts,
    VariantFacts,
    frame_of,
)
from ablate.core.feature import derived
from ablate.core.metric import FRESH, Metric, Sampling
from ablate.features.analyse.reading import column, require
from ablate.records.environment import versions
from ablate.report.words import say
from ablate.study.claims import Claimable, parse_claim
from ablate.study.designs import Design, OneFactor, Variant

KEY = ["variant", "task", "seed"]
SHOWN = 8  # Mistakes that are listed.


@dataclass(frozen=True)
class Asked:
    """What the command line declares."""

    runs: str
    baseline: str
    metrics: Mapping[str, Metric]  # The one that is judged first.
    margin: float | None
    all_or_nothing: bool
    claims: Sequence[str]


class Runs(NamedTuple):
    """A row a run: id, variant, task, seed, status, reason, metrics. `examples` are as in `Evidence`, and `sources` by
    task as in `TaskFacts`.
    """

    trials: pd.DataFrame
    examples: pd.DataFrame
    sources: Mapping[str, list[int]]


def checked(table: pd.DataFrame, asked: Asked) -> Runs:
    """The runs of a table. Raises `AblateError`, of a column with all that is wrong in it."""
    by_example, first = "example" in table, next(iter(asked.metrics))
    if by_example and "task" in table:
        # Of a suite of benchmarks, those that are measured by it.
        table = table[column(table, first, asked.runs).notna().groupby(table["task"]).transform("any")]
    found = pd.DataFrame({"id": table.index, "variant": column(table, "variant", asked.runs)}, table.index)
    found["task"], found["example"] = table.get("task", "runs"), table.get("example", "all")
    found["source"] = table.get("source", found["example"])
    for name in ("variant", "task", "example", "source"):
        found[name] = found[name].where(found[name].notna(), "").astype(str).str.strip()
        _refuse(found[name] == "", found[name], "must not be empty")
    seeds = table.get("seed", pd.Series(0 if by_example else range(1, len(table) + 1), table.index))
    found["seed"] = pd.to_numeric(seeds, errors="coerce")
    _refuse(found["seed"] % 1 != 0, seeds, "must be a whole number")
    found = found.assign(seed=found["seed"].astype(int), status="completed", reason="")
    for name in asked.metrics:
        said = column(table, name, asked.runs).astype(str).str.strip()
        empty = table[name].isna() | (said == "")
        found[name] = pd.to_numeric(said, errors="coerce").astype(float)
        wrong = found[name].isna() & ~empty & ~said.str.lower().isin(["nan", "-nan"])
        _refuse(wrong, said, "must be a number, nan of a run that diverged, or empty of one that failed")
        if name == first:
            found["status"] = np.select(
                [empty, ~np.isfinite(found[name])], ["failed", "diverged"], "completed"
            )
    key = [*KEY, "example"] if by_example else KEY
    twice = found[found.duplicated(key, keep=False)].sort_values(key, kind="stable")
    require(
        twice.empty,
        " and ".join(map(str, twice.index[:2])),
        "a variant, task and seed (and example) has one row",
        given=twice[key].head(1).to_dict("records"),
    )
    return _by_example(found, asked) if by_example else Runs(found, frame_of((), EXAMPLES), {})


def _refuse(bad: pd.Series, values: pd.Series, rule: str) -> None:
    wrong = values[bad]
    lines = [
        str(Problem(f"{values.name} {rule}", given=of, source=str(at)))
        for at, of in wrong.head(SHOWN).items()
    ]
    if lines:
        raise AblateError("\n".join([*lines, *[f"and {len(wrong) - SHOWN} more"] * (len(wrong) > SHOWN)]))


def _by_example(rows: pd.DataFrame, asked: Asked) -> Runs:
    """With the mean of each run over its examples, which all runs of a task must share."""
    rows = rows.sort_values("example", kind="stable")
    runs, sources = rows.groupby(KEY, sort=False), {}
    for task, part in rows.groupby("task"):
        sizes, every = part.groupby("example").size(), len(part.drop_duplicates(KEY))
        require(
            sizes.min() == every,
            f"{asked.runs}: example",
            f"{sizes.idxmin()!r} must be in every run of {task}",
            given=f"in {sizes.min()} of {every} runs",
            hint="Leave out examples that some runs lack",
        )
        once = part.drop_duplicates("example")["source"]
        sources[str(task)] = pd.factorize(once)[0].tolist() if once.duplicated().any() else []
    worst = runs["status"].agg(lambda of: max(of, key=["completed", "diverged", "failed"].index))
    trials = runs.agg({"id": "first", "reason": "first"} | dict.fromkeys(asked.metrics, "mean")).assign(
        status=worst
    )
    varying = [name for name in asked.metrics if runs[name].nunique().max() > 1]
    kept = [(run["id"].iloc[0], name, run[name].to_numpy(np.float32)) for _, run in runs for name in varying]
    return Runs(trials.reset_index(), frame_of(kept, EXAMPLES), sources)


def _alike(runs: Runs, asked: Asked) -> Iterator[str]:
    """Groups of runs that have the same numbers, to ten digits, as copies and a seed that ran twice have.

    Named where chance is no reason: by their range and smallest step, less than one table in twenty would have a pair
    alike. Runs by example have the same examples.
    """
    kept = runs.examples.groupby("id")["values"].agg(lambda of: b"".join(map(bytes, of))).to_dict()
    for _, found in runs.trials[runs.trials["status"] == "completed"].groupby("task"):
        keys = pd.DataFrame({"examples": [kept.get(run, b"") for run in found["id"]]}, found.index)
        cells = np.inf if len(kept) else 1.0
        for name, metric in asked.metrics.items():
            decimals = max(len(repr(value).partition(".")[2]) for value in found[name].tolist())
            size = found[name].abs().max()
            step = max(10.0**-decimals, 1e-10 * size, metric.resolution)
            keys[name], cells = (found[name] / step).round(), cells * (np.ptp(found[name]) or size) / step
        if len(found) ** 2 / 2 < 0.05 * cells:
            names = (
                (found["variant"] + " seed " + found["seed"].astype(str))
                .groupby([*keys.to_numpy().T])
                .agg(list)
            )
            yield from (listed(group, 6) for group in names if len(group) > 1)


def evidence_of(runs: Runs, asked: Asked, name: str, how: Given, command: str) -> Evidence:
    """Evidence with the facts of the report `name`. Raises `AblateError`."""
    trials, metric, examples = runs.trials, next(iter(asked.metrics)), len(runs.examples) > 0
    names = dict.fromkeys(trials["variant"])
    require(
        asked.baseline in names,
        "--baseline",
        "is no variant",
        given=asked.baseline,
        allowed=listed(names),
        hint=nearest(asked.baseline, names),
    )
    require(len(names) > 1, asked.runs, "has no other variant than the baseline", given=asked.baseline)
    if how == "runs" and trials.groupby(KEY[:2]).size().max() == 1:
        require(
            examples,
            asked.runs,
            "one run of each variant shows no difference",
            hint="Run more seeds, give --known-noise FILE, or a row an example",
        )
        how = "documents"
    require(
        trials.groupby(KEY[1:])["variant"].nunique().max() > 1 or not (examples or asked.all_or_nothing),
        asked.runs,
        "runs by example, and --all-or-nothing, take variants that share seeds",
    )
    # The report knows the baseline by that name; another variant of the name has a new one.
    new = {BASELINE: f"former {BASELINE}", asked.baseline: BASELINE}
    shown = {old: new.get(old, old) for old in dict.fromkeys([asked.baseline, *names])}
    tasks, seeds = [*dict.fromkeys(trials["task"])], trials.groupby(KEY[:2])["seed"].agg(list)
    facts = Facts(
        *(name, say("analyse.question", asked.baseline, metric), "", metric, metric, "last", asked.margin),
        design="runs that exist",
        seeds=sorted({*trials["seed"].tolist()}),
        tasks=[
            TaskFacts(
                task,
                dict(asked.metrics),
                "all_or_nothing" if asked.all_or_nothing else "graded",
                Sampling("held_out", len(runs.examples["values"].iloc[0])) if examples else FRESH,
                sources=runs.sources.get(task, []),
            )
            for task in tasks
        ],
        variants=[VariantFacts(each, {}, {}) for each in shown.values()],
        factors={},
        claims=_claims(asked, shown),
        environment={"command": command, "versions": versions()},
        cautions=[say("analyse.alike", group) for group in _alike(runs, asked)],
        labels={BASELINE: asked.baseline} if asked.baseline != BASELINE else {},
        reported=now(),
        given=how,
        own_seeds={to: {task: seeds.get((old, task), []) for task in tasks} for old, to in shown.items()},
    )
    trials = trials.assign(variant=trials["variant"].map(shown)).reset_index(drop=True)
    curves = frame_of((), ("id", "step", "metric", "value"))
    return Evidence(facts, trials[["id", *KEY, "status", "reason", *asked.metrics]], curves, runs.examples)


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
                a, b, *less = [[shown[name] for name in side] for side in (*claim.sides, [], [])][:4]
                found.append(replace(claim, a=a, b=b, a_less=less[0], b_less=less[1], declared=now()))
    return found
