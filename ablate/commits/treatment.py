"""Differences of a try from the base beside its metric: in the files that measure it, and in the time that it takes.

Both are shown beside the verdict, and decide nothing.
"""

import os
import re
from collections.abc import Sequence
from statistics import median

from ablate.base.errors import AblateError, listed
from ablate.base.text import printable
from ablate.commits.bench import Bench
from ablate.commits.trees import Tree, git

SLOWER = 1.5
"""The ratio of a try's time to the base's from which on a note says so."""
NOTICED = 0.2
"""Seconds by which such a try must take longer, since the start of a process may take as much by chance."""
_MEASURES = re.compile(r"(^|[\W_])(eval|metric|scor|valid|measur|bench)", re.IGNORECASE)
"""The names of files that are likely to measure."""


def time_ratio(bench: Bench) -> float | None:
    """Returns the median time of the try's runs over that of the base's; None where either has none."""
    base = bench.seconds(bench.base)
    tried = bench.seconds(bench.head)
    if not base or not tried or min(base) <= 0:
        return None
    return median(tried) / median(base)


def slower(bench: Bench) -> str:
    """Returns a note on a try that takes much longer than the base; empty for any other."""
    ratio = time_ratio(bench)
    if ratio is None or ratio < SLOWER:
        return ""
    base = median(bench.seconds(bench.base))
    tried = median(bench.seconds(bench.head))
    if tried - base < NOTICED:
        return ""
    return (
        f"its runs take {ratio:.1f} × the time of the base's ({tried:.3g} s against {base:.3g} s): a gain may come "
        "from longer training"
    )


def failed_before(bench: Bench) -> str:
    """Returns a note on runs that failed before they were finished, where the sides differ; empty where they do not."""
    base = bench.num_failed(bench.base)
    head = bench.num_failed(bench.head)
    if base == head:
        return ""
    return (
        f"runs that failed were run again, {head} of the head and {base} of the base: where a run fails because it "
        "goes badly, those that count are better than their commit"
    )


def changed_measures(bench: Bench, patterns: Sequence[str]) -> list[str]:
    """Returns the files that measure a try and differ from those of the base, by their paths in the repository.

    With `patterns`, relative to the working directory, these are the files that they match; without, the files that
    the command names, and those whose names say that they measure. Raises `AblateError` for a pattern that matches no
    file of the base.
    """
    for pattern in patterns:
        if not git("-C", bench.base.root / bench.base.inside, "ls-files", "--", f":(glob){pattern}"):
            raise AblateError(
                f"--measures {pattern}: names no file of the base {bench.base.name}. Give a file, or a pattern such as "
                "'eval/**', from where you stand"
            )
    changed = _changed_files(bench.base, bench.head, patterns)
    if patterns:
        return changed
    named = _named_files(bench.call.command, bench.base.inside)
    return [file for file in changed if file in named or _MEASURES.search(file)]


def measured_otherwise(files: Sequence[str]) -> str:
    """Returns a note on a try that changes files that measure it; empty without any."""
    if not files:
        return ""
    return (
        f"it changes {listed(files)}: check that its number still means the same as the base's "
        "(--measures names the files that measure)"
    )


def _changed_files(base: Tree, head: Tree, patterns: Sequence[str]) -> list[str]:
    """Returns the files that differ between two commits, of those that `patterns` match, or of all."""
    globs = [f":(glob){pattern}" for pattern in patterns]
    names = git(
        "diff", "--name-only", "--no-relative", "--no-renames", "-z", base.commit, head.commit, "--", *globs
    )
    # Printable: a name of bytes that are no UTF-8 cannot stand in a ledger.
    return [printable(name) for name in names.split("\0") if name]


def _named_files(command: Sequence[str], inside: str) -> set[str]:
    """Returns the paths in the repository that words of a command may name, modules of `python -m` among them."""
    paths = set()
    for word in command:
        for part in re.split("[=:]", word):
            paths.add(os.path.normpath(os.path.join(inside, part)))
            paths.add(os.path.normpath(os.path.join(inside, part.replace(".", "/") + ".py")))
    return paths
