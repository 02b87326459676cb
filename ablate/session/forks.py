"""The choice between workers from a fork of the driver and from a fresh process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ablate.session.options import Options

if TYPE_CHECKING:
    from ablate.study.document import Document

OWN_CODE = ("workload", "plugins")
"""The sections of a study that name code of the user, which may leave anything behind in the process that loads it."""


def has_processes(options: Options) -> bool:
    """Returns whether a run trains in processes of its own on this machine."""
    return options.jobs != 0 and options.engine == "local"


def forks_driver(document: Document, options: Options) -> bool:
    """Returns whether the process that starts the workers is to be a fork of the driver.

    It is in a command that trains on this machine, by a study without code of the user's, where a fork is likely to be
    sound; whether it is, `driver_fork.is_sound` tells when it is made.
    """
    if not options.forks or not has_processes(options) or any(document.data.get(name) for name in OWN_CODE):
        return False
    from ablate.execution.driver_fork import is_likely

    return is_likely()


def import_before_fork(document: Document, options: Options) -> None:
    """Imports what a driver must import first if its workers are to be forked from it."""
    if forks_driver(document, options):
        from ablate.execution.driver_fork import import_for_forks

        import_for_forks()
