"""Whether the workers of a run are forked from its driver."""

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
    """Returns whether the workers of a run are to be forked from its driver: those of a command without own code."""
    if not options.forks or not has_processes(options) or any(document.data.get(name) for name in OWN_CODE):
        return False
    from ablate.execution.driver_fork import is_likely

    return is_likely()


def import_before_fork(document: Document, options: Options) -> None:
    """Imports what a driver must import first if its workers are to be forked from it."""
    if forks_driver(document, options):
        from ablate.execution.driver_fork import import_for_forks

        import_for_forks()
