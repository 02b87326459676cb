"""Two commits on the same seeds, interleaved, until a look of METHODS §5 decides whether one is worse."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ablate.analysis.chances import weights
from ablate.analysis.grid import grid_step
from ablate.analysis.judge import judge, row
from ablate.analysis.paired import Differences
from ablate.analysis.power import ALPHA
from ablate.commits.bench import Bench, opened
from ablate.commits.earlier import earlier_answers, keep_answer
from ablate.commits.lines import Call
from ablate.commits.repeated import distinct_seeds, not_counted, note_on_repeats
from ablate.commits.treatment import changed_measures, failed_before, measured_otherwise, slower, time_ratio
from ablate.core.spelling import spelled
from ablate.report.tables.verdicts import difference_of
from ablate.report.words import level_word, significant

EXIT_CODES = {"worse": 1, "inconclusive": 3}
"""Verdict → exit code; that of any other is 0."""
REMEDY = "Restore the file, or remove it: what it keeps is then run again"
SAME = "both commits have the same files: each seed was run once, for both"


def compare(
    call: Call,
    path: Path,
    names: Sequence[str],
    looks: Sequence[int],
    margin: float,
    measures: Sequence[str] = (),
    *,
    jobs: int = 1,
    base_command: Sequence[str] = (),
) -> tuple[dict[str, Any], str]:
    """Runs two commits until a look decides the verdict, and returns it as data and text.

    Raises `NotMeasured`.

    `path` keeps the runs; at each of `looks`, a number of seeds, they are judged until the verdict is decided. Beside
    the words of a row (`analysis.judge`), a verdict is `not worse` where no more is shown than that it does not lose by
    the `margin`. Commits of the same files are `equivalent`, as their difference is known to be 0. `measures` are
    patterns of the files that measure a commit, and `jobs` the most runs at once. With a `base_command` both names are
    one commit, at which this command runs as the base.
    """
    levels = [ALPHA * weight for weight in weights(len(looks))]
    with opened(call, path, names, REMEDY, jobs=jobs, base_command=base_command) as bench:
        changed = changed_measures(bench, measures)
        look = _deciding_look(bench, looks, levels, margin)
        notes = _notes(bench, look, looks, margin, changed)
        if not _have_same_runs(bench):
            keep_answer(bench, looks, margin, look.verdict)
        ratio = time_ratio(bench)
    # A seed that repeats another shows nothing new, and nor would further ones.
    max_seeds = looks[-1] if len(look.distinct) == look.num_seeds else len(look.distinct)
    low, high = (0.0, 0.0) if _have_same_runs(bench) else look.differences.interval(look.alpha)
    data = {
        "base": bench.base.name,
        "head": bench.head.name,
        "metric": call.metric,
        "n": look.differences.n,
        "diff": look.differences.mean,
        "ci_low": low,
        "ci_high": high,
        "level": 1 - look.alpha,
        "mde": look.differences.mde(levels[-1], max_seeds),
        "margin": margin,
        "time_ratio": None if ratio is None else round(ratio, 3),
        "changed_measures": changed,
        "notes": notes,
        "verdict": look.verdict,
        "exit_code": EXIT_CODES.get(look.verdict, 0),
    }
    return data, _in_words(data, call, max_seeds, look.alpha)


@dataclass(frozen=True)
class _Look:
    """The runs of both commits at one look, judged."""

    runs: Mapping[str, Mapping[int, float]]
    """Commit → seed → the number of its run."""
    num_seeds: int
    distinct: Sequence[int]
    """The seeds that count: those whose runs repeat no earlier ones."""
    differences: Differences
    alpha: float
    """The level of the look."""
    verdict: str


def _deciding_look(bench: Bench, looks: Sequence[int], levels: Sequence[float], margin: float) -> _Look:
    """Runs both commits until a look decides the verdict, and returns it, or the last. Raises `NotMeasured`."""
    for num_seeds, alpha in zip(looks, levels, strict=True):
        look = _look_at(bench, num_seeds, alpha, margin)
        if look.verdict != "inconclusive":
            break
    return look


def _look_at(bench: Bench, num_seeds: int, alpha: float, margin: float) -> _Look:
    """Returns the look at a number of seeds, which are run where they are missing. Raises `NotMeasured`."""
    base, head = bench.values([bench.base, bench.head], range(num_seeds))
    base_runs = dict(enumerate(base))
    head_runs = dict(enumerate(head))
    is_same = _have_same_runs(bench)
    # Commits of the same files have no evidence to count.
    distinct = range(num_seeds) if is_same else distinct_seeds(base_runs, head_runs)
    pairs = np.array([head, base])[:, distinct]
    differences = Differences.between(pairs[0], pairs[1], grid_step(pairs))
    return _Look(
        runs={bench.base.name: base_runs, bench.head.name: head_runs},
        num_seeds=num_seeds,
        distinct=distinct,
        differences=differences,
        alpha=alpha,
        verdict="equivalent" if is_same else _verdict(differences, margin, alpha),
    )


def _have_same_runs(bench: Bench) -> bool:
    """Returns whether both commits have the same files and the same command, so that a run is one of both."""
    return bench.base.digest == bench.head.digest and not bench.base.command


def _notes(
    bench: Bench, look: _Look, looks: Sequence[int], margin: float, changed: Sequence[str]
) -> list[str]:
    """Returns what is to be known beside the verdict."""
    if _have_same_runs(bench):
        return [SAME]
    sentences = (
        not_counted(look.num_seeds, len(look.distinct)) or note_on_repeats(look.runs),
        earlier_answers(bench, looks, margin),
        measured_otherwise(changed),
        slower(bench),
        failed_before(bench),
    )
    return [sentence for sentence in sentences if sentence]


def _in_words(data: Mapping[str, Any], call: Call, max_seeds: int, alpha: float) -> str:
    """Returns a verdict as text."""
    better = "less" if call.direction == "min" else "more"
    lines = [
        f"{spelled(call.metric)} of {data['head']} against {data['base']}: {data['verdict']}",
        f"difference {difference_of(data, call.direction)} at {level_word(1 - alpha)} %, {better} is better; "
        f"{data['n']} seeds each",
        f"margin {data['margin']:g}; {max_seeds} seeds detect {significant(data['mde'])} with 80 % power",
        *data["notes"],
    ]
    return "\n  ".join(lines)


def _verdict(differences: Differences, margin: float, alpha: float) -> str:
    """Returns the verdict at one look."""
    verdict = row(differences, margin, alpha).verdict
    if verdict != "inconclusive":
        return verdict
    does_not_lose = judge(differences, "does_not_lose", margin, alpha)
    return "not worse" if does_not_lose.outcome == "supported" else verdict
