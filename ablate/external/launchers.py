"""Programs that start a script in several processes: `torchrun`, and `accelerate launch`, which calls its code."""

import re
from collections.abc import Sequence

_LAUNCHERS = re.compile(
    r"(?<![\w.-])(torchrun|torch\.distributed\.run|accelerate(?= launch)|accelerate\.commands)\b"
)
_SEVERAL_MACHINES = re.compile(r"--(nnodes|num_machines|num-machines)[= ](?!1\b|1:1\b)")
_VARIABLES = {
    # A port that is free, so that trials that run at once do not meet.
    "PET_STANDALONE": "1",
    # What each of the processes prints would count once for each of them.
    "PET_LOCAL_RANKS_FILTER": "0",
}
"""Variables from which torchrun takes options that its command line does not give."""


def variables(words: Sequence[str]) -> dict[str, str]:
    """Returns the variables that a command needs, if it starts a launcher: variable → value."""
    text = " ".join(words)
    if not _LAUNCHERS.search(text) or _SEVERAL_MACHINES.search(text):
        return {}
    return dict(_VARIABLES)
