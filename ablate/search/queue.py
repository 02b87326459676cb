"""The queue of a search: its budget as waiting trials in Optuna's storage, from which several drivers draw.

A search of N trials puts N waiting trials, its items, into the storage, and every driver draws them one by one. Every
storage of Optuna draws atomically, so that all drivers together finish exactly N. A driver that was interrupted draws
its unfinished items again. If a driver gives no sign of life, other drivers draw its items again; if a training has
failed, a later run does: each time as a new item that names the one it replaces.

The rank of an item is its place among the items that replace no other. Two drivers that begin at the same moment may
make more than N items; ranks from N on are never drawn unless N is raised.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from ablate.search.quiet import quiet
from ablate.search.result import RESULT, sealed
from ablate.search.storage import HEARTBEAT

if TYPE_CHECKING:
    from optuna import Study
    from optuna.storages import BaseStorage
    from optuna.trial import FrozenTrial

DRIVER = "driver"
WANTED = "wanted by "
REPLACES = "replaces"
POINT = "point"
ALIVE = "alive"
"""Attributes of a trial in the storage: the driver that drew it, drivers about to draw it, the number of the item that
it replaces, its point, and the last sign of life of its driver."""
CREATION_SECONDS = 5.0
"""The time that the creator of a queue may take to fill it."""


@dataclass(frozen=True)
class Item:
    """One trial of the search that this driver has drawn."""

    number: int
    trial_id: int
    "In the storage."
    rank: int
    point: Mapping[str, Any] | None
    "Known if it replaces another item or was drawn before."


class Queue:
    """The items of one search, as this driver sees them."""

    def __init__(
        self,
        storage: BaseStorage,
        name: str,
        directions: Sequence[str],
        budget: int,
        driver: str,
        objectives: Sequence[str] = (),
    ) -> None:
        """`directions` are max or min; `objectives` are names for Optuna's own tools."""
        self.storage = storage
        self.name = name
        self.budget = budget
        self.driver = driver
        self._held: set[int] = set()
        "Ids of the trials that this process has drawn and not finished."
        self._signs: dict[int, tuple[Any, float]] = {}
        "Number of a trial that another driver holds → its last sign of life, and when this was first seen."
        self._left: int | None = None
        self._closed = threading.Event()
        self._heart = threading.Thread(target=self._beats, daemon=True, name="heartbeat")
        with quiet():
            self.study = self._open(directions)
            if objectives and not self.study.metric_names:
                self.study.set_metric_names(list(objectives))

    def _open(self, directions: Sequence[str]) -> Study:
        import optuna

        pruner = optuna.pruners.NopPruner()
        try:
            study = optuna.create_study(
                storage=self.storage,
                study_name=self.name,
                directions=[optuna.study.StudyDirection[f"{name}imize".upper()] for name in directions],
                pruner=pruner,
            )
        except optuna.exceptions.DuplicatedStudyError:
            study = optuna.load_study(study_name=self.name, storage=self.storage, pruner=pruner)
            # Its creator may be about to fill it.
            deadline = time.monotonic() + CREATION_SECONDS
            while not study.get_trials(deepcopy=False) and time.monotonic() < deadline:
                self._closed.wait(0.1)
        while missing := max(0, self.budget - sum(map(_is_original, study.get_trials(deepcopy=False)))):
            for _ in range(missing):
                _add_waiting(study)
        return study

    def trials(self) -> list[FrozenTrial]:
        """Returns the latest trial of each item, in order of rank."""
        everything = sorted(self.study.get_trials(deepcopy=False), key=lambda trial: trial.number)
        originals = islice(filter(_is_original, everything), self.budget)
        latest = {trial.number: trial for trial in originals}
        origin = {number: number for number in latest}
        for trial in everything:
            replaced = trial.user_attrs.get(REPLACES)
            # If two replace the same trial, the first counts.
            if replaced in origin and latest[origin[replaced]].number == replaced:
                origin[trial.number] = origin[replaced]
                latest[origin[replaced]] = trial
        return list(latest.values())

    @property
    def left(self) -> int:
        """The unfinished items that this process did not hold when it last drew."""
        if self._left is None:
            self._left = sum(trial._trial_id not in self._held for trial in self._unfinished())
        return self._left

    def _unfinished(self) -> list[FrozenTrial]:
        return [trial for trial in self.trials() if not trial.state.is_finished()]

    @property
    def finished(self) -> bool:
        """Whether every trial has ended."""
        return not self._unfinished()

    def requeue(self) -> None:
        """Puts back failed trials, and those of drivers that are gone; call it at the beginning of a run."""
        with quiet():
            self._replace_abandoned()
            for trial in self.trials():
                if trial.state.name == "FAIL":
                    self._replace(trial)

    def _replace(self, trial: FrozenTrial) -> None:
        self._left = None
        _add_waiting(self.study, {REPLACES: trial.number, POINT: trial.user_attrs.get(POINT)})

    def _replace_abandoned(self) -> None:
        """Marks the trials of drivers that are gone as failed, and puts them back.

        A driver is gone when its sign of life has not changed for too long by the clock of this process, so that
        clocks need not agree.
        """
        now = time.monotonic()
        for trial in self.trials():
            if trial.state.name != "RUNNING" or self._is_own(trial):
                continue
            sign = trial.user_attrs.get(ALIVE)
            known, since = self._signs.setdefault(trial.number, (sign, now))
            if known != sign:
                self._signs[trial.number] = (sign, now)
            elif now - since > 2 * HEARTBEAT and self._set_state(trial._trial_id, "FAIL"):
                self._replace(trial)

    def _set_state(self, trial_id: int, state: str, values: Sequence[float] | None = None) -> bool:
        """Moves a trial to a state; False if another driver has moved it before."""
        from optuna.exceptions import UpdateFinishedTrialError
        from optuna.trial import TrialState

        try:
            return self.storage.set_trial_state_values(trial_id, TrialState[state], values)
        except UpdateFinishedTrialError:
            return False

    def draw(self, batch: int) -> list[Item]:
        """Draws the next batch: the unfinished items of this driver, and what is left of the batch."""
        with quiet():
            trials = self.trials()
            ranks = {trial.number: rank for rank, trial in enumerate(trials)}
            own = [t for t in trials if t.state.name == "RUNNING" and self._is_own(t)]
            pool = [*own, *(t for t in trials if t.state.name == "WAITING")]
            # Trials that replace others come first, apart: a batch is a block of ranks, whoever drew it.
            replacing = [t for t in pool if REPLACES in t.user_attrs]
            pool = replacing or pool
            if not pool:
                return []
            block = min(ranks[t.number] for t in pool) // batch
            drawn: list[Item] = []
            for trial in sorted(pool, key=lambda t: ranks[t.number]):
                inside = len(drawn) < batch if replacing else ranks[trial.number] // batch == block
                if inside and (trial in own or self._take(trial)):
                    point = trial.user_attrs.get(POINT)
                    self.storage.set_trial_user_attr(trial._trial_id, DRIVER, self.driver)
                    drawn.append(Item(trial.number, trial._trial_id, ranks[trial.number], point))
                    self._held.add(trial._trial_id)
            self._left = None
        self._beat()
        if self._heart.ident is None:
            self._heart.start()
        return drawn if drawn else self.draw(batch)

    def _is_own(self, trial: FrozenTrial) -> bool:
        """Whether this driver has drawn a running trial, even if it was killed before it could write its name."""
        if DRIVER in trial.user_attrs:
            return bool(trial.user_attrs[DRIVER] == self.driver)
        return [name for name in trial.user_attrs if name.startswith(WANTED)] == [WANTED + self.driver]

    def _take(self, trial: FrozenTrial) -> bool:
        from optuna.exceptions import UpdateFinishedTrialError

        with suppress(UpdateFinishedTrialError):
            self.storage.set_trial_user_attr(trial._trial_id, WANTED + self.driver, True)
            return self._set_state(trial._trial_id, "RUNNING")
        return False

    def tell(
        self,
        item: Item,
        state: str,
        values: Sequence[float] | None,
        result: Mapping[str, Any],
        steps: Mapping[int, float] = {},
        attributes: Mapping[str, Any] = {},
    ) -> bool:
        """Finishes a trial as `COMPLETE`, `PRUNED` or `FAIL`; False if another driver has taken it over."""
        from optuna.exceptions import UpdateFinishedTrialError

        self._held.discard(item.trial_id)
        shown = {name: result[name] for name in ("status", "reason") if result.get(name)}
        with quiet(), suppress(UpdateFinishedTrialError):
            for name, value in {RESULT: sealed(result), **shown}.items():
                self.storage.set_trial_user_attr(item.trial_id, name, value)
            for step, number in steps.items():
                self.storage.set_trial_intermediate_value(item.trial_id, step, number)
            for key, value in attributes.items():
                self.storage.set_trial_system_attr(item.trial_id, key, value)
            return self._set_state(item.trial_id, state, list(values) if values is not None else None)
        return False

    def fix(self, item: Item, point: Mapping[str, Any]) -> None:
        """Makes Optuna choose this point, as it does for a trial that is enqueued."""
        self.storage.set_trial_system_attr(item.trial_id, "fixed_params", dict(point))

    def save_point(self, item: Item, point: Mapping[str, Any]) -> None:
        """Keeps the point of a trial for the next run of this driver, and for an item that replaces it."""
        self.storage.set_trial_user_attr(item.trial_id, POINT, dict(point))

    def count_unfinished(self) -> int:
        """Counts the trials that have not ended, after putting back those of drivers that are gone."""
        with quiet():
            self._replace_abandoned()
            return len(self._unfinished())

    def _beats(self) -> None:
        while not self._closed.wait(HEARTBEAT):
            self._beat()

    def _beat(self) -> None:
        """Gives a sign of life for every trial that this driver holds."""
        # Training goes on if the storage does not answer for a moment, or a trial has just ended.
        for trial_id in list(self._held):
            with suppress(Exception):
                self.storage.set_trial_user_attr(trial_id, ALIVE, f"{time.time():.3f}")

    def close(self) -> None:
        """Ends the signs of life."""
        self._closed.set()


def _add_waiting(study: Study, attributes: dict[str, Any] | None = None) -> None:
    import optuna

    study.add_trial(optuna.create_trial(state=optuna.trial.TrialState.WAITING, user_attrs=attributes))


def _is_original(trial: FrozenTrial) -> bool:
    """Whether a trial replaces no other, and so has a rank."""
    return REPLACES not in trial.user_attrs
