"""`ablate gate`: a stream of tries whose runs, ledger or options are hostile; killed, and twice at once.

The same stream is asked undisturbed, with a ledger of its own: the answers must be the same.
"""

import json
import math
from random import Random
from typing import Any

from .case import Place
from .comparisons import COMMANDS, COMMITS, FREE, HOSTILE, SLOWEST, answer, called_in_vain
from .process import Done
from .repositories import DOUBTFUL, FATAL, HARMLESS, Repository, act_of, mark_of, normals
from .signals import CODES, struck
from .values import edited_line

EXIT_CODES = {"keep": 0, "discard": 1, "retest": 3}
TOTAL = 0.04
ZETA = 2.2857656
NUM_SEEDS = 80
LEDGERS = (
    "device",
    "/",
    "fifo",
    "self",
    "data",
    "gone/tries.jsonl",
    "values.txt",
    "train.sh",
    ".git/config",
    "",
)
"""Paths at which no ledger can be, or which hold something else."""
OPTIONS = tuple(words for words in HOSTILE if words[0] in ("--read", "--link", "--direction", "--measures"))


def alpha(budget: float, place: int) -> float:
    """The α of a confirmation since the last keep, counted from 1, by the formula of the guide."""
    return budget * place**-1.6 / ZETA


def streams(rng: Random, place: Place) -> str:
    """A base and one to three tries, asked undisturbed and then in one of several ways."""
    repository = Repository(place, mark_of(rng))
    spread = 10 ** rng.uniform(-3, 1)
    mean = rng.choice((0, 1, 100))
    way = rng.choice(
        (
            "harmless",
            "fatal",
            "doubtful",
            "killed",
            "killed",
            "killed",
            "twice",
            "edited",
            "edited",
            "hostile",
        )
    )
    name, act = act_of(rng, {"fatal": FATAL, "doubtful": DOUBTFUL}.get(way, HARMLESS))
    if way in ("killed", "twice", "edited", "hostile") and rng.random() < 0.5:
        name, act = "nothing", ""
    repository.commit("base", normals(rng, NUM_SEEDS, mean, spread))
    tries = []
    for number in range(rng.choice((1, 1, 2, 3)) if way in ("killed", "edited", "twice") else 1):
        gain = rng.choice((0, 1, 2, 4)) * spread
        tries.append(f"try{number}")
        repository.commit(tries[-1], normals(rng, NUM_SEEDS, mean + gain, spread), act)
    place.counts[way] += 1
    before = len(place.violations)
    outcome = WAYS[way](rng, repository, tries)
    place.violations[before:] = [f"{text} [{way}: {name}]" for text in place.violations[before:]]
    return outcome


def _words(ledger: str, base: str, head: str) -> list[str]:
    return [
        *("gate", ledger, "--base", base, "--head", head, "--direction", "max"),
        *("--read", r"loss=^loss (\S+)$"),
    ]


COMMAND = ["--", "sh", "train.sh", "{seed}"]


def _called(repository: Repository, ledger: str, base: str, head: str) -> Done:
    started = repository.start(*_words(ledger, base, head), *COMMAND)
    return repository.place.hold_quick(started, SLOWEST, codes=(0, 1, 2, 3, 4))


def _asked(repository: Repository, ledger: str, tries: list[str]) -> list[dict[str, Any]]:
    """The answers to tries, one after another; what is kept is the base of the next."""
    answers = []
    base = "base"
    for head in tries:
        state = repository.state()
        done = _called(repository, ledger, base, head)
        repository.look(state, f"after {head}")
        found = answer(done)
        if found is None:
            repository.place.violation(f"{head}: no verdict: [{done.code}] {done.output[-300:]!r}")
            return answers
        if done.code != EXIT_CODES[found["verdict"]]:
            repository.place.violation(f"{head}: the verdict {found['verdict']!r} ends with {done.code}")
        answers.append(found)
        base = head if found["verdict"] == "keep" else base
    _spent(repository, ledger)
    return answers


def _spent(repository: Repository, ledger: str) -> None:
    """Holds a ledger to the rule that each confirmation has an α of its own, and that of a keep alone returns."""
    path = repository.path / ledger
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    confirmed = 0
    at_keep = 0
    budget = TOTAL
    judged = set()
    for line in (line for line in lines if "state" in line):
        now = line["state"]["confirmations"]
        if now < confirmed or now > confirmed + 1:
            repository.place.violation(f"{ledger}: {now} confirmations after {confirmed}")
        confirmed = now
        if line.get("alpha") is None or line.get("alpha") == 0.2:
            continue
        if now in judged:
            repository.place.violation(f"{ledger}: the α of confirmation {now} is spent twice")
        judged.add(now)
        place = now - at_keep
        level = alpha(budget, place)
        if not math.isclose(line["alpha"], level, rel_tol=1e-6):
            repository.place.violation(f"{ledger}: confirmation {now} has α {line['alpha']}, not {level}")
        left = budget - sum(alpha(budget, earlier) for earlier in range(1, place + 1))
        if line["verdict"] == "keep":
            left += level
            budget = left
            at_keep = now
        if not math.isclose(line["alpha_left"], left, rel_tol=1e-6):
            repository.place.violation(f"{ledger}: {line['alpha_left']} is left of α, not {left}")


def _same(
    repository: Repository, found: list[dict[str, Any]], expected: list[dict[str, Any]], when: str
) -> None:
    """Notes answers that are not those of the undisturbed stream."""
    for one, other in zip(found, expected, strict=False):
        wrong = [(k, one.get(k), other[k]) for k in other if k not in FREE and one.get(k) != other[k]]
        if wrong:
            repository.place.violation(f"{when}: {wrong} differ from the undisturbed stream")
    if len(found) != len(expected):
        repository.place.violation(f"{when}: {len(found)} answers instead of {len(expected)}")


def _harmless(rng: Random, repository: Repository, tries: list[str]) -> str:
    """The answer is that of the numbers, which an undisturbed try of the same numbers has, too."""
    found = _asked(repository, "tries.jsonl", tries)
    again = _asked(repository, "tries2.jsonl", tries)
    _same(repository, again, found, "with another ledger")
    return "accepted"


def _fatal(rng: Random, repository: Repository, tries: list[str]) -> str:
    """Nothing is measured, it says so, and no α is spent by it."""
    state = repository.state()
    done = _called(repository, "tries.jsonl", "base", tries[0])
    repository.look(state, "after a run that failed")
    if done.code != 4:
        repository.place.violation(
            f"ended with {done.code} although a run has no number: {done.output[-300:]!r}"
        )
    _spent(repository, "tries.jsonl")
    return "refused"


def _doubtful(rng: Random, repository: Repository, tries: list[str]) -> str:
    """It measures the number that was printed, or nothing."""
    state = repository.state()
    done = _called(repository, "tries.jsonl", "base", tries[0])
    repository.look(state, "after a doubtful run")
    if answer(done) is None and done.code != 4:
        repository.place.violation(f"ended with {done.code} and without a verdict: {done.output[-300:]!r}")
    _spent(repository, "tries.jsonl")
    return "refused" if done.code == 4 else "accepted"


def _killed(rng: Random, repository: Repository, tries: list[str]) -> str:
    """Each try is killed once or twice before it is asked to its end."""
    answers = []
    base = "base"
    lost = 0
    for head in tries:
        state = repository.state()
        for _ in range(rng.choice((1, 2))):
            started = repository.start(
                *_words("tries.jsonl", base, head), *COMMAND, pace=0.03, cold=rng.random() < 0.1
            )
            number, done = struck(rng, started, 3)
            if done is not None:
                repository.place.hold(done, codes=(0, 1, 3))
                break
            done = started.wait(20)
            if done.code in (0, 1, 3) and answer(done) is not None:
                break
            done = repository.place.hold_struck(done, CODES[number])
            repository.place.counts["kills"] += 1
            lost += 1
            repository.look_for_survivors(f"after {number.name}")
            done = None
        if done is None:
            done = _called(repository, "tries.jsonl", base, head)
            repository.look(state, "asked again")
        found = answer(done)
        if found is None:
            repository.place.violation(
                f"{head}, after kills: no verdict: [{done.code}] {done.output[-300:]!r}"
            )
            return "recovered"
        answers.append(found)
        base = head if found["verdict"] == "keep" else base
    _spent(repository, "tries.jsonl")
    begun = repository.counted("begin")
    ended = repository.counted("end")
    if sum(begun.values()) - len(begun) > lost or sum(ended.values()) - len(ended) > lost:
        repository.place.violation(f"runs were made again: begun {dict(begun)}, ended {dict(ended)}")
    kept = (repository.path / "tries.jsonl").read_text().count('"difference"')
    if kept == len(answers):
        # Else a kill came between an answer and its print: the same call again was another try, on the next seed.
        _same(repository, answers, _asked(repository, "tries2.jsonl", tries), "after kills")
    return "recovered"


def _twice(rng: Random, repository: Repository, tries: list[str]) -> str:
    """Two calls at once on one ledger: the second waits, and no run is made twice."""
    heads = [rng.choice(tries) for _ in range(2)]
    state = repository.state()
    both = [repository.start(*_words("tries.jsonl", "base", head), *COMMAND, pace=0.02) for head in heads]
    ends = [repository.place.hold_quick(started, 2 * SLOWEST, codes=(0, 1, 2, 3)) for started in both]
    repository.look(state, "after two calls")
    _spent(repository, "tries.jsonl")
    ended = repository.counted("end")
    if sum(ended.values()) > len(ended):
        repository.place.violation(f"runs were made again: {dict(ended)}")
    if all(done.code == 2 for done in ends):
        repository.place.violation(f"both calls were refused: {ends[0].output[-300:]!r}")
    return "accepted"


def _edited(rng: Random, repository: Repository, tries: list[str]) -> str:
    """The ledger is edited or cut between two tries: refused, or the answer is that of the true ledger."""
    expected = _asked(repository, "tries.jsonl", tries)
    if len(expected) < len(tries):
        return "refused"
    path = repository.path / "tries.jsonl"
    kept = [head for head, found in zip(tries, expected, strict=True) if found["verdict"] == "keep"]
    base = kept[-1] if kept else "base"
    path.with_name("tries2.jsonl").write_bytes(path.read_bytes())
    whole = answer(_called(repository, "tries2.jsonl", base, tries[-1]))
    what = edited_line(rng, path)
    repository.place.heard.append(f"edited: {what}")
    state = repository.state()
    done = _called(repository, "tries.jsonl", base, tries[-1])
    repository.look(state, "after an edit")
    if done.code == 2:
        return "refused"
    if (found := answer(done)) is None or whole is None:
        repository.place.violation(f"the ledger was edited ({what}): [{done.code}] {done.output[-300:]!r}")
        return "accepted"
    wrong = [(k, found.get(k), whole[k]) for k in whole if k not in FREE and found.get(k) != whole[k]]
    # Whose last line is lost is asked again, and answered as before.
    before = [
        (k, found.get(k), expected[-1][k])
        for k in expected[-1]
        if k not in FREE and found.get(k) != expected[-1][k]
    ]
    if wrong and before:
        repository.place.violation(f"the ledger was edited ({what}), and {wrong} differ from the true one")
    return "accepted"


def _hostile(rng: Random, repository: Repository, tries: list[str]) -> str:
    """A path, an option, a commit or a command that cannot be: refused, and nothing is changed."""
    repository.add_oddities()
    state = repository.state()
    words, command = _words("tries.jsonl", "base", tries[0]), COMMAND
    what = rng.choice(("option", "ledger", "ledger", "commit", "command"))
    if what == "option":
        words += [*rng.choice(OPTIONS)]
    elif what == "ledger":
        words[1] = rng.choice(LEDGERS)
    elif what == "commit":
        words[rng.choice((3, 5))] = rng.choice(COMMITS)
    else:
        command = ["--", *rng.choice(COMMANDS)]
    done = called_in_vain(repository, words, command, state)
    return "refused" if answer(done) is None else "accepted"


WAYS = {
    "harmless": _harmless,
    "fatal": _fatal,
    "doubtful": _doubtful,
    "killed": _killed,
    "twice": _twice,
    "edited": _edited,
    "hostile": _hostile,
}
