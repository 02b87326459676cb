"""What the lines of a ledger say: whether it fits the call, what is left of its level, and an answer that it has."""

from collections.abc import Sequence

from ablate.analysis.level_of_tries import LevelLeft
from ablate.base.errors import AblateError
from ablate.commits.bench import Bench
from ablate.commits.lines import FORMAT, OLDEST, Answered, Begun, Confirmation, FailedRun, Run, StateLine

REMEDY = "Restore the ledger, or start a new one with the last kept commit as --base"


def check_begun(bench: Bench) -> None:
    """Raises `AblateError` for a ledger of another format, and for one that does not begin with its first base."""
    has_begun = False
    for number, line in enumerate(bench.journal.lines, 1):
        if isinstance(line, Run | FailedRun):
            continue
        if isinstance(line, Begun) and line.format not in range(OLDEST, FORMAT + 1):
            raise AblateError(
                f"{bench.path}: is a ledger of format {line.format}; this version reads {OLDEST} to {FORMAT}. Use the "
                "version that wrote it, or start a new ledger with the last kept commit as --base"
            )
        if isinstance(line, Begun) == has_begun:
            raise AblateError(
                f"{bench.path}:{number}: must state the call, or follow a line that does. {REMEDY}"
            )
        has_begun = True


def state_lines(bench: Bench) -> list[StateLine]:
    """Returns the lines of a ledger that carry the state of its stream; those of runs carry none."""
    return [line for line in bench.journal.lines if not isinstance(line, Run | FailedRun)]


def lines_of_call(bench: Bench) -> list[StateLine]:
    """Returns the lines with a state. Raises `AblateError` where they are of another call, base or data."""
    lines = state_lines(bench)
    base = [line for line in lines if line.verdict == "keep"][-1]
    begun = lines[0]
    assert isinstance(begun, Begun)
    if begun.data != bench.data_identity:
        raise AblateError(
            f"{bench.path}: the --link data differ from those that its runs used; restore them, or name another "
            "ledger"
        )
    is_base = base.tree == bench.base.digest or bool(kept_before(bench, lines))
    if begun.call != bench.call or not is_base:
        raise AblateError(
            f"{bench.path}: was begun with {' '.join(begun.call.command)}, and its base is {base.commit}; repeat the "
            "call that began it with this --base, or name another ledger"
        )
    return lines


def kept_before(bench: Bench, lines: Sequence[StateLine]) -> list[Answered]:
    """Returns the answers of the last wave, where it had these tries and this base and kept one of them; else none.

    A call that was killed may have written them, and told nobody.
    """
    heads = {head.digest for head in bench.tried}
    last: list[Answered] = []
    for line in reversed(lines):
        if not isinstance(line, Answered) or line.state != lines[-1].state:
            break
        last.append(line)
    answers = {line.tree: line for line in reversed(last)}
    # A try that was not measured has no answer.
    waves = [line.wave or [line.tree] for line in lines if isinstance(line, Confirmation)]
    tried = {*waves[-1]} if waves else {*answers}
    kept = [line.tree for line in last if line.verdict == "keep"]
    bases = [line.tree for line in lines if line.verdict == "keep"]
    if not kept or tried != heads or bases[-2:] != [bench.base.digest, *kept]:
        return []
    return [answers[head.digest] for head in bench.tried if head.digest in answers]


def level_left(lines: Sequence[StateLine]) -> LevelLeft:
    """Returns the level that is left after all lines; those that older versions wrote count by the rule of today."""
    left = LevelLeft()
    num_at_keep = 0
    numbers: dict[str, int] = {}
    for line in lines:
        if isinstance(line, Confirmation):
            numbers[line.tree] = line.state.confirmations
        if isinstance(line, Answered) and line.verdict == "keep":
            num_confirmations = line.state.confirmations - num_at_keep
            place = numbers.get(line.tree, line.state.confirmations) - num_at_keep
            left = left.after(num_confirmations).after_keep(place)
            num_at_keep = line.state.confirmations
    return left.after(lines[-1].state.confirmations - num_at_keep)


def before_unfinished(bench: Bench, lines: Sequence[StateLine]) -> list[StateLine]:
    """Returns the lines without the confirmations of this wave that a killed call left open; these start again."""
    heads = [head.digest for head in bench.tried]
    before = [*lines]
    while isinstance(before[-1], Confirmation) and (before[-1].wave or [before[-1].tree]) == heads:
        before.pop()
    return before
