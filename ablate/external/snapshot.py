"""The code and data of a study as they were when its run began; trials read nothing newer."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ablate.base.errors import Gather
from ablate.base.files import digest_of_data
from ablate.external.call_logs import list_logs
from ablate.external.data import Data, read_data, read_linked
from ablate.external.frozen import freeze
from ablate.external.interpreter import Interpreter
from ablate.external.links import links_out
from ablate.external.tree import Tree, read_tree, root_of

CODE_FOLDER = "code"
RUNS = "runs"


@dataclass(frozen=True)
class Scope:
    """The options of a study that decide which files its trials get."""

    isolate: bool
    exclude: tuple[str, ...]
    data: tuple[str, ...]

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> "Scope":
        """Returns the scope that the section `workload` of a config sets."""
        return cls(options["isolate"], tuple(options["exclude"]), tuple(options["data"]))

    @classmethod
    def written(cls, options: Mapping[str, Any]) -> "Scope":
        """Returns the scope that the section `workload` of a study file sets, which may lack any of its keys."""
        isolate = options.get("isolate", True) not in (False, "off")
        return cls(isolate, tuple(options.get("exclude", ())), tuple(options.get("data", ())))


@dataclass(frozen=True)
class Snapshot:
    """The code and data of a study."""

    root: Path
    # The folder of the study below the root.
    inside: str
    # The store beside which copies lie: `code/` has frozen ones, `runs/` those of trials.
    store: Path
    # The digest of all files that are copied, by which the frozen copy is named.
    digest: str
    # The digest of the files of the code on which results depend.
    code_identity: str
    imports: tuple[str, ...]
    scope: Scope
    # Files of the code that a run may have left.
    doubtful: frozenset[str] = frozenset()
    # The folder of results, which is left out.
    results: Path | None = None
    data: Sequence[Data] = ()
    # The files, for the process that freezes them.
    tree: Tree | None = field(default=None, repr=False, compare=False)

    @property
    def is_isolated(self) -> bool:
        """Whether trials run in copies."""
        return self.scope.isolate

    @property
    def frozen(self) -> Path:
        """The frozen copy of the code."""
        return self.store / CODE_FOLDER / self.digest

    @property
    def folder(self) -> Path:
        """The folder of the study, in the frozen copy where that is there."""
        is_frozen = self.is_isolated and self.frozen.is_dir()
        return (self.frozen if is_frozen else self.root) / self.inside

    def freeze(self) -> None:
        """Makes the frozen copy. Raises `AblateError`."""
        if self.is_isolated and self.tree is not None:
            freeze(self.tree, self.store / CODE_FOLDER)

    def for_workers(self) -> "Snapshot":
        """Returns the same without the list of its files."""
        return replace(self, tree=None)

    def identity(self, interpreter: Interpreter | None) -> dict[str, str]:
        """Returns the identity of code, data, Python, and versions of imported packages, which ids of trials include.

        interpreter: the one that runs the code; None where it is not known.
        """
        identity = {"code": self.code_identity}
        if interpreter is not None:
            identity |= {"python": interpreter.name, **interpreter.versions(self.imports)}
        if self.data:
            identity["data"] = digest_of_data([entry.identity for entry in self.data])
        return identity


def read_snapshot(folder: Path, results: Path | None, scope: Scope) -> Snapshot:
    """Reads the code and data of a study in a folder. Raises `AblateError`, and `Invalid` for data."""
    root = root_of(folder)
    data: list[Data] = []
    with Gather() as gather:
        for index, given in enumerate(scope.data):
            place = ("workload", "data", index)
            with gather():
                data.append(
                    read_data(given, at=place, folder=folder.resolve(), root=root, exclude=scope.exclude)
                )
    inside = [os.path.relpath(root / entry.inside, folder.resolve()) for entry in data if entry.inside]
    tree = read_tree(folder, results, scope.exclude, inside)
    links = links_out(tree)
    tree = tree.without(links)
    prefix = os.path.relpath(folder.resolve(), root)
    with Gather() as gather:
        for path, target in links.items():
            if os.path.exists(target):
                with gather():
                    data.append(read_linked(path, target, folder=prefix, exclude=scope.exclude))
    store = (results or folder / "results").resolve() / "store"
    list_logs(root, tree.logs, store)
    return Snapshot(
        root,
        inside=prefix,
        store=store,
        digest=tree.digest,
        code_identity=tree.identity,
        imports=tuple(sorted(tree.imports)),
        scope=scope,
        doubtful=tree.doubtful,
        results=results,
        data=data,
        tree=tree,
    )
