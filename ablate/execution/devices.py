"""The GPUs that this process may use, and their shares for trials.

A share is a text as CUDA_VISIBLE_DEVICES has it: `2` for one GPU, `2,3` for two.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence

from ablate.base.errors import AblateError, listed
from ablate.base.wording import counted

VARIABLE = "CUDA_VISIBLE_DEVICES"
_LIST = ("nvidia-smi", "--query-gpu=index,name", "--format=csv,noheader")
_SECONDS = 20


def visible_devices() -> list[str]:
    """Returns the GPUs that this process may use, each as CUDA_VISIBLE_DEVICES names it.

    As CUDA reads that variable, a number that no GPU has ends the list.
    """
    installed = _installed()
    given = os.environ.get(VARIABLE)
    if given is None:
        return [str(index) for index in range(len(installed or ()))]
    visible: list[str] = []
    for name in given.split(","):
        name = name.strip()
        is_missing = installed is not None and name.isdigit() and int(name) >= len(installed)
        if is_missing or not name or name.startswith("-"):
            break
        visible.append(name)
    return visible


def shares_of(visible: Sequence[str], gpus: float) -> list[str]:
    """Returns the shares of so many GPUs each: one of each device first, then a second one of each, and so on."""
    if gpus <= 1:
        return [*visible] * int(1 / gpus + 1e-9)
    size = int(gpus)
    starts = range(0, len(visible) - size + 1, size)
    return [",".join(visible[start : start + size]) for start in starts]


def refuse_too_few(gpus: float, visible: Sequence[str]) -> None:
    """Raises `AblateError` where a trial takes more GPUs than are visible."""
    if gpus <= len(visible):
        return
    installed = _installed() or []
    seen = f"{counted(len(visible), 'GPU')} visible here"
    if visible:
        seen += f", {listed(visible, 8)}"
    if installed:
        seen += f", of {len(installed)} in this machine ({listed(dict.fromkeys(installed), 4)})"
    if VARIABLE in os.environ:
        seen += f"; {VARIABLE} is {os.environ[VARIABLE]!r}"
    raise AblateError(
        f"resources.gpus: a trial takes {gpus:g}: {seen}. Nothing was trained: give fewer, or run where there are more"
    )


def _installed() -> list[str] | None:
    """Returns the model of each GPU that the driver lists; None where it does not say."""
    try:
        done = subprocess.run(_LIST, capture_output=True, text=True, timeout=_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    if done.returncode:
        return None
    rows = [line.partition(",") for line in done.stdout.splitlines() if line.strip()]
    return [name.strip() for _, _, name in rows]
