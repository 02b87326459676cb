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
from ablate.speed.rates import Timing, time_steps
from ablate.study.experiment import Experiment

Entry = dict[str, Any]
"""One kept rate: seconds_per_step, with the blocks and the machine that it was measured on."""
Groups = Mapping[str, Mapping[str, Any]]
"""Task → variant → config, the baseline first."""
Measure = Callable[[Mapping[str, Any]], Timing]
"""Measures configs by name; raises `AblateError` naming one that cannot be trained."""


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

    def measure(configs: Mapping[str, Any]) -> Timing:
        assert say is not None
        say(f"Measuring how long a training step of {len(configs)} variants takes …")
        return time_steps(experiment.workload, configs)

    rates = kept_rates(
        folder, experiment.timed(), experiment.rate_key, measure if say is not None else None, fresh=fresh
    )
    return experiment if rates is None else experiment.with_rates(rates)


def kept_rates(
    folder: StudyFolder,
    groups: Groups,
    key: Callable[[Any], str],
    measure: Measure | None = None,
    *,
    fresh: bool = False,
) -> dict[str, float] | None:
    """Key → seconds of a step of all configs; those that are missing are measured and kept.

    None where some are missing and there is no `measure`. `fresh`: all are measured again.
    """
    before = folder.rates()
    kept = {} if fresh else dict(before)
    new: dict[str, Entry] = {}
    for task, configs in groups.items():
        keys = {variant: key(config) for variant, config in configs.items()}
        if all(known in kept for known in keys.values()):
            continue
        if measure is None:
            return None
        base = next(iter(keys))
        again = keys[base] not in kept
        first = {known: variant for variant, known in reversed(list(keys.items()))}
        names = [v for v, k in keys.items() if first[k] == v and (again or v == base or k not in kept)]
        timing = measure({name: configs[name] for name in names})
        found = dict(zip(names, map(median, timing.seconds_per_step), strict=True))
        scale = 1.0 if again else kept[keys[base]]["seconds_per_step"] / found[base]
        new |= {
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
    if new:
        # What another run has measured meanwhile counts: it has trials already.
        meanwhile = {known: entry for known, entry in folder.rates().items() if known not in before}
        kept = before | new | meanwhile
        folder.save_rates(kept)
    return {known: entry["seconds_per_step"] for known, entry in kept.items()}
