"""`results/<study>/rates.json`: seconds of a training step, measured once before the first run that needs them.

What a rate decides, the number of steps, is part of a trial's id: the rates are kept, so that the next run asks for the
same trials. A config whose sources or versions have changed is measured again beside the baseline, in units of its kept
rate; a baseline that has changed, or `--fresh`, has all measured again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from ablate.base.clock import now
from ablate.base.errors import AblateError
from ablate.base.files import write_text

if TYPE_CHECKING:
    from ablate.study.experiment import Experiment

FILE = "rates.json"
ABOUT = (
    "Seconds of a training step, measured before training on one thread: the median over blocks in which the "
    "variants of a task take turns in random order. Take this file away and run with --fresh to measure again."
)

Config = dict[str, Any]


@dataclass(frozen=True)
class Timing:
    """What was measured of several configs beside one another."""

    seconds_per_step: Sequence[Sequence[float]]
    "Configs × blocks."
    machine: str


Measure = Callable[[Mapping[str, Config]], Timing]
"""Measures configs by name; raises `AblateError` naming one that cannot be trained."""


@dataclass(frozen=True)
class Rates:
    """The kept rates of the studies in a results folder; `measure` adds those that are missing."""

    results: Path
    measure: Callable[[Any], Measure] | None = None
    "Of a workload; None: what is missing stays so."
    fresh: bool = False
    "What is kept is measured again."

    def apply(self, experiment: Experiment) -> Experiment:
        """The study matched by its rates, where it needs any and they are known; else as it is."""
        if not experiment.awaits_rates:
            return experiment
        found = self.of(experiment.study.name, experiment.workload, experiment.timed(), experiment.rate_key)
        return experiment if found is None else experiment.with_rates(found)

    def of(
        self,
        study: str,
        workload: Any,
        groups: Mapping[str, Mapping[str, Config]],
        key: Callable[[Config], str],
    ) -> dict[str, float] | None:
        """Key → seconds of a step for all configs, which come as task → variant → config, the baseline first.

        None when some are missing and may not be measured.
        """
        path = self.results / study / FILE
        before = _read(path)
        kept = {} if self.fresh else before
        new: dict[str, dict[str, Any]] = {}
        for task, configs in groups.items():
            keys = {variant: key(config) for variant, config in configs.items()}
            if all(k in kept for k in keys.values()):
                continue
            if self.measure is None:
                return None
            base = next(iter(keys))
            again = keys[base] not in kept
            distinct = {k: variant for variant, k in reversed(keys.items())}
            names = [v for v, k in keys.items() if distinct[k] == v and (again or v == base or k not in kept)]
            timing = self.measure(workload)({name: configs[name] for name in names})
            found = dict(zip(names, map(median, timing.seconds_per_step), strict=True))
            scale = 1.0 if again else kept[keys[base]]["seconds_per_step"] / found[base]
            for name, blocks in zip(names, timing.seconds_per_step, strict=True):
                if again or name != base:
                    new[keys[name]] = {
                        "variant": name,
                        "task": task,
                        "seconds_per_step": scale * found[name],
                        "blocks": list(blocks),
                        "machine": timing.machine,
                        "measured": now(),
                    }
        if new:
            # What another run has measured meanwhile stands: it has trials already.
            meanwhile = {k: entry for k, entry in _read(path).items() if k not in before}
            kept = before | new | meanwhile
            write_text(path, json.dumps({"about": ABOUT, "rates": kept}, indent=1) + "\n")
        return {k: entry["seconds_per_step"] for k, entry in kept.items()}


def _read(path: Path) -> dict[str, dict[str, Any]]:
    if not path.is_file():
        return {}
    try:
        rates: dict[str, dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["rates"]
        if all(entry["seconds_per_step"] > 0 for entry in rates.values()):
            return rates
    except (ValueError, KeyError, TypeError, AttributeError):
        pass
    raise AblateError(f"{path}: is not a table of rates; restore it, or take it away to measure anew")
