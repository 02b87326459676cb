"""The rows of a table checked, and as the evidence of a study, from which judge and report go on as from any other.

What is wrong raises `AblateError`.
"""

import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from ablate.base.errors import Gather, Problem, listed, nearest
from ablate.base.process import now
from ablate.core.derived import Offer
from ablate.core.facts import BASELINE, EXAMPLES, Claim, Evidence, Facts, TaskFacts, VariantFacts, frame_of
from ablate.core.feature import derived
from ablate.core.metric import FRESH, Metric, Sampling
from ablate.records.environment import command_line, versions
from ablate.report.words import say
from ablate.study.claims import Claimable, parse_claim
from ablate.study.designs import Design, OneFactor, Variant

KEY = ["variant", "task", "seed"]
FAILED = ("failed", "killed", "pruned", "running", "scheduled")
RULES = {
    "seed": "must be a whole number",
    **dict.fromkeys(("variant", "task", "example"), "must not be empty"),
}
NUMBER = "must be a number, nan of a run that diverged, or empty of one that failed"


def checked(rows: pd.DataFrame, metrics: Mapping[str, Metric]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The runs, a row each, and their examples, both as in `Evidence`; `rows` are as `read` gives them."""
    said = rows.astype(str).where(rows.notna(), "").apply(lambda column: column.str.strip())
    rows = said.assign(**said[["seed", *metrics]].apply(pd.to_numeric, errors="coerce"))
    wrong = said[["variant", "task", "example"]] == ""
    wrong["seed"] = rows["seed"] % 1 != 0
    for name in metrics:
        wrong[name] = rows[name].isna() & ~said[name].str.lower().isin(["", "nan", "-nan"])
    with Gather() as at:
        for name in wrong:
            for place, given in said.loc[wrong[name], name].head(8).items():
                at.problems.append(Problem(RULES.get(name, NUMBER), given=given, source=f"{place}: {name}"))
    first, status = next(iter(metrics)), said["status"].str.lower()
    states = [status == "diverged", (said[first] == "") | status.isin(FAILED), ~np.isfinite(rows[first])]
    rows = rows.assign(seed=rows["seed"].astype(int), status=np.select(states, [1, 2, 1]))
    twice = rows[rows.duplicated([*KEY, "example"], keep=False)].sort_values([*KEY, "example"], kind="stable")
    runs = rows.drop_duplicates(KEY).groupby("task").size()
    lacking = rows.groupby(["task", "example"]).size().div(runs, level="task").loc[lambda share: share < 1]
    with Gather() as at:
        rule = f"{' and '.join(twice.index[:2])} must not have the same variant, task, seed and example"
        at.refuse(len(twice), "", rule, twice[[*KEY, "example"]].head(1).to_dict("records"))
        rule, given = (
            "every run of a task must have the same examples",
            f"not in all: {listed(lacking.index, 3)}",
        )
        at.refuse(len(lacking), "RUNS", rule, given, hint="Leave out examples that some runs lack")
    if "source" in rows:
        rows = _by_source(rows, [*metrics])
    grouped = rows.sort_values("example", kind="stable").groupby(KEY, sort=False)
    trials = grouped.agg({"id": "first", "status": "max", **dict.fromkeys(metrics, "mean")}).reset_index()
    trials = trials.assign(
        status=trials["status"].map({0: "completed", 1: "diverged", 2: "failed"}), reason=""
    )
    # One that is the same on all examples is of the run.
    varying = [name for name in metrics if grouped[name].nunique().max() > 1]
    if not varying:
        return trials, frame_of((), EXAMPLES)
    examples = grouped[varying].agg(list).assign(id=[*trials["id"]])
    return trials, examples.melt("id", var_name="metric", value_name="values")


def _by_source(rows: pd.DataFrame, metrics: list[str]) -> pd.DataFrame:
    """With a source in place of the examples that share it.

    With the C sums S_c of m values of a run, and m_c of them of a source, u_c = x̄ + C/m·(S_c − m_c·x̄) has the mean x̄,
    and of differences the standard error that is robust to clusters, s_u/√C with C − 1 degrees of freedom (Liang and
    Zeger 1986, Biometrika 73, 13–22).
    """
    rows = rows.assign(source=rows.groupby(["task", "example"])["source"].transform("first"))
    runs, of_source = rows.groupby(KEY), rows.groupby([*KEY, "source"])["source"].transform("size")
    share = runs["source"].transform("nunique") / runs["source"].transform("size") * of_source
    means = runs[metrics].transform("mean")
    rows = rows.assign(example=rows["source"], **means + (rows[metrics] - means).mul(share, axis=0))
    columns = {"id": "first", "status": "max", **dict.fromkeys(metrics, "mean")}
    return rows.groupby([*KEY, "example"], sort=False).agg(columns).reset_index()


def _alike(trials: pd.DataFrame, examples: pd.DataFrame, metrics: Mapping[str, Metric]) -> Iterator[str]:
    """Groups of runs that have the same numbers, to ten digits, as copies and a seed that ran twice have.

    Named where chance is no reason: by their range and smallest step, less than one table in twenty would have a pair
    alike. Runs by example have the same examples.
    """
    for _, found in trials[trials["status"] == "completed"].groupby("task"):
        values, least = found[[*metrics]], [metric.resolution for metric in metrics.values()]
        if len(examples):
            kept = examples.drop_duplicates("id").set_index("id").loc[found["id"], "values"]
            values, least = pd.DataFrame([*kept], found.index), [0.0]
        decimals = values.map(lambda value: len(repr(float(value)).partition(".")[2])).max()
        step = np.maximum(np.maximum(10.0**-decimals, 1e-10 * values.abs().max()), least)
        cells = ((values.max() - values.min()) / step).clip(lower=1.0)
        if np.log(cells).sum() > np.log(10 * len(found) ** 2):
            names = found["variant"] + " seed " + found["seed"].astype(str)
            groups = names.groupby([*(values / step).round().to_numpy().T]).agg(list)
            yield from (listed(group, 6) for group in groups if len(group) > 1)


def evidence_of(
    rows: pd.DataFrame, metrics: Mapping[str, Metric], asked: Mapping[str, Any], name: str
) -> Evidence:
    """Evidence with the facts of the report `name`; `rows` are as `read` gives them, `asked` the options."""
    (trials, examples), baseline, metric = checked(rows, metrics), asked["baseline"], next(iter(metrics))
    names, counts = [*dict.fromkeys(trials["variant"])], trials.groupby(KEY[:2], sort=False).size()
    given = "known_noise" if asked["known_noise"] else "runs" if counts.max() > 1 else "documents"
    with Gather() as at:
        hint = nearest(baseline, names)
        at.refuse(baseline not in names, "--baseline", "is no variant", baseline, listed(names), hint)
        rule = "is a name that reports give to what variants are compared with: rename the variant"
        at.refuse(BASELINE in names and baseline != BASELINE, "RUNS", rule, BASELINE)
        at.refuse(len(names) == 1, "RUNS", "must have another variant than the baseline", names[0])
        rule = "must have several runs of each variant: one shows no difference"
        hint = "Run more seeds, give --known-noise FILE, or a row an example"
        at.refuse(given == "documents" and examples.empty, "RUNS", rule, hint=hint)
    # Each run with that of the baseline under its seed.
    both = trials.merge(trials[trials["variant"] == baseline], on=KEY[1:], suffixes=("", " of the baseline"))
    pairs = both.groupby(KEY[:2])[[metric, f"{metric} of the baseline"]]
    r = pairs.corr(min_periods=3).xs(metric, level=-1).iloc[:, -1]
    compared = pd.DataFrame({"runs": counts, "pairs": pairs.size(), "r": r}).loc[counts.index].reset_index()
    compared = compared[compared["variant"] != baseline]
    with Gather() as at:
        rule = "must share seeds with the baseline where runs are by example, or all or nothing"
        together = given == "runs" and (len(examples) or asked["all_or_nothing"] is not None)
        apart = compared.loc[~(compared["pairs"] > 1), "variant"]
        at.refuse(together and len(apart), "RUNS", rule, listed(apart))
    # Reports know the baseline by that name.
    shown = {baseline: BASELINE, **{of: of for of in names if of != baseline}}
    tasks, seeds = [*dict.fromkeys(trials["task"])], trials.groupby(KEY[:2])["seed"].agg(list)
    facts = Facts(
        *(name, say("analyse.question", baseline, metric), "", metric, metric, "last", asked["margin"]),
        design="runs that exist",
        seeds=sorted({*trials["seed"].tolist()}),
        tasks=[
            TaskFacts(
                task,
                dict(metrics),
                "graded" if asked["all_or_nothing"] is None else "all_or_nothing",
                Sampling("held_out") if len(examples) else FRESH,
            )
            for task in tasks
        ],
        variants=[VariantFacts(each, {}, {}) for each in shown.values()],
        factors={},
        claims=[*_claims(asked, [*shown.values()], metrics)],
        environment={"command": command_line(sys.argv), "versions": versions()},
        cautions=[
            *(say("analyse.alike", group) for group in _alike(trials, examples, metrics)),
            *(
                say("analyse.compared", baseline, row, len(tasks) > 1)
                for row in compared.to_dict("records")
                if given == "runs"
            ),
        ],
        labels={} if baseline == BASELINE else {BASELINE: baseline},
        reported=now(),
        given=given,
        own_seeds={new: {task: seeds.get((old, task), []) for task in tasks} for old, new in shown.items()},
    )
    trials = trials.assign(variant=trials["variant"].map(shown))
    return Evidence(facts, trials, frame_of((), ("id", "step", "metric", "value")), examples)


def _claims(asked: Mapping[str, Any], names: list[str], metrics: Mapping[str, Metric]) -> Iterator[Claim]:
    """All count in the family."""
    changes = [{"variant": name} for name in names]
    variants = [Variant(name, [of], of) for name, of in zip(names, changes, strict=True)]
    design = Design([replace(variants[0], patches={}), *variants[1:]], {}, ["variant"], OneFactor())
    told = {name: of.metric for name, of in derived().items() if not of.lacks(Offer(metrics))}
    with Gather() as at:
        for text in asked["claim"]:
            with at("--claim"):
                own = re.sub(rf"(?<!\S){re.escape(asked['baseline'])}(?!\S)", BASELINE, text)
                yield replace(parse_claim(own, design, Claimable({**metrics, **told})), declared=now())
