"""Pruning by batches: Optuna's pruner compares a setting with settings of earlier batches alone.

The progress of other settings of the same batch depends on timing, and is hidden from the pruner.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime
from typing import TYPE_CHECKING, Any

from ablate.search.quiet import quiet

if TYPE_CHECKING:
    from optuna.pruners import BasePruner
    from optuna.trial import FrozenTrial


class BatchPruner:
    """Decides for the settings of one batch; every batch needs a new one.

    `pruner` must be new, since some pruners remember the first trials that they saw. `told` are trials of earlier
    batches, finished or pruned, with the values that the pruner has seen and the system attributes that it has given
    them. `direction` is max or min. Hyperband chooses the bracket of a trial by `study_name` and its number.
    """

    def __init__(
        self, pruner: BasePruner, direction: str, told: Sequence[FrozenTrial], study_name: str
    ) -> None:
        import optuna

        self._pruner = pruner
        self._told = {trial.number: trial for trial in told}
        self._finite = all(math.isfinite(v) for trial in told for v in trial.intermediate_values.values())
        self._storage = _shadow()
        wanted = optuna.study.StudyDirection[f"{direction}imize".upper()]
        with quiet():
            self._study_id = self._storage.create_new_study([wanted], study_name)
            self._study = optuna.study.Study(study_name, self._storage, pruner=pruner)
            self._fill(max(self._told, default=-1))

    def should_prune(self, number: int, intermediate: Mapping[int, float], attrs: dict[str, Any]) -> bool:
        """Whether to end trial `number` after its last step.

        `intermediate` are its values so far, by step. `attrs` are its system attributes, to which the pruner adds: pass
        them again at the next step, and tell them with the trial.
        """
        from optuna.trial import FrozenTrial, TrialState

        if number in self._told:
            raise ValueError(f"trial {number} is one of an earlier batch")
        with quiet():
            self._fill(number)
            trial = FrozenTrial(
                number=number,
                trial_id=self._storage.get_trial_id_from_study_id_trial_number(self._study_id, number),
                state=TrialState.RUNNING,
                value=None,
                datetime_start=datetime.min,
                datetime_complete=None,
                params={},
                distributions={},
                user_attrs={},
                system_attrs=attrs,
                intermediate_values=dict(intermediate),
            )
            self._storage.written = attrs
            with self._warnings(intermediate):
                return bool(self._pruner.prune(self._study, trial))

    def _warnings(self, intermediate: Mapping[int, float]) -> AbstractContextManager[object]:
        """Silences numpy's warnings if a value is not finite, and only then, for the reason that `quiet` gives."""
        finite = self._finite and all(map(math.isfinite, intermediate.values()))
        return nullcontext() if finite else warnings.catch_warnings(action="ignore")

    def _fill(self, last: int) -> None:
        """Adds trials up to number `last`; the storage numbers them itself, so that unknown ones are blank."""
        for number in range(len(self._storage.get_all_trials(self._study_id, deepcopy=False)), last + 1):
            self._storage.create_new_trial(self._study_id, self._told.get(number))


def _shadow() -> Any:
    """A storage in memory that writes attributes of trials to `written` and keeps none."""
    from optuna.storages import InMemoryStorage

    class Shadow(InMemoryStorage):
        written: dict[str, Any]

        def set_trial_system_attr(self, trial_id: int, key: str, value: Any) -> None:
            self.written[key] = value

    return Shadow()
