"""Seconds of a training step, measured once before the first run that matches by them.

What a rate decides, the number of steps, is part of a trial's id: the rates are kept in the study's folder, so that
the next run asks for the same trials. A config whose sources or versions have changed is measured again beside the
baseline, in units of its kept rate; a baseline that has changed, or `--fresh`, has all measured again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from statistics import median
from typing import Any

from ablate.base.clock import now
from ablate.records.folder import StudyFolder
from ablate.study.experiment import Experiment

Entry = dict[str, Any]
"""One kept rate: seconds_per_step, with the blocks and the machine that it was measured on."""


def match(
    experiment: Experiment,
    folder: StudyFolder,
    say: Callable[[str], None] | None = None,
    *,
    fresh: bool = False,
) -> Experiment:
    """The study with its variants matched in seconds, where it asks for that; else as it is.

    Rates that are missing are measured where `say` is given, and kept; without it the study may stay unmatched. Raises
    `StudyError` for variants that cannot be matched, and `AblateError` for one that cannot be timed.
    """
    if not experiment.awaits_rates:
        return experiment
    before = folder.rates()
    kept = {} if fresh else dict(before)
    new: dict[str, Entry] = {}
    for task, configs in experiment.timed().items():
        keys = {variant: experiment.rate_key(config) for variant, config in configs.items()}
        if all(key in kept for key in keys.values()):
            continue
        if say is None:
            return experiment
        new |= _measured(experiment, task, configs, keys, kept, say)
    if new:
        # What another run has measured meanwhile counts: it has trials already.
        meanwhile = {key: entry for key, entry in folder.rates().items() if key not in before}
        kept = before | new | meanwhile
        folder.save_rates(kept)
    return experiment.with_rates({key: entry["seconds_per_step"] for key, entry in kept.items()})


def _measured(
    experiment: Experiment,
    task: str,
    configs: Mapping[str, Any],
    keys: Mapping[str, str],
    kept: Mapping[str, Entry],
    say: Callable[[str], None],
) -> dict[str, Entry]:
    """The rates of one task's configs (variant → config, the baseline first) that are not kept."""
    from ablate.speed.rates import time_steps

    base = next(iter(keys))
    again = keys[base] not in kept
    first = {key: variant for variant, key in reversed(list(keys.items()))}
    names = [
        variant
        for variant, key in keys.items()
        if first[key] == variant and (again or variant == base or key not in kept)
    ]
    say(f"Measuring how long a training step of {len(names)} variants takes …")
    timing = time_steps(experiment.workload, {name: configs[name] for name in names})
    found = dict(zip(names, map(median, timing.seconds_per_step), strict=True))
    scale = 1.0 if again else kept[keys[base]]["seconds_per_step"] / found[base]
    return {
        keys[name]: {
            "variant": name,
            "task": task,
            "seconds_per_step": scale * found[name],
            "blocks": list(blocks),
            "machine": timing.machine,
            "measured": now(),
        }
        for name, blocks in zip(names, timing.seconds_per_step, strict=True)
        if again or name != base
    }
