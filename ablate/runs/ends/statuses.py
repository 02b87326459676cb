"""How the runs of a table ended, by the columns that say so: words, flags, exit codes and errors."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import assert_never

import pandas as pd

from ablate.base.errors import Gather, listed, nearest
from ablate.core.ending import (
    COMPLETED,
    CRASHED,
    DIVERGED,
    FAILED,
    INTERRUPTED,
    KILLED,
    NO_MEMORY,
    NO_TIME,
    PRUNED,
    RUNNING,
    STOPPED,
    UNKNOWN,
    Ending,
    ending_of_error,
)
from ablate.runs.cells import MISSING
from ablate.runs.ends.error_texts import is_error_text
from ablate.runs.ends.status_words import KEPT, WORDS, bare_word, ending_in_word, ending_of_code
from ablate.runs.settings import PREFIXES, underscored

STATUSES = ("status", "state", "sys/state", "sys.state", "run_status", "run_state", "job_status", "job_state")
"""The names of columns with the ends of runs, in small letters."""
_LAST_WORDS = ("status", "state", "reason")
"""The last words of other names of such columns, `TrainingJobStatus`, of which all cells must be known."""
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
_OF_SETTINGS = (*KEPT, "discard", "discarded", "complete", "closed")
"""Words for runs that ended well which may as well be what was kept, or a kind of graph: a name must say more."""
_DOUBTFUL_FLAGS = ("ok", "is_ok", "valid", "is_valid", "done", "is_done", "did_finish", "converged", "passed")
_DOUBTFUL_CODES = ("exit", "rc", "ret", "retcode", "code")
"""Names of columns that may say how runs ended, and may as well be settings or results."""
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
_ERRORS = (
    *("error", "exception", "traceback", "error_message", "error_msg", "error_type", "exception_message"),
    *("fail_trace", "failure_reason", "failure_message", "stack_trace", "stacktrace"),
)
"""Names of columns with the text of an error, which are blank for runs that ended well."""
_REMARKS = ("note", "notes", "comment", "comments", "remark", "remarks", "warning", "warnings", "description")
"""The last words of names of columns whose texts may be of errors that a run has survived."""
_NO_ERROR = ("", "nan", "false", *MISSING)
"""What such a column has for runs that ended well, in small letters."""
_NUMBERS = {"1": True, "0": False, "1.0": True, "0.0": False}
_BOOLS = {"true": True, "false": False, "yes": True, "no": False, **_NUMBERS}


def status_columns(table: pd.DataFrame, taken: Collection[str], *, has_examples: bool = False) -> list[str]:
    """Returns the columns that say how runs ended, by their names and cells; none of those that are `taken`.

    has_examples: whether rows are examples of runs, of which each may have an error that did not end the run.
    """
    columns = []
    for name in [str(name) for name in table if name not in taken]:
        texts = [*map(str, table[name].unique())]
        if _speaks_of_ends(name, texts) or (not has_examples and _has_errors(name, texts)):
            columns.append(name)
    return columns


def unclear_columns(table: pd.DataFrame, taken: Collection[str]) -> list[str]:
    """Returns the columns of true and false that may say how runs ended, and are not guessed to."""
    names = [str(name) for name in table if name not in taken and _bare(str(name)) in _UNCLEAR_FLAGS]
    return [name for name in names if table[name].nunique() > 1 and _are_bools(table[name])]


def doubtful_columns(table: pd.DataFrame, taken: Collection[str]) -> list[str]:
    """Returns the columns that may say that some runs did not end well, and that nothing takes for their ends."""
    names = [str(name) for name in table if name not in taken and not _bare(str(name)).startswith(PREFIXES)]
    return [name for name in names if _is_doubtful(_bare(name), [*map(str, table[name].unique())])]


def _is_doubtful(lower: str, texts: Collection[str]) -> bool:
    """Returns whether values under a name may be ends of runs: flags, exit codes, or remarks such as `crashed`."""
    present = [text.strip() for text in texts if text.strip()]
    if len(present) > 1 and lower in _DOUBTFUL_FLAGS:
        return _are_bools(present)
    if len(present) > 1 and lower in _DOUBTFUL_CODES:
        return all(ending_of_code(text) is not None for text in present) and not {"0", "0.0"}.isdisjoint(
            present
        )
    if any(_is_numeral(text) for text in present):
        return False
    endings = [ending_in_word(text) or UNKNOWN for text in present]
    is_end = any(ending.kind in ("failed", "stopped", "diverged") for ending in endings)
    return is_end or any(is_error_text(text) for text in present)


def _speaks_of_ends(name: str, texts: Collection[str]) -> bool:
    """Returns whether a column says how runs ended: it has the name of one, and some cell that is known.

    A column of any name says it where all its cells are words for ends, of runs that ended well and of others.
    """
    is_error = _bare(name) in _ERRORS
    if is_error and not any(_is_no_error(text) for text in texts):
        return False
    return _speaks(name, texts) or (not _bare(name).startswith(PREFIXES) and _are_ends(texts))


def _has_errors(name: str, texts: Collection[str]) -> bool:
    """Returns whether a column of any name has the texts of errors for some runs, and nothing for all others."""
    lower = _bare(name)
    if lower.startswith(PREFIXES) or lower.rpartition("_")[2] in _REMARKS:
        return False
    present = [text for text in texts if not _is_no_error(text)]
    return 0 < len(present) < len(texts) and all(is_error_text(text) for text in present)


def _are_ends(texts: Collection[str]) -> bool:
    """Returns whether texts are words for ends of runs alone: of runs that completed, and of some that did not."""
    endings = [ending_in_word(text) for text in texts if text.strip() and bare_word(text) not in _OF_SETTINGS]
    kinds = {None if ending is None else ending.kind for ending in endings}
    return None not in kinds and "completed" in kinds and len(kinds - {"completed", "unknown"}) > 0


def _is_no_error(text: str) -> bool:
    return text.strip().lower() in _NO_ERROR


def _speaks(name: str, texts: Collection[str]) -> bool:
    """Returns whether values under a name say how runs ended."""
    lower = _bare(name)
    present = [text.strip() for text in texts if text.strip()]
    if not present:
        return False
    if lower in STATUSES:
        # `OK` is a state of runs, and one of America.
        is_place = lower == "state" and all(len(text) <= 2 for text in present)
        return not is_place and any(ending_in_word(text) is not None for text in present)
    if lower in _FLAGS or lower in _FLAGS_OF_SUCCESS:
        # What may be a number of failures, or of seconds, is no flag.
        are_counts = lower in ("failed", "timeout") and not {*_NUMBERS}.isdisjoint(present)
        return _are_bools(present) and not are_counts
    if lower in _CODES:
        return all(ending_of_code(text) is not None for text in present)
    if lower not in _ERRORS and lower.rpartition("_")[2] in _LAST_WORDS:
        return all(ending_in_word(text) is not None for text in present)
    return lower in _ERRORS and not any(_is_numeral(text) for text in present if not _is_no_error(text))


def _are_bools(texts: Iterable[str]) -> bool:
    return all(text.strip().lower() in _BOOLS for text in texts if text.strip())


def ends_of(table: pd.DataFrame, columns: Sequence[str]) -> pd.Series:
    """Returns how the run of each row ended, by what these columns say of it; `unknown` where none says anything.

    Of what several columns say the one counts that `more_telling` chooses. Raises `Invalid` for unknown words.
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
                    nearest(bare_word(given), WORDS)
                    or "If the column says something else, rename it, or name another: --column status NAME",
                )
            of_column = texts.map(lambda text, read=read: read[text] or UNKNOWN)
            ends = pd.Series(
                [more_telling(*pair) for pair in zip(ends, of_column, strict=True)], ends.index, dtype=object
            )
    return ends


def have_results(ends: pd.Series) -> pd.Series:
    """Returns whether the number of each run counts, by how the run ended."""
    return ends.map(lambda ending: ending.what_counts == "its number").astype(bool)


def more_telling(one: Ending, other: Ending) -> Ending:
    """Returns the ending that counts of two that are said of one run; the first, where both are of one rank.

    A run that is said to run has not ended. That it diverged, or lacked memory or time, tells more than that it failed,
    which follows from it: `OUT_OF_MEMORY` says why a process ended with code 137. That it ended well, or that nothing
    is known, counts where nothing else is said.
    """
    return min(one, other, key=_rank)


def _rank(ending: Ending) -> int:
    """Returns the place of an ending among those that may be said of one run, of which the first counts."""
    match ending.kind:
        case "running":
            return 0
        case "diverged":
            return 1
        case "pruned":
            return 2
        case "failed" | "stopped":
            return 3
        case "completed":
            return 3 if ending.lacks_number else 4
        case "unknown":
            return 5
        case _ as kind:
            assert_never(kind)


def is_kept(table: pd.DataFrame, columns: Sequence[str]) -> pd.Series:
    """Returns whether a column says of a row that a loop has kept the change that the run tried."""
    kept = pd.Series(False, table.index)
    for name in columns:
        kept |= table[name].map(bare_word).isin(KEPT)
    return kept


def ending_of_word(text: str, source: str) -> Ending | None:
    """Returns what a word says of the end of a run, with the place that has it; None for a word that is not known."""
    ending = ending_in_word(text)
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
            ending = more_telling(
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
        return UNKNOWN if _is_no_error(text) else ending_of_error(text, source)
    is_flag = lower in (*_FLAGS, *_FLAGS_OF_SUCCESS, *_UNCLEAR_FLAGS)
    flag = None if text in _NUMBERS and not is_flag else _BOOLS.get(text.lower())
    said = STOPPED if lower == "stopped" else _FLAGS.get(lower)
    if flag is not None and said is not None:
        return replace(said, source=source) if flag else UNKNOWN
    if flag is not None:
        return COMPLETED if flag else replace(FAILED, source=source)
    ending = ending_of_code(text) if _is_numeral(text) else ending_in_word(text)
    if ending is None and is_error_text(text):
        return ending_of_error(text, source)
    if ending is None and lower not in STATUSES and text.lower() in MISSING:
        return UNKNOWN
    return None if ending is None else replace(ending, source=source)


def _bare(column: str) -> str:
    """Returns the name of a column in small letters with underscores, of a dotted one its last part.

    `FailureReason` is `failure_reason`. That of a setting keeps what says that it is one.
    """
    lower = underscored(column).removeprefix("tags.")
    is_whole = lower in STATUSES or lower.startswith(PREFIXES)
    return lower if is_whole else lower.rpartition(".")[2]


def _is_numeral(text: str) -> bool:
    return re.fullmatch(r"[-+]?[\d.,:]+(e[-+]?\d+)?|nan|inf", text.strip(), re.IGNORECASE) is not None
