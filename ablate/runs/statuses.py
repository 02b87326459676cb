"""The words of trackers, schedulers and loops for the end of a run, in a column of a table, and what each says."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import pandas as pd

from ablate.base.errors import Gather, listed, nearest
from ablate.core.ending import (
    CANCELLED,
    COMPLETED,
    CRASHED,
    DIVERGED,
    FAILED,
    INTERRUPTED,
    KILLED,
    LOST_ITS_PLACE,
    NO_MEMORY,
    NO_TIME,
    PAUSED,
    PRUNED,
    RUNNING,
    STOPPED,
    STOPPED_BY_USER,
    UNKNOWN,
    WAITING,
    Ending,
    ending_of_error,
)
from ablate.runs.settings import PREFIXES

_KEPT = ("keep", "kept")

WORDS: Mapping[str, Ending] = {
    **dict.fromkeys(("completed", "complete", "finished", "done", "ok", "published"), COMPLETED),
    **dict.fromkeys(("success", "successful", "succeeded", "closed", "publishing", "exit_0"), COMPLETED),
    # Of loops that keep or discard a change: both have run to their end.
    **dict.fromkeys((*_KEPT, "discard", "discarded"), COMPLETED),
    **dict.fromkeys(("unknown", "inactive", "unspecified", "archived", "exited"), UNKNOWN),
    "diverged": DIVERGED,
    **dict.fromkeys(("pruned", "earlystopped"), PRUNED),
    **dict.fromkeys(("crashed", "crash", "died", "dead", "probably_dead", "zombi"), CRASHED),
    **dict.fromkeys(("failed", "fail", "failure", "error", "errored", "exit", "metricsunavailable"), FAILED),
    **dict.fromkeys(("node_fail", "boot_fail", "launch_failed", "failed_setup", "notresponding"), FAILED),
    **dict.fromkeys(("upstream_failed", "special_exit", "exception", "broken"), FAILED),
    **dict.fromkeys(("killed", "aborted", "revoked"), KILLED),
    "interrupted": INTERRUPTED,
    **dict.fromkeys(("cancelled", "canceled", "canceling", "cancelling", "cancelrequested"), CANCELLED),
    **dict.fromkeys(("stopped", "stopping"), STOPPED),
    **dict.fromkeys(("preempted", "preempting", "evicted"), LOST_ITS_PLACE),
    **dict.fromkeys(("running", "completing", "active", "in_progress", "inprogress", "alive"), RUNNING),
    **dict.fromkeys(("finalizing", "signaling", "stage_out", "resizing", "restoring", "run"), RUNNING),
    **dict.fromkeys(("scheduled", "pending", "queued", "waiting", "requeued", "created", "draft"), WAITING),
    **dict.fromkeys(("submitted", "runnable", "starting", "staged", "configuring", "notstarted"), WAITING),
    **dict.fromkeys(("preparing", "provisioning", "skipped", "omitted", "initializing", "pend"), WAITING),
    **dict.fromkeys(("paused", "suspended", "psusp", "ususp", "ssusp"), PAUSED),
    **dict.fromkeys(("out_of_memory", "out_of_me", "oom", "oomkilled", "oom_killed"), NO_MEMORY),
    **dict.fromkeys(("timeout", "timed_out", "timedout", "time_limit", "deadline"), NO_TIME),
    **dict.fromkeys(("maxruntimeexceeded", "deadline_exceeded", "deadlineexceeded"), NO_TIME),
}
"""Word, in small letters with underscores → how the run ended.

Those of W&B, MLflow, Ray, SLURM, LSF, Optuna, Katib, Kubeflow, ClearML, guild, Sacred, Comet, SageMaker, Vertex, Azure
and of loops that keep or discard. That of `TERMINATED` depends on who has written it, see `_SPELLED`.
"""
_SPELLED = {"TERMINATED": COMPLETED, "terminated": STOPPED_BY_USER}
"""Words of which the spelling says whose they are: Ray Tune's trial that completed, guild's that its user stopped."""
_PREFIXES = ("job_state_", "pipeline_state_", "runtime_state_", "task_status_")

STATUSES = ("status", "state", "sys/state", "sys.state", "run_status", "run_state", "job_status", "job_state")
"""The names of columns with the ends of runs, in small letters."""
_FLAGS: Mapping[str, Ending] = {
    **dict.fromkeys(("failed", "has_failed", "is_failed", "sys/failed", "sys.failed"), FAILED),
    **dict.fromkeys(("crashed", "has_crashed", "hascrashed"), CRASHED),
    **dict.fromkeys(("diverged", "has_diverged", "is_diverged"), DIVERGED),
    **dict.fromkeys(("oom", "out_of_memory"), NO_MEMORY),
    **dict.fromkeys(("timeout", "timed_out"), NO_TIME),
    **dict.fromkeys(("killed", "was_killed"), KILLED),
    "pruned": PRUNED,
    "interrupted": INTERRUPTED,
    "running": RUNNING,
}
"""Names of columns of true and false → what true says."""
_FLAGS_OF_SUCCESS = ("completed", "finished", "is_completed", "is_finished", "has_finished")
"""Names of columns of true and false in which false says that a run failed."""
_UNCLEAR_FLAGS = ("success", "succeeded", "successful", "stopped")
"""Names of columns of true and false that may be of the end of a run, or of what an agent or a search has reached."""
_CODES = (
    "exit_code",
    "exitcode",
    "exit_status",
    "exitstatus",
    "returncode",
    "return_code",
    "exitval",
)
"""Names of columns with the numbers with which processes end."""
_ERRORS = ("error", "exception", "traceback", "error_message", "error_msg", "fail_trace", "failure_reason")
"""Names of columns with the text of an error, which are blank for runs that ended well."""
_NUMBERS = {"1": True, "0": False, "1.0": True, "0.0": False}
_BOOLS = {"true": True, "false": False, "yes": True, "no": False, **_NUMBERS}


def status_columns(table: pd.DataFrame, taken: Collection[str]) -> list[str]:
    """Returns the columns that say how runs ended, by their names and cells; none of those that are `taken`."""
    names = [str(name) for name in table if name not in taken]
    return [name for name in names if _speaks_of_ends(name, table[name])]


def unclear_columns(table: pd.DataFrame, taken: Collection[str]) -> list[str]:
    """Returns the columns of true and false that may say how runs ended, and are not guessed to."""
    names = [str(name) for name in table if name not in taken and _bare(str(name)) in _UNCLEAR_FLAGS]
    return [name for name in names if table[name].nunique() > 1 and _are_bools(table[name])]


def _speaks_of_ends(name: str, cells: pd.Series) -> bool:
    """Returns whether a column says how runs ended: it has the name of one, and some cell that is known."""
    is_error = _bare(name) in _ERRORS
    return (not is_error or bool((cells == "").any())) and _speaks(name, [*map(str, cells.unique())])


def _speaks(name: str, texts: Collection[str]) -> bool:
    """Returns whether values under a name say how runs ended."""
    lower = _bare(name)
    present = [text.strip() for text in texts if text.strip()]
    if not present:
        return False
    if lower in STATUSES:
        # `OK` is a state of runs, and one of America.
        is_place = lower == "state" and all(len(text) <= 2 for text in present)
        return not is_place and any(_of_word(text) is not None for text in present)
    if lower in _FLAGS or lower in _FLAGS_OF_SUCCESS:
        # What may be a number of failures, or of seconds, is no flag.
        are_counts = lower in ("failed", "timeout") and not {*_NUMBERS}.isdisjoint(present)
        return _are_bools(present) and not are_counts
    if lower in _CODES:
        return all(_of_code(text) is not None for text in present)
    return lower in _ERRORS and not any(_is_numeral(text) for text in present)


def _are_bools(texts: Iterable[str]) -> bool:
    return all(text.strip().lower() in _BOOLS for text in texts if text.strip())


def ends_of(table: pd.DataFrame, columns: Sequence[str]) -> pd.Series:
    """Returns how the run of each row ended, by what these columns say of it; `unknown` where none says anything.

    Of several columns the one that says that the run has no result counts. Raises `Invalid` for unknown words.
    """
    ends = pd.Series([UNKNOWN] * len(table), table.index, dtype=object)
    with Gather() as at:
        for name in columns:
            texts = table[name].astype(str).str.strip()
            read = {text: _ending_in(name, text) for text in texts.unique()}
            unknown = texts[texts.map(lambda text, read=read: read[text] is None)]
            for place, given in unknown.drop_duplicates().head(8).items():
                at.refuse(
                    True,
                    str(place),
                    "has an unknown status",
                    given,
                    listed(WORDS, len(WORDS)),
                    nearest(_word(given), WORDS)
                    or "If the column says something else, rename it, or name another: --column status NAME",
                )
            of_column = texts.map(lambda text, read=read: read[text] or UNKNOWN)
            ends = pd.Series(
                [worse(*pair) for pair in zip(ends, of_column, strict=True)], ends.index, dtype=object
            )
    return ends


def worse(one: Ending, other: Ending) -> Ending:
    """Returns the ending of two that counts where both are said of one run: the one that says that it has no result."""
    return min(one, other, key=_rank)


def _rank(ending: Ending) -> int:
    ranks = {"nothing": 0, "the floor": 1, "its number": 2}
    return 3 if ending.kind == "unknown" else ranks[ending.counts]


def is_kept(table: pd.DataFrame, columns: Sequence[str]) -> pd.Series:
    """Returns whether a column says of a row that a loop has kept the change that the run tried."""
    kept = pd.Series(False, table.index)
    for name in columns:
        kept |= table[name].map(_word).isin(_KEPT)
    return kept


def ending_of_word(text: str, source: str) -> Ending | None:
    """Returns what a word says of the end of a run, with the place that has it; None for a word that is not known."""
    ending = _of_word(text)
    return None if ending is None else replace(ending, source=f"{source} {text.strip()}")


def ending_of_fields(fields: Mapping[str, object], source: str) -> Ending:
    """Returns what the values of one run say of its end, under the names that columns have; `unknown` for nothing.

    source: the name of what has them.
    """
    ending = UNKNOWN
    for name, value in fields.items():
        text = "\n".join(map(str, value)) if isinstance(value, list) else str(value)
        if value is None or isinstance(value, Mapping) or not _speaks(name, [text]):
            continue
        said = _ending_in(name, text.strip()) or UNKNOWN
        if said.kind != "unknown":
            ending = worse(
                ending, replace(said, source=f"{source}, {said.source}" if source else said.source)
            )
    return ending


def _ending_in(column: str, text: str) -> Ending | None:
    """Returns what a cell says of the end of a run; None for a word that is not known."""
    lower = _bare(column)
    if text == "":
        return UNKNOWN
    source = f"{column} {text}" if len(text) < 60 and "\n" not in text else column
    if lower in _ERRORS:
        return UNKNOWN if text.lower() in ("none", "null", "nan", "false") else ending_of_error(text, source)
    is_flag = lower in (*_FLAGS, *_FLAGS_OF_SUCCESS, *_UNCLEAR_FLAGS)
    flag = None if text in _NUMBERS and not is_flag else _BOOLS.get(text.lower())
    said = STOPPED if lower == "stopped" else _FLAGS.get(lower)
    if flag is not None and said is not None:
        return replace(said, source=source) if flag else UNKNOWN
    if flag is not None:
        return COMPLETED if flag else replace(FAILED, source=source)
    ending = _of_code(text) if _is_numeral(text) else _of_word(text)
    return None if ending is None else replace(ending, source=source)


def _of_word(text: str) -> Ending | None:
    """Returns what a word says, with what may stand behind it: `FAILED (OOM)`; None for one that is not known."""
    if text.strip() in _SPELLED:
        return _SPELLED[text.strip()]
    word = _word(text)
    if word in WORDS:
        return WORDS[word]
    head = re.match(r"([A-Za-z_ ]+?)\s*[(:,\[—–-]\s*(.+)", text.strip(), re.DOTALL)
    if head is None or _word(head[1]) not in WORDS:
        return None
    ending = WORDS[_word(head[1])]
    if _word(head[1]) in ("exited", "exit", "exit_code"):
        return next(_codes_in(head[2]), ending)
    return ending_of_error(head[2], "") if ending.kind == "failed" else ending


def _codes_in(text: str) -> Iterator[Ending]:
    """Yields what the first whole number of a text says as the code with which a process ended."""
    for number in re.findall(r"\d+", text)[:1]:
        ending = _of_code(number)
        if ending is not None:
            yield ending


def _of_code(text: str) -> Ending | None:
    """Returns what the code of a process says, of SLURM with its signal: `1:0`; None for text that is no code."""
    match = re.fullmatch(r"(-?\d{1,3})(?:\.0+)?(?::(\d{1,3}))?", text.strip())
    if match is None:
        return None
    code = int(match[1])
    number = int(match[2] or 0) or (-code if code < 0 else code - 128 if code > 128 else 0)
    if code == 0 and number == 0:
        return COMPLETED
    if code == 124:  # That of `timeout`.
        return NO_TIME
    return {2: INTERRUPTED, 9: KILLED, 15: KILLED}.get(number, FAILED)


def _word(status: object) -> str:
    """Returns a status as `WORDS` has it: without the type before it, the mark of a cut word, and who cancelled it."""
    text = re.sub(r"^[^\w]+|[^\w]+$", "", str(status)).lower()
    text = re.sub(r" by \S+$", "", text).rpartition(".")[2]
    word = re.sub(r"[\s-]+", "_", text.strip())
    for prefix in _PREFIXES:
        word = word.removeprefix(prefix)
    return word


def _bare(column: str) -> str:
    """Returns the name of a column in small letters with underscores, of a dotted one its last part.

    That of a setting keeps what says that it is one.
    """
    lower = re.sub(r"[\s-]+", "_", column.strip().lower()).removeprefix("tags.")
    is_whole = lower in STATUSES or lower.startswith(PREFIXES)
    return lower if is_whole else lower.rpartition(".")[2]


def _is_numeral(text: str) -> bool:
    return re.fullmatch(r"[-+]?[\d.,:]+(e[-+]?\d+)?|nan|inf", text.strip(), re.IGNORECASE) is not None
