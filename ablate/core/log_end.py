"""The end of a log: what the last lines of a run say of how it ended, whoever wrote them.

Only the end counts. An error that a run has survived is followed by signs of life: values, progress, or words such as
`resuming`. Words such as `done` are as well the script's that started the run, and show no life, unless the exit code
says that all went well. Python, Julia, R, Java, Rust, the shell, `make`, `mpirun`, `srun`, PBS, LSF and HTCondor write
the signs of an end.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from ablate.base.errors import AblateError
from ablate.base.files import unreadable
from ablate.core.ending import (
    CANCELLED,
    CRASHED,
    DIVERGED,
    FAILED,
    INTERRUPTED,
    KILLED,
    LOST_ITS_PLACE,
    NO_MEMORY,
    NO_TIME,
    PRUNED,
    UNKNOWN,
    Ending,
    ending_of_error,
)

_MAX_FILE_BYTES = 2**40
_TAIL_BYTES = 2**16
_END_LINES = 2000
"""The lines of which the end of a log consists."""
_MAX_CHARACTERS = 4000
"""The characters of a line that are kept; a program may print lines of megabytes."""
_TERMINAL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_RANK = re.compile(r"^(?:\[rank\d+\]:|\d+:|\([\w.]+ pid=\d+[^)]*\)) ?")
"""What launchers put before each line of a process."""
_NOISE = re.compile(
    r"wandb:|(?:COMET|ClearML)\b|submitit |\[[^\]]*\]\[submitit\]|[EWI]\d{4} |"
    r"(?:ERROR|WARNING|INFO):torch\.distributed|.*resource_tracker: |Set the environment variable HYDRA|[=─-]{8,}$|"
    r"Hint: If you want to see a list of allocated tensors|sent [\d,.]+\w* bytes|total size is [\d,.]+\w* "
)
"""Lines of trackers and launchers, which come after any end."""
_SURVIVED = re.compile(
    r"Exception ignored|--- Logging error ---|Error in atexit|Exception in thread (?!\"main\")"
)
"""What stands before a traceback that ends no run."""
_TRACEBACK = re.compile(r"Traceback \(most recent call last\)")
_INSIDE = re.compile(r"\s|[│╭╰❱]|During handling|The above exception|Error in sys\.excepthook|$")
"""The beginnings of lines inside a traceback."""
_LIFE = re.compile(
    r"(?<![\w.])\d+\.\d+(?![\w.])|\b(?:epoch|step|iter\w*|loss|acc\w*)\b\W{0,4}\d|"
    r"\b(?:resum\w+|continu\w+|retry\w*|skipp\w+|ignor\w+)\b",
    re.IGNORECASE,
)
_ENDED_WELL = re.compile(r"\b(?:done|finished|completed|successfully|saved)\b", re.IGNORECASE)
"""Words of a run that ended well, and of a script that goes on whatever has become of the run."""
_ABOUT_TRAINING = re.compile(
    r"\b(?:train\w*|evaluat\w*|epochs?|models?|weights|checkpoints?|ckpts?)\b|\.(?:pt|pth|ckpt|safetensors)\b",
    re.IGNORECASE,
)
"""Words beside those that say that the training itself has gone on."""
_TIMES = re.compile(
    r"\d+:\d\d(?::\d\d)?(?:\.\d+)?|\d+(?:\.\d+)?\s*(?:s|secs?|seconds|m|mins?|minutes|h|hours)\b"
)
"""The times that a script says at its end."""
_REPORT = re.compile(r"\bINFO\b(?!.*(?:abort|fail|exit|shut|clos|stop|terminat|kill|clean))", re.IGNORECASE)
"""A line in which a program that goes on reports what it does."""
_ACCOUNTS = re.compile(r"Resource usage summary:|Job Accounting|=+ JOB EFFICIENCY", re.IGNORECASE)
"""Where the accounts of a scheduler begin, at the very end."""

_SIGNS: Sequence[tuple[re.Pattern[str], Ending]] = (
    (re.compile(r"DUE TO TIME LIMIT|walltime \S+ exceeded|TERM_RUNLIMIT"), NO_TIME),
    (
        re.compile(
            r"^(?:slurmstepd|srun)\b.*(?:oom[-_ ]kill|Out Of Memory|memory limit)|TERM_MEMLIMIT|"
            r"^(?:[\w.]*OutOfMemoryError|RuntimeError: CUDA out of memory|MemoryError)\b|"
            r"^OOM when allocating tensor|^Error: cannot allocate vector of size|"
            r"^Exception in thread \"main\" java\.lang\.OutOfMemoryError|^FATAL ERROR: .* heap out of memory"
        ),
        NO_MEMORY,
    ),
    (re.compile(r"DUE TO PREEMPTION|TERM_PREEMPT"), LOST_ITS_PLACE),
    (re.compile(r"DUE TO NODE FAILURE"), replace(FAILED, why="was lost with its node")),
    (re.compile(r"\b(?:JOB|STEP) \S+ ON \S+ CANCELLED|TERM_OWNER|TERM_ADMIN"), CANCELLED),
    (re.compile(r"^(?:\^C|KeyboardInterrupt\b)"), INTERRUPTED),
    (re.compile(r"^Loss is (?:nan|-?inf), stopping training"), DIVERGED),
)
"""What a line says → how the run ended: signs that name a cause, of which the first counts."""
_LAST_SIGNS: Sequence[tuple[re.Pattern[str], Ending]] = (
    (re.compile(r"Segmentation fault|Bus error|core dumped|^Fatal Python error|^terminate called"), CRASHED),
    (
        re.compile(
            r"(?:^|\d\s+)Killed\b|^Terminated$|: Killed$|SIGKILL|SIGTERM|by signal (?:9|15)\b|"
            r"Abnormal termination \(signal (?:9|15)\)"
        ),
        KILLED,
    ),
    (re.compile(r"\bJob was aborted|\bJob was removed"), CANCELLED),
    (
        re.compile(
            r"^ERROR: LoadError\b|^ERROR: \w+(?:Error|Exception)\b|^thread '.*' panicked at|^Uncaught \w*Error\b|"
            r"\bJob was held\b|[Nn]ormal termination \((?:return value -?[1-9]|signal \d)|"
            r"^Execution halted$|^Exception in thread \"main\" |^make(?:\[\d+\])?: \*\*\* .*\bError \d|"
            r"mpi(?:run|exec) detected that one or more processes exited|^MPI_ABORT was invoked|"
            r"[Cc]ommand terminated with exit code [1-9]|"
            r"^srun: error:|[Ee]xited with (?:exit code|non-zero status) [1-9]|exits with return code = -?[1-9]"
        ),
        FAILED,
    ),
)
"""Signs that follow from others, and count where none of those stands: an error ends other processes too."""


def ending_of_log(file: Path) -> Ending:
    """Returns what the end of a log says; `unknown` where it says nothing, or where the file cannot be read."""
    if unreadable(file, _MAX_FILE_BYTES) is not None:
        return UNKNOWN
    try:
        with file.open("rb") as content:
            size = content.seek(0, 2)
            content.seek(max(0, size - _TAIL_BYTES))
            text = content.read(_TAIL_BYTES).decode(errors="replace")
    except OSError:
        return UNKNOWN
    return ending_in_lines(re.split(r"\r\n|\r|\n", text), file.name)


def ending_in_lines(lines: Iterable[str], source: str, *, exits_well: bool = False) -> Ending:
    """Returns what the last lines of a log say of the end of its run; `unknown` where they say nothing.

    source: the name of the log. exits_well: whether the program is known to have ended with exit code 0.
    """
    signs: list[Ending] = []
    is_inside = False
    is_survived = False
    is_message = False
    for raw in [*lines][-_END_LINES:]:
        line = _RANK.sub("", _TERMINAL.sub("", raw)).rstrip()
        if _ACCOUNTS.search(line):
            break
        if _TRACEBACK.search(line):
            is_inside = True
            continue
        if is_inside and _INSIDE.match(line):
            continue
        if is_inside:
            is_inside = False
            is_message = True
            if not is_survived:
                signs.append(_ending_of_exception(line))
            is_survived = False
            continue
        if _SURVIVED.match(line):
            is_survived = True
            continue
        is_message = is_message and (line == "" or line[0].isspace())
        sign = _sign_in(line)
        if sign is not None:
            signs.append(sign)
        elif line and not is_message and not _NOISE.match(line) and _is_of_life(line, exits_well):
            signs.clear()
    if is_inside and not is_survived:
        signs.append(FAILED)
    return replace(_first(signs), source=source) if signs else UNKNOWN


class LogEnd:
    """The last lines that a program has printed since its last number."""

    def __init__(self) -> None:
        self.lines: deque[str] = deque(maxlen=_END_LINES)

    def add(self, line: str) -> None:
        """Adds a line, cut to its first `_MAX_CHARACTERS` characters; the oldest line is dropped when there are too
        many.
        """
        self.lines.append(line[:_MAX_CHARACTERS])

    def clear(self) -> None:
        """Forgets the lines before a number."""
        self.lines.clear()

    def refuse_failure(self) -> None:
        """Raises `AblateError` where the lines say that the program failed, although its exit code is 0."""
        ending = ending_in_lines(self.lines, "", exits_well=True)
        if ending.kind != "unknown":
            raise AblateError(
                f"it ended with exit code 0, and its last lines are those of a run that {ending.why or ending.kind}; "
                "let it end with the exit code of what it has started"
            )


def _is_of_life(line: str, exits_well: bool) -> bool:
    """Returns whether a line shows that the run went on: values, progress, reports, or words of the training."""
    if not _ENDED_WELL.search(line):
        return bool(_LIFE.search(line) or _REPORT.search(line))
    if exits_well or _ABOUT_TRAINING.search(line):
        return True
    return bool(_LIFE.search(_TIMES.sub("", line)) or _REPORT.search(line))


def _sign_in(line: str) -> Ending | None:
    """Returns what a line outside a traceback says of an end; None for any other line."""
    return next((ending for pattern, ending in (*_SIGNS, *_LAST_SIGNS) if pattern.search(line)), None)


def _ending_of_exception(line: str) -> Ending:
    """Returns how a run ended with an exception, by the line that names it."""
    if "TrialPruned" in line:
        return PRUNED
    sign = next((ending for pattern, ending in _SIGNS if pattern.search(line)), None)
    return sign or ending_of_error(line, "")


def _first(signs: Sequence[Ending]) -> Ending:
    """Returns the sign that says most: one that names a cause, else an error, else what follows from errors."""
    causes = [ending for _, ending in _SIGNS]
    named = [sign for sign in signs if sign in causes]
    if named:
        return min(named, key=causes.index)
    consequences = [ending for _, ending in _LAST_SIGNS]
    errors = [sign for sign in signs if sign not in consequences or sign == FAILED]
    return errors[0] if errors else signs[0]
