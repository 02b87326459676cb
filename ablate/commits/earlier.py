"""Earlier answers by the same runs: on these commits by other rules, and on other heads of the same base.

Each call is another chance. Of a run, only its tree, its seed and how it was measured matter, whatever was compared
with it: other words of the command measure each commit afresh.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Annotated, ClassVar

from pydantic import ConfigDict, Field, TypeAdapter

from ablate.analysis.earlier_looks import looks_of
from ablate.analysis.shared_runs import SharedComparison, error_rate_of_comparisons
from ablate.base.errors import listed
from ablate.base.files import digest_of_data
from ablate.base.kept import FINITE, Journal
from ablate.base.wording import counted
from ablate.commits.bench import RUNS, Bench
from ablate.commits.trees import Tree
from ablate.report.words import significant

_MOST_NAMED = 4


@dataclass(frozen=True)
class Earlier:
    """A line of the file of answers."""

    __pydantic_config__: ClassVar[ConfigDict] = FINITE

    answer: str
    """A digest of what was compared, and of how it was measured."""
    looks: Annotated[list[Annotated[int, Field(ge=2)]], Field(min_length=1)]
    margin: float
    verdict: str
    base: str = ""
    """The digest of the files of the base; empty in lines of older versions, as are the fields below."""
    head: str = ""
    metric: str = ""
    names: str = ""
    """The commits as the call named them: `new against main`."""
    measured: str = ""
    """The digest of the call and the data: another call measures each commit afresh."""
    base_measured: str = ""
    """The same of the base, where it has a command of its own."""

    def looks_in_turn(self) -> Iterator[SharedComparison]:
        """Yields the looks as comparisons of runs, each at its share of the nominal level."""
        for look in looks_of(range(self.looks[-1]), self.looks):
            of_base = self.base_measured or self.measured
            pairs = {((self.head, seed, self.measured), (self.base, seed, of_base)) for seed in look.seeds}
            yield SharedComparison(frozenset(pairs), look.alpha)


_EARLIER = TypeAdapter(Earlier)


def earlier_answers(bench: Bench, looks: Sequence[int], margin: float) -> str:
    """Returns a sentence on earlier answers by the same runs, and the level of all together; empty without any."""
    now = _line(bench, looks, margin, verdict="")
    others: list[Earlier] = []
    for line in _kept(bench).lines:
        if (line.answer, line.looks, line.margin) != (now.answer, now.looks, now.margin):
            others.append(line)
    # Those of an older version do not name their commits.
    same = [
        replace(now, looks=line.looks, margin=line.margin, verdict=line.verdict)
        for line in others
        if line.answer == now.answer
    ]
    sharing = [
        _with_call(line, now) for line in others if line.answer != now.answer and _is_of_commit(line, now)
    ]
    sentences = []
    if same:
        told = [f"{_seeds(line.looks)} and margin {line.margin:g}: {line.verdict}" for line in same]
        rules = listed(dict.fromkeys(told), _MOST_NAMED)
        sentences.append(f"these commits were compared before, by other rules: {rules}")
    if sharing:
        sentences.append(
            f"{counted(len({line.answer for line in sharing}), 'other comparison')} used runs of these commits before: "
            f"{listed(_told(sharing), _MOST_NAMED)}"
        )
    if not sentences:
        return ""
    if {tuple(line.looks) for line in same} <= {tuple(now.looks)} and not sharing:
        sentences.append("the rule that was set before the first result is the one that counts")
        return "; ".join(sentences)
    comparisons: list[SharedComparison] = []
    for line in [*same, *sharing, now]:
        comparisons += line.looks_in_turn()
    level = significant(error_rate_of_comparisons(comparisons))
    sentences.append(
        f"if nothing makes a difference, one of these is `better` or `worse` with probability {level}, where one alone "
        "has 0.05"
    )
    return "; ".join(sentences)


def keep_answer(bench: Bench, looks: Sequence[int], margin: float, verdict: str) -> None:
    """Keeps an answer beside the runs on which it rests, once."""
    line = _line(bench, looks, margin, verdict)
    kept = _kept(bench)
    told = {(other.answer, tuple(other.looks), other.margin, other.verdict) for other in kept.lines}
    if (line.answer, tuple(line.looks), line.margin, line.verdict) not in told:
        kept.add(line)


def _line(bench: Bench, looks: Sequence[int], margin: float, verdict: str) -> Earlier:
    """Returns the line of an answer."""
    return Earlier(
        answer=_key(bench),
        looks=[*looks],
        margin=margin,
        verdict=verdict,
        base=bench.base.digest,
        head=bench.head.digest,
        metric=bench.call.metric,
        names=f"{bench.head.name} against {bench.base.name}",
        measured=_measured(bench, bench.head),
        base_measured=_measured(bench, bench.base) if bench.base.command else "",
    )


def _measured(bench: Bench, tree: Tree) -> str:
    """Returns a digest of the call and the data by which a commit is measured."""
    return digest_of_data([RUNS, asdict(bench.call_of(tree)), tree.inside, bench.data_identity])


def _is_of_commit(line: Earlier, other: Earlier) -> bool:
    """Returns whether two answers rest on runs of one commit; those of older versions do not say."""
    return bool({line.base, line.head} & {other.base, other.head})


def _with_call(line: Earlier, now: Earlier) -> Earlier:
    """Returns a line with what measured it: of an older version the call of `now`, or another of the same metric."""
    if line.measured:
        return line
    return replace(line, measured=now.measured if line.metric == now.metric else line.metric)


def _told(lines: Sequence[Earlier]) -> Iterator[str]:
    """Yields `new against main: better, worse (3 times)` of comparisons, each of which may have several verdicts."""
    names: dict[str, str] = {}
    verdicts: dict[str, list[str]] = {}
    for line in lines:
        names.setdefault(line.answer, line.names)
        verdicts.setdefault(line.answer, []).append(line.verdict)
    comparisons = Counter(
        f"{name}: {', '.join(dict.fromkeys(verdicts[answer]))}" for answer, name in names.items()
    )
    for comparison, count in comparisons.items():
        yield f"{comparison} ({count} times)" if count > 1 else comparison


def _kept(bench: Bench) -> Journal[Earlier]:
    """Returns the answers beside the runs. Raises `AblateError`."""
    return Journal(bench.path.with_suffix(".answers.jsonl"), _EARLIER, bench.journal.remedy)


def _seeds(looks: Sequence[int]) -> str:
    """Returns the numbers of seeds as the option has them."""
    return f"--seeds {looks[0]}" if len(looks) == 1 else f"--seeds {looks[0]}:{looks[-1]}"


def _key(bench: Bench) -> str:
    """Returns a digest of what is compared, and how it is measured."""
    sides = [[tree.digest, tree.inside, *tree.command] for tree in (bench.base, bench.head)]
    return digest_of_data([RUNS, asdict(bench.call), sides, bench.data_identity])
