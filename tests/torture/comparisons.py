"""`ablate compare`: hostile commits, options and kept runs; killed, and twice at once.

The values of both commits are known, so that the interval is computed here once more, by scipy.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from .case import Place
from .intervals import close, paired
from .process import Done
from .repositories import DOUBTFUL, FATAL, HARMLESS, Repository, act_of, mark_of, normals
from .signals import CODES, struck
from .values import BAD_NUMBERS, edited_line

VERDICTS = {"better": 0, "equivalent": 0, "not worse": 0, "worse": 1, "inconclusive": 3}
FREE = ("time_ratio", "notes", "exit_code")
"""What may differ between two calls on the same runs."""
SLOWEST = 15
"""Seconds of a call whose runs take none, on an idle machine."""
HOSTILE = (
    *(("--margin", number) for number in BAD_NUMBERS),
    *(
        ("--seeds", text)
        for text in ("0", "-1", "1", "1e3", "2:1", "a:b", "5:", ":5", "nan", "3:" + "9" * 400)
    ),
    *(
        ("--read", text)
        for text in ("loss=(", "loss=(a)(b)", "loss=.", "", "=", "loss", "loss=(a+)+$", "\x07=(.)")
    ),
    *(
        ("--link", text)
        for text in ("../repository", ".", "..", "/", "values.txt", "gone", "/dev/zero", ".git")
    ),
    *(("--link", text) for text in ("data/../data", "fifo", "self")),
    *(("--results", text) for text in ("values.txt", "device", "fifo", "self")),
    *(("--direction", text) for text in ("up", "")),
    *(("--measures", text) for text in ("[", "**", "/", "", "x" * 5000)),
    *(("--json", "--json"), ("--nonsense", "1")),
)
COMMITS = (
    *(
        "HEAD^{tree}",
        "HEAD:values.txt",
        "nothing",
        "-x",
        "--all",
        "",
        "HEAD~9",
        "@{u}",
        "base..head",
        "\u202ebase",
    ),
    *(":/base", "HEAD^2", "main@{0}", "refs/heads/head", "a b", "--output=values.txt"),
)
"""Names of commits, most of which are none."""
COMMANDS = (
    *(
        ["sh", "train.sh", "{lr}"],
        ["sh", "train.sh", "{seed:999999999}"],
        ["gone", "{seed}"],
        ["."],
        ["sh", "{"],
    ),
    *(["sh", "train.sh"], [""], ["sh", "-c", "echo loss 1"], ["sh", "train.sh", "{seed!r:>{seed}}"]),
    *(["sh", "train.sh", "{seed.real}"], ["sh", "train.sh", "{0}"], ["train.sh", "{seed}"], ["/", "{seed}"]),
)
"""Commands with which nothing can be measured, or with one number for all seeds."""


@dataclass(frozen=True)
class Plan:
    """A call of `compare`."""

    seeds: str
    margin: float
    direction: str

    def words(self, results: str) -> list[str]:
        """The words of the call before its command."""
        return [
            *(
                "compare",
                "base",
                "head",
                "--json",
                "--read",
                r"loss=^loss (\S+)$",
                "--direction",
                self.direction,
            ),
            *("--margin", repr(self.margin), "--seeds", self.seeds, "--results", results),
        ]

    @property
    def command(self) -> list[str]:
        """The command that both commits run."""
        return ["--", "sh", "train.sh", "{seed}"]


def comparisons(rng: Random, place: Place) -> str:
    """Two commits: compared undisturbed, then in one of several ways."""
    repository = Repository(place, mark_of(rng))
    plan = Plan(
        rng.choice(("2", "3", "5", "2:4", "3:6", "2:6")),
        rng.choice((0.01, 0.1, 1.0)),
        rng.choice(("max", "min")),
    )
    count = int(plan.seeds.rpartition(":")[2])
    spread = 10 ** rng.uniform(-3, 1)
    base = normals(rng, count, rng.choice((0, 1, 100)), spread)
    head = normals(rng, count, float(base[0]) + rng.choice((0, 0, 1, -1, 5)) * spread, spread)
    if rng.random() < 0.1:
        head = base
    way = rng.choice(
        ("harmless", "harmless", "fatal", "doubtful", "killed", "killed", "twice", "edited", "hostile")
    )
    seed = rng.choice((None, rng.randrange(2)))
    name, act = act_of(rng, {"fatal": FATAL, "doubtful": DOUBTFUL}.get(way, HARMLESS))
    if way in ("killed", "twice", "edited", "hostile") and rng.random() < 0.5:
        name, act = "nothing", ""
    repository.commit("base", base)
    repository.commit("head", head, act, seed)
    if rng.random() < 0.3:
        (repository.path / "untracked.txt").write_text("mine")
    place.counts[way] += 1
    before = len(place.violations)
    outcome = WAYS[way](rng, repository, plan, (base, head))
    place.violations[before:] = [f"{text} [{way}: {name}]" for text in place.violations[before:]]
    return outcome


Values = tuple[list[str], list[str]]


def _undisturbed(
    repository: Repository, plan: Plan, values: Values, results: str = "results"
) -> dict[str, Any]:
    """The answer of a call to which nothing happens, held to the numbers of its runs."""
    state = repository.state()
    done = _called(repository, plan, results)
    repository.look(state, "after a call")
    found = answer(done)
    if found is None:
        repository.place.violation(f"no verdict: [{done.code}] {done.output[-400:]!r}")
        return {}
    check(repository.place, found, done, plan, values)
    return found


def _called(repository: Repository, plan: Plan, results: str) -> Done:
    started = repository.start(*plan.words(results), *plan.command)
    return repository.place.hold_quick(started, SLOWEST, codes=(0, 1, 2, 3, 4))


def answer(done: Done) -> dict[str, Any] | None:
    """The JSON object that a call has printed; nothing where there is none."""
    for line in reversed(done.output.splitlines()):
        if line.startswith("{"):
            try:
                found: dict[str, Any] = json.loads(line)
            except ValueError:
                continue
            return found if "verdict" in found else None
    return None


def check(place: Place, found: dict[str, Any], done: Done, plan: Plan, values: Values) -> None:
    """Holds an answer to the exit code of its verdict, and to an interval that scipy gives."""
    if done.code != VERDICTS.get(found["verdict"]):
        place.violation(f"the verdict {found['verdict']!r} ends with {done.code}")
    sign = 1 if plan.direction == "max" else -1
    base, head = ([sign * float(text) for text in side[: found["n"]]] for side in values)
    expected = paired(base, head, found["level"])
    given = (found["diff"], found["ci_low"], found["ci_high"])
    if not close(given, expected):
        place.violation(f"difference and interval are {given}, by scipy {expected}")
    if found["verdict"] in ("better", "worse") and (expected[1] < 0 < expected[2]):
        place.violation(f"{found['verdict']} although the interval {expected} holds 0")


def _same(repository: Repository, found: dict[str, Any] | None, expected: dict[str, Any], when: str) -> None:
    """Notes an answer that is not that of an undisturbed call."""
    if found is None:
        repository.place.violation(f"{when}: no verdict")
        return
    other = [name for name in expected if name not in FREE and found.get(name) != expected[name]]
    if other:
        repository.place.violation(
            f"{when}: {[(name, found.get(name), expected[name]) for name in other]} differ from the undisturbed call"
        )


def _finished_once(repository: Repository, when: str, lost: int) -> None:
    """Notes runs that began again although they had finished: at most `lost` were cut short."""
    begun, ended = repository.counted("begin"), repository.counted("end")
    again = {run: count for run, count in ended.items() if count > 1}
    if sum(count - 1 for count in again.values()) > lost or sum(begun.values()) - len(begun) > lost:
        repository.place.violation(f"{when}: runs were made again: begun {dict(begun)}, ended {dict(ended)}")


def _harmless(rng: Random, repository: Repository, plan: Plan, values: Values) -> str:
    """The verdict is that of the numbers, and the same call again runs nothing."""
    found = _undisturbed(repository, plan, values)
    done = _called(repository, plan, "results")
    _same(repository, answer(done), found, "called again")
    _finished_once(repository, "called again", 0)
    return "accepted"


def _fatal(rng: Random, repository: Repository, plan: Plan, values: Values) -> str:
    """Nothing is measured, and it says so."""
    state = repository.state()
    done = _called(repository, plan, "results")
    repository.look(state, "after a run that failed")
    if done.code != 4:
        repository.place.violation(
            f"ended with {done.code} although a run has no number: {done.output[-300:]!r}"
        )
    return "refused"


def _doubtful(rng: Random, repository: Repository, plan: Plan, values: Values) -> str:
    """It measures the number that was printed, or nothing."""
    state = repository.state()
    done = _called(repository, plan, "results")
    repository.look(state, "after a doubtful run")
    found = answer(done)
    if found is not None:
        check(repository.place, found, done, plan, values)
        return "accepted"
    if done.code != 4:
        repository.place.violation(f"ended with {done.code} and without a verdict: {done.output[-300:]!r}")
    return "refused"


def _killed(rng: Random, repository: Repository, plan: Plan, values: Values) -> str:
    """Killed once or twice, and called again; undisturbed, with other results, it says the same."""
    state = repository.state()
    lost = 0
    for _ in range(rng.choice((1, 2))):
        started = repository.start(*plan.words("results"), *plan.command, pace=0.05, cold=rng.random() < 0.1)
        number, done = struck(rng, started, 3)
        if done is not None:
            repository.place.hold(done, codes=(0, 1, 3))
            continue
        done = started.wait(20)
        repository.place.counts["kills"] += 1
        lost += 1
        repository.place.hold_struck(done, (*CODES[number], 0, 1, 3))
        repository.look_for_survivors(f"after {number.name}")
    again = _called(repository, plan, "results")
    repository.look(state, "called again")
    _finished_once(repository, "after kills", lost)
    expected = _undisturbed(repository, plan, values, "other")
    _same(repository, answer(again), expected, "after kills")
    return "recovered"


def _twice(rng: Random, repository: Repository, plan: Plan, values: Values) -> str:
    """Two calls at once: each run is made once, and both say the same."""
    state = repository.state()
    both = [repository.start(*plan.words("results"), *plan.command, pace=0.02) for _ in range(2)]
    ends = [repository.place.hold_quick(started, 2 * SLOWEST, codes=(0, 1, 3)) for started in both]
    repository.look(state, "after two calls")
    _finished_once(repository, "two calls at once", 0)
    found = answer(ends[0])
    if found is not None:
        check(repository.place, found, ends[0], plan, values)
    _same(repository, answer(ends[1]), found or {}, "two calls at once")
    return "accepted"


def _edited(rng: Random, repository: Repository, plan: Plan, values: Values) -> str:
    """A kept run or answer is edited: refused, or the verdict is that of the true numbers."""
    expected = _undisturbed(repository, plan, values)
    store = repository.path / "results" / "store"
    path = store / rng.choice(("compare.jsonl", "compare.jsonl", "compare.answers.jsonl"))
    if not path.is_file():
        repository.place.violation(f"{path.name} is missing after a call")
        return "refused"
    what = edited_line(rng, path)
    repository.place.heard.append(f"edited: {what}")
    done = _called(repository, plan, "results")
    if done.code == 2:
        return "refused"
    _same(repository, answer(done), expected, f"{path.name} was edited ({what})")
    return "accepted"


def called_in_vain(repository: Repository, words: Sequence[str], command: Sequence[str], state: str) -> Done:
    """The end of a call that cannot be, which changes nothing of the `state` of the repository, nor its oddities."""
    started = repository.start(*words, *command)
    done = repository.place.hold_quick(started, SLOWEST, codes=(0, 1, 2, 3, 4))
    repository.look(state, "after a hostile call")
    repository.look_at_oddities()
    return done


def _hostile(rng: Random, repository: Repository, plan: Plan, values: Values) -> str:
    """Options, commits or a command that cannot be: refused, and nothing is changed."""
    repository.add_oddities()
    state = repository.state()
    words, command = plan.words("results"), plan.command
    what = rng.choice(("option", "option", "option", "commit", "command"))
    if what == "option":
        words += [*rng.choice(HOSTILE)]
    elif what == "commit":
        words[rng.choice((1, 2))] = rng.choice(COMMITS)
    else:
        command = ["--", *rng.choice(COMMANDS)]
    done = called_in_vain(repository, words, command, state)
    found = answer(done)
    if found is None:
        return "refused"
    if found["margin"] is None or found["margin"] <= 0:
        repository.place.violation(f"a margin of {found['margin']} is taken")
    if what == "option" and "--read" not in words[-2:]:
        check(repository.place, found, done, plan, values)
    return "accepted"


WAYS = {
    "harmless": _harmless,
    "fatal": _fatal,
    "doubtful": _doubtful,
    "killed": _killed,
    "twice": _twice,
    "edited": _edited,
    "hostile": _hostile,
}
