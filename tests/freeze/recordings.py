"""Every recording, by name."""

from collections.abc import Iterable

from .behaviour import BEHAVIOUR
from .recording import Recording
from .refusals import REFUSALS
from .trials import TRIALS
from .verdicts import VERDICTS

RECORDINGS: dict[str, Recording] = {}
for _recording in (*VERDICTS, *TRIALS, *BEHAVIOUR, *REFUSALS):
    RECORDINGS[_recording.name] = _recording


def selected(names: Iterable[str]) -> list[Recording]:
    """Returns the recordings with these names, or that begin with one of them; all where no name is given."""
    recordings: dict[str, Recording] = {}
    for name in names:
        known = {name} if name in RECORDINGS else {full for full in RECORDINGS if full.startswith(f"{name}-")}
        if not known:
            raise SystemExit(f"no recording is named {name!r}; recordings: {', '.join(RECORDINGS)}")
        recordings |= {full: RECORDINGS[full] for full in sorted(known)}
    return list((recordings or RECORDINGS).values())
