"""The environment of programs that are to find the repository of the folder in which they run."""

from collections.abc import Mapping

_OF_ONE_REPOSITORY = frozenset(
    [
        "GIT_ALTERNATE_OBJECT_DIRECTORIES",
        "GIT_COMMON_DIR",
        "GIT_DIR",
        "GIT_GRAFT_FILE",
        "GIT_IMPLICIT_WORK_TREE",
        "GIT_INDEX_FILE",
        "GIT_INTERNAL_SUPER_PREFIX",
        "GIT_NAMESPACE",
        "GIT_OBJECT_DIRECTORY",
        "GIT_PREFIX",
        "GIT_QUARANTINE_PATH",
        "GIT_SHALLOW_FILE",
        "GIT_WORK_TREE",
    ]
)
"""Variables that git sets for its hooks, and that name another repository than that of the folder."""


def without_repository(environment: Mapping[str, str]) -> dict[str, str]:
    """Returns the variables of an environment that name no repository, work tree or index of git."""
    return {name: value for name, value in environment.items() if name not in _OF_ONE_REPOSITORY}
