"""What the last report of a study was made from, so that a run that would change nothing can say so at once.

Kept under `store/studies/`, with the trials that the study refers to.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ablate.base.files import write_text
from ablate.records.store import Store

OUTPUTS = (
    "study.yaml",
    "trials.parquet",
    "curves.parquet",
    "comparisons.csv",
    "claims.csv",
    "report.html",
    "report.md",
    "figures",
)
OPTIONAL = (
    *("evaluation.csv", "attention.npz"),
    *(
        "sweep.parquet",
        "importances.csv",
        "tuning.parquet",
        "untuned/trials.parquet",
        "untuned/curves.parquet",
    ),
)
"""What `ablate eval`, a sweep and tuning add."""
_PACKAGES = (
    "torch",
    "numpy",
    "pandas",
    "scipy",
    "statsmodels",
    "matplotlib",
    "scikit-learn",
    "mlflow",
    "optuna",
)


class LastReport:
    """The state of one study's last complete report."""

    def __init__(self, store: Store, folder: Path) -> None:
        self.store = store
        self.folder = folder
        self.path = store.root / "studies" / f"{folder.name}.json"

    def matches(self, inputs: Sequence[Any]) -> bool:
        """Whether the report was made from these `inputs` and from records and outputs as they stand now."""
        try:
            known = json.loads(self.path.read_text(encoding="utf-8"))
            return bool(known["digest"] == self._digest(inputs, known["trials"], known["plugins"]))
        except (OSError, ValueError, KeyError, TypeError):
            return False

    def write(self, inputs: Sequence[Any], trials: Sequence[str], plugins: Sequence[Path]) -> None:
        """Remembers what the report that has just been written was made from."""
        ids, files = sorted(set(trials)), [str(path) for path in plugins]
        content = {"digest": self._digest(inputs, ids, files), "trials": ids, "plugins": files}
        write_text(self.path, json.dumps(content, indent=1) + "\n")

    def _digest(self, inputs: Sequence[Any], trials: Sequence[str], plugins: Sequence[str]) -> str:
        records = self.store.stamp(trials)
        outputs = [_stamp(self.folder / name) for name in OUTPUTS]
        if not records or None in outputs:
            raise ValueError("something is missing")
        outputs += [_stamp(self.folder / name) for name in OPTIONAL]
        sources = [hashlib.blake2b(Path(path).read_bytes()).hexdigest() for path in plugins]
        content = json.dumps([list(inputs), package_digest(), sources, records, outputs])
        return hashlib.blake2b(content.encode(), digest_size=16).hexdigest()


def package_digest() -> str:
    """Changes with any file of the package, and with the versions of the libraries that make the numbers."""
    digest = hashlib.blake2b(digest_size=16)
    root = Path(__file__).resolve().parents[1]
    for path in sorted([*root.rglob("*.py"), *root.rglob("*.j2")]):
        digest.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes())
    for package in _PACKAGES:
        digest.update(f"{package} {importlib.metadata.version(package)}\n".encode())
    return digest.hexdigest()


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        state = path.stat()
    except OSError:
        return None
    return state.st_size, state.st_mtime_ns
