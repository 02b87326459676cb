"""The budget of a search as tickets in Optuna's storage.

A search of N trials puts N waiting trials, its tickets, into the storage, and whoever takes part draws one after the
other. Drawing is atomic in every storage of Optuna's, so that several drivers finish exactly N together. A ticket
that a driver drew and did not finish is its own again when it comes back; one whose driver gives no sign of life is
drawn again by others, as is one whose training failed, in a later run: by a new ticket that names the old one.

A ticket's rank is its place among the tickets that replace no other. Ranks from N on, which two drivers that begin at
the same moment may make, are never drawn unless N is raised.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ablate.search.quiet import quiet
from ablate.search.storage import HEARTBEAT

if TYPE_CHECKING:
    from optuna import Study
    from optuna.storages import BaseStorage
    from optuna.trial import FrozenTrial

DRIVER = "driver"
WANTED = "wanted by "
REPLACES = "replaces"
POINT = "point"
IDS = "ids"
ALIVE = "alive"
RESULT = "result"
"""Attributes of a trial in the storage: who drew it, who was about to, the number of the ticket that it replaces, its
point and the ids of the trials that it is made of, the last sign of life of its driver, and all that a table says."""
_CREATOR_MAY_TAKE = 5.0


@dataclass(frozen=True)
class Ticket:
    """One trial of the search that this driver has drawn."""

    number: int
    trial_id: int
    "Of the storage."
    rank: int
    point: Mapping[str, Any] | None
    "What it must try, if it replaces another or was drawn before."


class Tickets:
    """The tickets of one search, of which this driver draws."""

    def __init__(
        self,
        storage: BaseStorage,
        name: str,
        directions: Sequence[str],
        asked: int,
        driver: str,
        objectives: Sequence[str] = (),
    ) -> None:
        """`directions` are max or min; `objectives` are their names, for who looks on with Optuna's tools."""
        self.storage = storage
        self.name = name
        self.asked = asked
        self.driver = driver
        self.mine: set[int] = set()
        "Numbers of the trials that this process has drawn and not finished."
        self._seen: dict[int, tuple[Any, float]] = {}
        "Number of a trial that another driver is at → its last sign of life, and when it was first seen."
        self._left: int | None = None
        self._closed = threading.Event()
        self._heart: threading.Thread | None = None
        with quiet():
            self.study = self._open(directions)
            if objectives and not self.study.metric_names:
                self.study.set_metric_names(list(objectives))

    def _open(self, directions: Sequence[str]) -> Study:
        import optuna

        direction = optuna.study.StudyDirection
        wanted = [direction.MAXIMIZE if name == "max" else direction.MINIMIZE for name in directions]
        pruner = optuna.pruners.NopPruner()
        try:
            study = optuna.create_study(
                storage=self.storage, study_name=self.name, directions=wanted, pruner=pruner
            )
        except optuna.exceptions.DuplicatedStudyError:
            study = optuna.load_study(study_name=self.name, storage=self.storage, pruner=pruner)
            # Its creator may be about to fill it.
            waited = 0.0
            while not study.get_trials(deepcopy=False) and waited < _CREATOR_MAY_TAKE:
                self._closed.wait(0.1)
                waited += 0.1
        self._fill(study)
        return study

    def _fill(self, study: Study) -> None:
        import optuna

        while (there := len(_originals(study.get_trials(deepcopy=False)))) < self.asked:
            for _ in range(self.asked - there):
                study.add_trial(optuna.create_trial(state=optuna.trial.TrialState.WAITING))

    def trials(self) -> list[FrozenTrial]:
        """The trials that count, one for each ticket, in order of rank: the last of those that replace one another."""
        everything = self.study.get_trials(deepcopy=False)
        latest = {trial.number: trial for trial in _originals(everything)[: self.asked]}
        origin = {number: number for number in latest}
        for trial in sorted(everything, key=lambda trial: trial.number):
            replaced = trial.user_attrs.get(REPLACES)
            # Of two that replace the same, the first counts.
            if replaced in origin and latest[origin[replaced]].number == replaced:
                origin[trial.number] = origin[replaced]
                latest[origin[replaced]] = trial
        return list(latest.values())

    @property
    def left(self) -> int:
        """How many had not ended when this process last looked, but for those that it has drawn."""
        if self._left is None:
            self._left = self._count_left(self.trials())
        return self._left

    def _count_left(self, trials: Sequence[FrozenTrial]) -> int:
        return sum(not trial.state.is_finished() and trial._trial_id not in self.mine for trial in trials)

    @property
    def over(self) -> bool:
        """Whether every trial has ended."""
        return all(trial.state.is_finished() for trial in self.trials())

    def again(self) -> None:
        """Gives out again what failed, and what drivers that are gone have left; for the beginning of a run."""
        from optuna.trial import TrialState

        with quiet():
            self._give_up_stale()
            for trial in self.trials():
                if trial.state == TrialState.FAIL:
                    self._replace(trial)

    def _replace(self, trial: FrozenTrial) -> None:
        import optuna

        self._left = None
        attributes = {REPLACES: trial.number, POINT: trial.user_attrs.get(POINT)}
        self.study.add_trial(
            optuna.create_trial(state=optuna.trial.TrialState.WAITING, user_attrs=attributes)
        )

    def _give_up_stale(self) -> list[int]:
        """Marks as failed the trials of drivers that are gone; their numbers.

        A driver is gone when its sign of life has been the same for too long by the clock of this process, so that
        clocks need not agree.
        """
        from optuna.exceptions import UpdateFinishedTrialError
        from optuna.trial import TrialState

        gone = []
        now = time.monotonic()
        for trial in self.trials():
            if trial.state != TrialState.RUNNING or self._is_mine(trial):
                continue
            sign = trial.user_attrs.get(ALIVE)
            known, since = self._seen.get(trial.number, (None, -math.inf))
            if since == -math.inf or known != sign:
                self._seen[trial.number] = (sign, now)
            elif now - since > 2 * HEARTBEAT:
                with suppress(UpdateFinishedTrialError):
                    self.storage.set_trial_state_values(trial._trial_id, TrialState.FAIL)
                    gone.append(trial.number)
        return gone

    def draw(self, batch: int) -> list[Ticket]:
        """The tickets of the next batch: those that this driver drew before, and what is left beside them."""
        from optuna.trial import TrialState

        with quiet():
            trials = self.trials()
            ranks = {trial.number: rank for rank, trial in enumerate(trials)}
            own = [t for t in trials if t.state == TrialState.RUNNING and self._is_mine(t)]
            free = [t for t in trials if t.state == TrialState.WAITING]
            # Trials that replace others come first, by themselves: a batch is a block of ranks, whoever drew it.
            again = [t for t in [*own, *free] if REPLACES in t.user_attrs]
            pool = again or [*own, *free]
            if not pool:
                return []
            block = min(ranks[t.number] for t in pool) // batch
            drawn: list[Ticket] = []
            for trial in sorted(pool, key=lambda t: ranks[t.number]):
                inside = len(drawn) < batch if again else ranks[trial.number] // batch == block
                if inside and (trial in own or self._take(trial)):
                    point = trial.user_attrs.get(POINT)
                    self.storage.set_trial_user_attr(trial._trial_id, DRIVER, self.driver)
                    drawn.append(Ticket(trial.number, trial._trial_id, ranks[trial.number], point))
                    self.mine.add(trial._trial_id)
            self._left = self._count_left(trials)
        self._live()
        return drawn if drawn else self.draw(batch)

    def _is_mine(self, trial: FrozenTrial) -> bool:
        """Whether this driver has drawn a running trial: also when it was killed before it could say so."""
        if DRIVER in trial.user_attrs:
            return bool(trial.user_attrs[DRIVER] == self.driver)
        return [name for name in trial.user_attrs if name.startswith(WANTED)] == [WANTED + self.driver]

    def _take(self, trial: FrozenTrial) -> bool:
        from optuna.exceptions import UpdateFinishedTrialError
        from optuna.trial import TrialState

        try:
            self.storage.set_trial_user_attr(trial._trial_id, WANTED + self.driver, True)
            if not self.storage.set_trial_state_values(trial._trial_id, TrialState.RUNNING):
                return False
        except UpdateFinishedTrialError:
            return False
        return True

    def tell(
        self,
        ticket: Ticket,
        state: str,
        values: Sequence[float] | None,
        result: Mapping[str, Any],
        steps: Mapping[int, float] = {},
        attributes: Mapping[str, Any] = {},
    ) -> bool:
        """Finishes a trial as `COMPLETE`, `PRUNED` or `FAIL`; False when another driver has taken it over."""
        from optuna.exceptions import UpdateFinishedTrialError
        from optuna.trial import TrialState

        self.mine.discard(ticket.trial_id)
        try:
            with quiet():
                self.storage.set_trial_user_attr(ticket.trial_id, RESULT, dict(result))
                for name in ("status", "reason"):
                    if result.get(name):
                        self.storage.set_trial_user_attr(ticket.trial_id, name, result[name])
                for step, value in steps.items():
                    self.storage.set_trial_intermediate_value(ticket.trial_id, step, value)
                for key, value in attributes.items():
                    self.storage.set_trial_system_attr(ticket.trial_id, key, value)
                self.storage.set_trial_state_values(
                    ticket.trial_id, TrialState[state], list(values) if values is not None else None
                )
        except UpdateFinishedTrialError:
            return False
        return True

    def fix(self, ticket: Ticket, point: Mapping[str, Any]) -> None:
        """Makes Optuna choose this point, as for a trial that is enqueued."""
        self.storage.set_trial_system_attr(ticket.trial_id, "fixed_params", dict(point))

    def note(self, ticket: Ticket, point: Mapping[str, Any]) -> None:
        """Keeps the point of a trial where this driver, or a ticket that replaces it, will find it again."""
        self.storage.set_trial_user_attr(ticket.trial_id, POINT, dict(point))

    def note_ids(self, ticket: Ticket, ids: Sequence[str]) -> None:
        """Keeps which trials of the store a trial of the search is made of."""
        self.storage.set_trial_user_attr(ticket.trial_id, IDS, list(ids))

    def elsewhere(self) -> int:
        """How many trials have not ended, when none is left to draw: those that other drivers are at, and what one that
        is gone has left, which is then given out again.
        """
        with quiet():
            gone = self._give_up_stale()
            for trial in self.trials():
                if trial.number in gone:
                    self._replace(trial)
            return sum(not trial.state.is_finished() for trial in self.trials())

    def _live(self) -> None:
        """A thread gives signs of life of what this driver is at."""
        self._beat()
        if self._heart is None:
            self._heart = threading.Thread(target=self._beats, daemon=True, name="heartbeat")
            self._heart.start()

    def _beats(self) -> None:
        while not self._closed.wait(HEARTBEAT):
            self._beat()

    def _beat(self) -> None:
        # A storage that is away for a moment is no reason to stop training, nor is a trial that has just ended.
        for trial_id in list(self.mine):
            with suppress(Exception):
                self.storage.set_trial_user_attr(trial_id, ALIVE, f"{time.time():.3f}")

    def close(self) -> None:
        """No more signs of life."""
        self._closed.set()


def _originals(trials: Sequence[FrozenTrial]) -> list[FrozenTrial]:
    """Those that replace no other, by number: the ranks."""
    found = [trial for trial in trials if REPLACES not in trial.user_attrs]
    return sorted(found, key=lambda trial: trial.number)


def asked_for(storage: BaseStorage, study: str) -> list[str]:
    """The trials of the store that all searches of a study have asked for, whether they have ended or not."""
    return [
        trial_id
        for search in storage.get_all_studies()
        if search.study_name.startswith(f"{study} ")
        for trial in storage.get_all_trials(search._study_id, deepcopy=False)
        for trial_id in trial.user_attrs.get(IDS, ())
    ]
