"""What one word, or the code of a process, says of the end of a run: those of trackers, schedulers and loops."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

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

KEPT = ("keep", "kept")
"""Words of loops that keep a change, which may also name what an ablation keeps."""

WORDS: Mapping[str, Ending] = {
    **dict.fromkeys(("completed", "complete", "finished", "done", "ok", "published"), COMPLETED),
    **dict.fromkeys(
        ("success", "successful", "succeeded", "closed", "publishing", "exit_0", "cached"), COMPLETED
    ),
    # Of loops that keep or discard a change: both have run to their end.
    **dict.fromkeys((*KEPT, "discard", "discarded"), COMPLETED),
    **dict.fromkeys(("unknown", "inactive", "unspecified", "archived", "exited"), UNKNOWN),
    "diverged": DIVERGED,
    **dict.fromkeys(("pruned", "earlystopped", "early_stopped", "capped"), PRUNED),
    **dict.fromkeys(("crashed", "crash", "died", "dead", "probably_dead", "zombi"), CRASHED),
    **dict.fromkeys(("failed", "fail", "failure", "error", "errored", "exit", "metricsunavailable"), FAILED),
    **dict.fromkeys(("node_fail", "boot_fail", "launch_failed", "failed_setup", "notresponding"), FAILED),
    **dict.fromkeys(("upstream_failed", "special_exit", "exception", "broken", "stopping_error"), FAILED),
    **dict.fromkeys(("invalid", "infeasible", "abandoned", "expired", "partially_succeeded"), FAILED),
    **dict.fromkeys(("killed", "sigkill", "sigterm", "aborted", "revoked", "stopping_killed"), KILLED),
    "interrupted": INTERRUPTED,
    **dict.fromkeys(("cancelled", "canceled", "canceling", "cancelling", "cancelrequested"), CANCELLED),
    **dict.fromkeys(("user_canceled", "sys_canceled", "stopping_canceled"), CANCELLED),
    **dict.fromkeys(("stopped", "stopping"), STOPPED),
    **dict.fromkeys(("preempted", "preempting", "evicted"), LOST_ITS_PLACE),
    **dict.fromkeys(("running", "completing", "active", "in_progress", "inprogress", "alive"), RUNNING),
    **dict.fromkeys(("finalizing", "signaling", "stage_out", "resizing", "restoring", "run"), RUNNING),
    **dict.fromkeys(("scheduled", "pending", "queued", "waiting", "requeued", "created", "draft"), WAITING),
    **dict.fromkeys(("submitted", "runnable", "starting", "staged", "configuring", "notstarted"), WAITING),
    **dict.fromkeys(("preparing", "provisioning", "skipped", "omitted", "initializing", "pend"), WAITING),
    **dict.fromkeys(("requested", "unschedulable", "up_for_retry", "retrying", "deferred"), WAITING),
    **dict.fromkeys(("paused", "suspended", "psusp", "ususp", "ssusp"), PAUSED),
    **dict.fromkeys(("out_of_memory", "out_of_me", "oom", "oomkilled", "oom_killed", "memoryout"), NO_MEMORY),
    **dict.fromkeys(("timeout", "timed_out", "timedout", "time_limit", "deadline"), NO_TIME),
    **dict.fromkeys(("maxruntimeexceeded", "deadline_exceeded", "deadlineexceeded"), NO_TIME),
}
"""Word, in small letters with underscores → how the run ended.

Those of W&B, MLflow, Ray, SLURM, LSF, Optuna, Katib, Kubeflow, ClearML, guild, Sacred, Comet, SageMaker, Vertex, Azure,
Determined, Polyaxon, Airflow, Prefect, Keras Tuner, NNI, Ax, SMAC and of loops that keep or discard. That of
`TERMINATED` depends on who has written it, see `_SPELLED`.
"""
_SPELLED = {"TERMINATED": COMPLETED, "terminated": STOPPED_BY_USER}
"""Words of which the spelling says whose they are: Ray Tune's trial that completed, guild's that its user stopped."""
_PREFIXES = ("job_state_", "state_", "pipeline_state_", "runtime_state_", "task_status_")
_HEAD = re.compile(
    r"([A-Za-z_ ]+?)(?:\s*[(:,\[—–-]\s*|\s+(?P<preposition>with|by|at|after|during|in|on|due to|because of)\s+)(.+)",
    re.DOTALL,
)
"""A word for an end, and what may stand behind it: `FAILED (OOM)`, `crashed at epoch 3`."""


def ending_in_word(text: str) -> Ending | None:
    """Returns what a word says, with what may stand behind it: `FAILED (OOM)`; None for one that is not known."""
    if text.strip() in _SPELLED:
        return _SPELLED[text.strip()]
    word = bare_word(text)
    if word in WORDS:
        return WORDS[word]
    head = _HEAD.match(text.strip())
    if head is None or bare_word(head[1]) not in WORDS:
        return None
    ending = WORDS[bare_word(head[1])]
    if head["preposition"] and ending.what_counts == "its number":
        return None  # `finished with exit code 1`
    if bare_word(head[1]) in ("exited", "exit", "exit_code"):
        return next(_codes_in(head[3]), ending)
    return ending_of_error(head[3], "") if ending.kind == "failed" else ending


def _codes_in(text: str) -> Iterator[Ending]:
    """Yields what the first whole number of a text says as the code with which a process ended."""
    for number in re.findall(r"\d+", text)[:1]:
        ending = ending_of_code(number)
        if ending is not None:
            yield ending


def ending_of_code(text: str) -> Ending | None:
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


def bare_word(status: object) -> str:
    """Returns a status as `WORDS` has it: without the type before it, the mark of a cut word, and who cancelled it."""
    text = re.sub(r"^[^\w]+|[^\w]+$", "", str(status)).lower()
    text = re.sub(r" by \S+$", "", text).rpartition(".")[2]
    word = re.sub(r"[\s-]+", "_", text.strip())
    for prefix in _PREFIXES:
        word = word.removeprefix(prefix)
    return word
