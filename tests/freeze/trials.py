"""Recordings of trials: their ids, and the bits of what was trained."""

import hashlib
import re
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import pandas as pd
from harness import ablate_here

from . import today
from .folders import ROOT, temporary, toy_folder
from .recording import Lines, exact_lines

SHIPPED = sorted((ROOT / "studies").glob("*.yaml"))
STUDIES = [path for path in SHIPPED if "\nworkload:" not in path.read_text()]
"""Those of built-in models: ids of other code depend on every package that it imports."""


def trial_ids(studies: Sequence[Path], *, tried: bool) -> Iterator[str]:
    """Yields of each kind of trial the number of ids, their hash, and three with the names of their cells.

    With `tried`: of every setting that was searched too, and how many committed ids are not among them.
    """
    for study in studies:
        results = ROOT / "results" / study.stem
        known: set[str] = set()
        for kind, cells in sorted(today.trial_ids(study, results, tried=tried).items()):
            ids = sorted({trial_id for _, trial_id in cells})
            known.update(ids)
            digest = hashlib.sha256("\n".join(ids).encode()).hexdigest()[:16]
            yield f"{study.stem} {kind}: {len(cells)} cells, {len(ids)} ids, {digest}"
            for place in sorted({0, len(cells) // 2, len(cells) - 1}):
                name, trial_id = cells[place]
                yield f"{study.stem} {kind}: {trial_id} {name}"
        if tried:
            ids = published_ids(results)
            yield f"{study.stem} published: {len(ids)} ids, {len(ids - known)} of them unknown here"


def published_ids(results: Path) -> set[str]:
    """Returns the ids in the committed tables of a study: trials, stress grid and the settings that were tried."""
    ids: set[str] = set()
    for name in ("trials", "stress", "sweep", "tuning", "search"):
        path = results / f"{name}.parquet"
        if not path.is_file():
            continue
        frame = pd.read_parquet(path)
        for trial_ids in frame["ids"] if "id" not in frame else [frame["id"]]:
            ids.update(map(str, trial_ids))
    return ids


def toy_metrics() -> list[str]:
    """Returns metrics and curves of the toy study, bit by bit."""
    import ablate

    results = ablate.load(toy_folder() / "results" / "frozen")
    names = {row["id"]: f"{row['variant']} {row['seed']}" for row in results.trials.to_dict("records")}
    curves = results.curves.assign(id=results.curves["id"].map(names))
    trials = exact_lines(results.trials, "variant", "seed", "status")
    return [*trials, *exact_lines(curves, "id", "metric", "step")]


def quickstart_metrics() -> list[str]:
    """Returns metrics of the published quickstart, bit by bit, as they were trained on another machine."""
    trials = pd.read_parquet(ROOT / "results" / "quickstart" / "trials.parquet")
    keys = ["variant", "seed", "status"]
    return exact_lines(trials[[*keys, "accuracy", "loss", "validation_accuracy", "train_loss"]], *keys)


def quickstart_trained() -> list[str]:
    """Returns metrics of two trials of the quickstart, trained here: their bits are those of the machine."""
    results = temporary()
    words = [
        "--only",
        "model.feedforward.activation=gelu",
        "--seed",
        "3",
        "--jobs",
        "1",
        "--results",
        str(results),
    ]
    # The rate that was chosen for both variants.
    for setting in ("training.lr=0.02", "tune=null", "speed=off"):
        words += ["--set", setting]
    assert ablate_here("run", "studies/quickstart.yaml", *words, cwd=ROOT).returncode == 0
    (table,) = results.glob("*/trials.parquet")
    return [machine(), *exact_lines(pd.read_parquet(table), "id", "variant", "seed", "status")]


def source_digests() -> Iterator[str]:
    """Yields the digests of the sources behind trial ids: of the package, of plugins, and of keys of timings."""
    for name, digest in today.source_digests(PLUGINS):
        yield f"{name}: {digest}"


def machine() -> str:
    """Returns what decides the bits of a training: the first line of recordings that hold on such a machine alone."""
    import torch

    names = re.findall(r"model name\s*:\s*(.*)", Path("/proc/cpuinfo").read_text())
    return f"# on {torch.backends.cpu.get_cpu_capability()}, {names[0] if names else 'unknown'}"


PLUGINS = [ROOT / "tests" / f"{name}.py" for name in ("parabola", "peaks", "toy")]
"""Plugins that register a workload of the name of their file."""
SMALL = [path for path in STUDIES if path.stem in ("quickstart", "stability")]
TRIALS = [
    Lines("source-digests", source_digests),
    Lines("trial-ids", partial(trial_ids, SMALL, tried=False)),
    Lines("trial-ids-all", partial(trial_ids, STUDIES, tried=True), slow=True),
    Lines("toy-metrics", toy_metrics),
    Lines("quickstart-metrics", quickstart_metrics),
    Lines("quickstart-trained", quickstart_trained, slow=True),
]
