"""The answer to a study's question: two or three sentences a task, in the reader's words.

In the past tense: what was found on these seeds, at these settings. Other seeds may find otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from ablate.analysis.learning import Learned, baseline_learned, noise
from ablate.base import wording
from ablate.core.facts import Facts, TaskFacts
from ablate.core.metric import Metric
from ablate.report.section import Material, applying
from ablate.report.tables import NOTHING, Row, difference, is_true, number, rows_of, text
from ablate.report.verdicts import Names, names_of, planned_rows, shown_as
from ablate.report.words import because, say, sentence

MATTERS = 0.25
"""The share of the variance over seeds from which on a larger test set is worth a word."""
VERBS = {"max": {"worse": "fell", "better": "rose"}, "min": {"worse": "worsened", "better": "improved"}}


def answers(material: Material) -> list[str]:
    """A paragraph a task, then what other sections answer: those of a search, of speed."""
    facts, placebos = material.facts, [v.name for v in material.facts.variants if v.placebo]
    every = planned_rows(material.comparisons)
    missed = {one.task: learned(one) for one in baseline_learned(material.evidence) if not one.ok}
    found = []
    for task in facts.tasks:
        if rows := [row for row in every if row["task"] == task.name]:
            said = list(_sentences([row for row in rows if row["variant"] not in placebos], task, facts))
            if task.name in missed:
                decided = any(row["verdict"] in ("better", "worse") for row in rows)
                said = [
                    say("answer.not_learned", missed[task.name]),
                    *(said if decided else [say("answer.leaves_open")]),
                ]
            if any(row["verdict"] in ("better", "worse") for row in rows if row["variant"] in placebos):
                said = [say("answer.placebo"), *said]
            on = f"{task.name}: " if len(facts.tasks) > 1 else ""
            found.append(on + " ".join(map(sentence, said)))
    for section in applying(material):
        if section.applies(material):
            found += section.answers(material)
    return found


def learned(found: Learned) -> str:
    """`reached accuracy .962 on digits (guessing: .10)`, or how many of its runs solved the task."""
    if found.solved is not None:
        least = wording.exact(found.metric.solved or 0.0)
        return say("answer.solved_by", found.task, *found.solved, found.name, found.metric.direction, least)
    # As exact as its spread lets it be told.
    mean = wording.number(found.mean, wording.decimals(found.spread))
    return say("answer.reached", found.name, mean, found.task, wording.exact(found.metric.floor or 0.0))


def _sentences(rows: Sequence[Row], task: TaskFacts, facts: Facts) -> Iterator[str]:
    """What differs, what is equivalent, and what is open."""
    names = names_of(facts)
    metric, known = facts.metric, task.metrics[facts.metric]
    rows = sorted(rows, key=lambda row: -abs(number(row["diff"]) or 0.0))
    decided = [row for row in rows if row["verdict"] in ("better", "worse")]
    by_rate = [row for row in decided if number(row["solved_variant"]) is not None]
    order = ("better", "worse") if facts.searched == "sweep" else ("worse", "better")
    effects = [
        (VERBS[known.direction][verdict], [_effect(row, known, names) for row in of])
        for verdict in order
        if (of := [row for row in decided if row["verdict"] == verdict and row not in by_rate])
    ]
    if effects:
        seeds = sorted({int(row["n"]) for row in rows if row["n"]})
        at = say("answer.at", facts.rate) if facts.rate else ""
        yield say(
            "answer.decided", metric, " to ".join({f"{n}": 0 for n in (seeds[0], seeds[-1])}), at, effects
        )
    if by_rate:
        solved = [say("answer.solving", int(row["solved_variant"]), names[row["variant"]]) for row in by_rate]
        first = by_rate[0]
        yield say("answer.solved", task.name, int(first["n"]), int(first["solved_baseline"]), solved)
    if equal := [names[row["variant"]] for row in rows if row["verdict"] == "equivalent"]:
        yield say("answer.equivalent", _amount(facts.margin or 0.0, known), equal)
    groups: dict[str, list[str]] = {}
    for row in rows:
        if row["verdict"] == "inconclusive":
            groups.setdefault(because(text(row["reason"]), short=True), []).append(names[row["variant"]])
    if groups:
        yield say("answer.inconclusive", list(groups.items()))


def _effect(row: Row, metric: Metric, names: Names) -> str:
    half = (row["ci_high"] - row["ci_low"]) / 2
    return say("answer.effect", _amount(abs(row["diff"]), metric, half), names[row["variant"]])


def _amount(value: float, metric: Metric, uncertainty: float | None = None) -> str:
    """`7 points` of a share such as an accuracy, `.11` of a loss: to the first digit that the uncertainty touches, or
    exactly where there is none.
    """
    share = metric.ceiling == 1 and metric.floor is not None and metric.floor >= 0
    scale = 100 if share else 1
    shown = (
        wording.exact(scale * value)
        if uncertainty is None
        else wording.number(scale * value, max(0, wording.decimals(scale * uncertainty) - 1))
    )
    return say("answer.points", shown) if share else shown


def noise_lines(material: Material) -> list[str]:
    """A line for each task: how far the baseline spreads over seeds, what is detectable, and its placebo."""
    if material.evidence.only_measured:
        return []
    rows = rows_of(noise(material.evidence, material.comparisons))
    return [_noise_line(row, len(rows)) for row in rows]


def _noise_line(row: Row, tasks: int) -> str:
    n, share, sd = int(row["n"]), number(row["test_share"]), number(row["sd"])
    sizes = [size for name in ("mde", "mde_low", "mde_high") if (size := number(row[name])) is not None]
    known = [shown_as(size, is_true(row["by_rate"]), n) if math.isfinite(size) else "" for size in sizes]
    return say(
        "noise.line",
        text(row["metric"]),
        text(row["task"]) if tasks > 1 else "",
        n,
        "" if sd is None else wording.significant(sd),
        share if share is not None and share >= MATTERS else None,
        int(number(row["diverged"]) or 0),
        known,
        difference(row["placebo_diff"], row["placebo_low"], row["placebo_high"]).removeprefix(NOTHING),
    )
