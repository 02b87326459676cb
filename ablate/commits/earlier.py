"""Earlier answers on the same two commits: with other seeds or another margin, each call is another chance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, ClassVar

from pydantic import ConfigDict, Field, TypeAdapter

from ablate.analysis.earlier_looks import error_rate_of_looks, looks_of
from ablate.base.errors import listed
from ablate.base.files import digest_of_data
from ablate.base.kept import FINITE, Journal
from ablate.commits.bench import RUNS, Bench
from ablate.report.words import significant


@dataclass(frozen=True)
class Earlier:
    """A line of the file of answers."""

    __pydantic_config__: ClassVar[ConfigDict] = FINITE

    answer: str
    """A digest of what was compared, and of how it was measured."""
    looks: Annotated[list[Annotated[int, Field(ge=2)]], Field(min_length=1)]
    margin: float
    verdict: str


_EARLIER = TypeAdapter(Earlier)


def earlier_answers(bench: Bench, looks: Sequence[int], margin: float) -> str:
    """Returns a sentence on earlier answers with other seeds or another margin; empty without any."""
    key = _key(bench)
    answers = [line for line in _kept(bench).lines if line.answer == key]
    others = [line for line in answers if (line.looks, line.margin) != ([*looks], margin)]
    if not others:
        return ""
    told = [f"{_seeds(line.looks)} and margin {line.margin:g}: {line.verdict}" for line in others]
    plans = dict.fromkeys([*(tuple(line.looks) for line in others), tuple(looks)])
    every_look = []
    for plan in plans:
        every_look += looks_of(range(plan[-1]), plan if len(plan) > 1 else ())
    sentence = f"these commits were compared before, by other rules: {listed(dict.fromkeys(told), 4)}"
    if len(plans) == 1:
        return f"{sentence}; the rule that was set before the first result is the one that counts"
    level = significant(error_rate_of_looks(every_look))
    return (
        f"{sentence}; believing whichever finds a difference is wrong with probability {level}, not 0.05, where there "
        "is none"
    )


def keep_answer(bench: Bench, looks: Sequence[int], margin: float, verdict: str) -> None:
    """Keeps an answer beside the runs on which it rests, once."""
    line = Earlier(_key(bench), [*looks], margin, verdict)
    kept = _kept(bench)
    if line not in kept.lines:
        kept.add(line)


def _kept(bench: Bench) -> Journal[Earlier]:
    """Returns the answers beside the runs. Raises `AblateError`."""
    return Journal(bench.path.with_suffix(".answers.jsonl"), _EARLIER, bench.journal.remedy)


def _seeds(looks: Sequence[int]) -> str:
    """Returns the numbers of seeds as the option has them."""
    return f"--seeds {looks[0]}" if len(looks) == 1 else f"--seeds {looks[0]}:{looks[-1]}"


def _key(bench: Bench) -> str:
    """Returns a digest of what is compared, and how it is measured."""
    sides = [[tree.digest, tree.inside] for tree in (bench.base, bench.head)]
    return digest_of_data([RUNS, asdict(bench.call), sides, bench.data_identity])
