"""Runs that exist as the evidence of a study, from which judge and report go on as from any other; the evidence card.

What is wrong raises `AblateError`.
"""

import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from ablate.base.errors import Gather, listed, nearest
from ablate.base.files import write_text
from ablate.base.locks import Say
from ablate.base.process import now
from ablate.core import names
from ablate.core.derived import DERIVED, StudyContext
from ablate.core.facts import BASELINE, Claim, Evidence, StudyFacts, TaskFacts, VariantFacts, frame_of
from ablate.core.metric import FRESH, Metric, Sampling
from ablate.pipeline.publish import publish
from ablate.records.environment import command_line, versions
from ablate.records.folder import StudyFolder
from ablate.report.page import markdown, markdown_table
from ablate.report.terminal import summary
from ablate.report.words import message
from ablate.runs.clusters import source_limitations
from ablate.runs.reading import KEY, checked
from ablate.study.claims import Claimable, parse_claim
from ablate.study.design_kinds import OneFactor
from ablate.study.designs import Design, Variant


def metrics_of(asked: Mapping[str, Any]) -> dict[str, Metric]:
    """What the options declare: the metric that is judged, and those that claims may use."""
    name, bounds = asked["metric"], [asked[of] for of in ("resolution", "floor", "ceiling", "all_or_nothing")]
    with Gather() as at:
        at.refuse(name in dict(asked["also"]), "--also", "must name another metric than --metric", name)
        at.refuse(
            bounds[-1] is not None and None in bounds, "--all-or-nothing", "takes --floor and --ceiling"
        )
    return {name: Metric(asked["direction"], *bounds), **{of: Metric(way) for of, way in asked["also"]}}


def judge(folder: StudyFolder, rows: pd.DataFrame, asked: Mapping[str, Any], warn: Say) -> None:
    """Writes the report of runs, and `card.md`: the verdicts with what they rest on, to paste."""
    with Gather() as at:
        at.refuse(
            not re.fullmatch(names.OWN, folder.name)
            or folder.name in names.RESERVED
            or (folder.path.exists() and not (folder.has_report and folder.facts().given)),
            "--name",
            "must be the name of a new report, or of one of runs that exist",
            folder.name,
            "letters, digits, `.`, `_`, `-`",
        )
    evidence = evidence_of(rows, metrics_of(asked), asked, folder.name)
    folder.save_evidence(evidence)
    folder.write_claims([])  # Those of an earlier call are none of this one.
    publish(folder, warn)
    facts = evidence.facts
    card = [
        *(f"### {markdown(facts.question)}", *map(markdown, folder.answer())),
        *(f"{markdown_table(table)}\n\n{markdown(table.caption)}." for table in summary(folder)),
        *(f"- {markdown(caution)}" for caution in facts.cautions),
        f"<sub>`{facts.environment['command']}`, {facts.reported[:10]}</sub>\n",
    ]
    write_text(folder.path / "card.md", "\n\n".join(card))


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
            labels = found["variant"] + " seed " + found["seed"].astype(str)
            groups = labels.groupby([*(values / step).round().to_numpy().T]).agg(list)
            yield from (listed(group, 6) for group in groups if len(group) > 1)


def evidence_of(
    rows: pd.DataFrame, metrics: Mapping[str, Metric], asked: Mapping[str, Any], name: str
) -> Evidence:
    """Builds the evidence of a report from a table of runs, as `read` gives it, and the options `asked`."""
    (trials, examples), baseline, metric = checked(rows, metrics), asked["baseline"], next(iter(metrics))
    found, counts = [*dict.fromkeys(trials["variant"])], trials.groupby(KEY[:2], sort=False).size()
    given = "known_noise" if asked["known_noise"] else "runs" if counts.max() > 1 else "documents"
    graded, fresh = asked["all_or_nothing"] is None, examples.empty
    with Gather() as at:
        at.refuse(
            baseline not in found,
            "--baseline",
            "is no variant",
            baseline,
            listed(found),
            nearest(baseline, found),
        )
        at.refuse(
            BASELINE in found and baseline != BASELINE,
            "RUNS",
            "is a name that reports give to what variants are compared with: rename the variant",
            BASELINE,
        )
        at.refuse(len(found) == 1, "RUNS", "must have another variant than the baseline", found[0])
        at.refuse(
            given == "documents" and fresh,
            "RUNS",
            "must have several runs of each variant: one shows no difference",
            hint="Run more seeds, give --known-noise FILE, or a row an example",
        )
    # Each run with that of the baseline under its seed.
    both = trials.merge(trials[trials["variant"] == baseline], on=KEY[1:], suffixes=("", " of the baseline"))
    pairs = both.groupby(KEY[:2])[[metric, f"{metric} of the baseline"]]
    r = pairs.corr(min_periods=3).xs(metric, level=-1).iloc[:, -1]
    compared = pd.DataFrame({"runs": counts, "pairs": pairs.size(), "r": r}).loc[counts.index].reset_index()
    # Reports know the baseline by that name.
    shown = {baseline: BASELINE, **{of: of for of in found if of != baseline}}
    tasks, seeds = [*dict.fromkeys(trials["task"])], trials.groupby(KEY[:2])["seed"].agg(list)
    facts = StudyFacts(
        *(name, message("analyse.question", baseline, metric), "", metric, metric, "given", asked["margin"]),
        design="runs that exist",
        seeds=sorted({*trials["seed"].tolist()}),
        tasks=[
            TaskFacts(
                task,
                dict(metrics),
                "graded" if graded else "all_or_nothing",
                FRESH if fresh else Sampling("held_out"),
            )
            for task in tasks
        ],
        variants=[VariantFacts(each, {}, {}) for each in shown.values()],
        factors={},
        claims=[*_claims(asked, [*shown.values()], metrics)],
        environment={"command": command_line(sys.argv), "versions": versions()},
        cautions=[
            *source_limitations(trials, examples),
            *(message("analyse.alike", group) for group in _alike(trials, examples, metrics)),
            *(
                message("analyse.compared", baseline, row, several=len(tasks) > 1, apart=graded and fresh)
                for row in compared.to_dict("records")
                if given == "runs" and row["variant"] != baseline
            ),
        ],
        labels={} if baseline == BASELINE else {BASELINE: baseline},
        reported=now(),
        given=given,
        own_seeds={new: {task: seeds.get((old, task), []) for task in tasks} for old, new in shown.items()},
    )
    trials = trials.assign(variant=trials["variant"].map(shown))
    return Evidence(facts, trials, frame_of((), ("id", "step", "metric", "value")), examples)


def _claims(asked: Mapping[str, Any], variants: list[str], metrics: Mapping[str, Metric]) -> Iterator[Claim]:
    """All count in the family."""
    every = [Variant(of, [{"variant": of}], {"variant": of} if i else {}) for i, of in enumerate(variants)]
    design = Design(every, {}, ["variant"], OneFactor())
    context = StudyContext(metrics)
    told = {name: derived.metric for name, derived in DERIVED.items() if not derived.lacks(context)}
    with Gather() as at:
        for text in asked["claim"]:
            with at("--claim"):
                own = re.sub(rf"(?<!\S){re.escape(asked['baseline'])}(?!\S)(?=.* on )", BASELINE, text)
                yield replace(parse_claim(own, design, Claimable({**metrics, **told})), declared=now())
