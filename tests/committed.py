"""A repository whose commits have the loss of each seed in a file, which the command of a run prints."""

import json
import subprocess
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np
from harness import ablate, ablate_here

from ablate.analysis.level_of_tries import LevelLeft
from ablate.commits.stream import Answer, Sides, State, attempt

SEEDS = 200
PRINTED = ("sed", "-n", "s/^{seed} /loss: /p", "losses.txt")
"""The command of a run: it prints the line of its seed."""
KILL_DRIVER = "kill -KILL $(ps -o ppid= -p $PPID)"
"""A line of a shell that kills the process of ablate which runs it, the parent of its guard."""


def git(folder: Path, *words: str) -> str:
    return subprocess.run(
        ["git", *words], cwd=folder, capture_output=True, text=True, check=True
    ).stdout.strip()


class Repository:
    """In a folder, on its branch `main`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        git(folder, "init", "-q", "-b", "main")
        (folder / ".git/info/exclude").write_text("*.jsonl\nlocks/\nresults/\n")
        git(folder, "config", "user.name", "somebody")
        git(folder, "config", "user.email", "somebody@example.org")

    def commit(self, tag: str, **files: str) -> str:
        """A commit with these files, `name_ending` each; its tag."""
        for name, text in files.items():
            path = self.folder / ".".join(name.rsplit("_", 1))
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        git(self.folder, "add", "-A")
        git(self.folder, "commit", "-qm", tag)
        git(self.folder, "tag", tag)
        return tag

    def losses(self, tag: str, values: Iterable[float]) -> str:
        """A commit whose runs have these losses; NaN: they fail."""
        lines = [f"{seed} {value}\n" for seed, value in enumerate(values) if value == value]
        return self.commit(tag, losses_txt="".join(lines))

    def call(self, *words: object, fresh: bool = False):
        """`ablate WORDS -- …` with what is read; in a process of its own where it is killed or waits."""
        words = words if "--" in words else (*words, "--", *PRINTED)
        at = words.index("--")
        read = () if "--read" in words else ("--read", r"loss=^loss: (\S+)")
        call = ablate if fresh else ablate_here
        return call(*words[:at], *read, "--direction", "min", *words[at:], cwd=self.folder)

    def lines(self, name: str) -> list[dict]:
        """Those of a file of JSON lines."""
        return [json.loads(line) for line in (self.folder / name).read_text().splitlines()]

    @property
    def left_behind(self) -> bool:
        """Whether a work tree is left."""
        return len(git(self.folder, "worktree", "list").splitlines()) > 1


def drawn(seed: int, shift: float = 0.0) -> np.ndarray:
    """Losses whose standard deviation is 0.01."""
    return np.round(1.5 + shift + 0.01 * np.random.default_rng(seed).normal(size=SEEDS), 5)


def tried_alone(
    state: State,
    left: LevelLeft,
    screen: Callable[[int], float],
    run_both: Callable[[Sequence[int]], Sequence[Sequence[float]]],
    on_confirmation: Callable[[State], object] = lambda state: None,
) -> tuple[Answer, State, LevelLeft]:
    """What the rule says of a wave of one try, the state after it, and what is left of the level."""
    judged = attempt(
        state,
        left,
        1,
        screen=lambda seeds: [screen(seeds[0])],
        confirm=lambda seeds: {number: Sides(*run_both(own)) for number, own in seeds.items()},
        on_confirmations=lambda order, begun: on_confirmation(begun),
    )
    (answer,) = judged.answers
    assert answer is not None
    return answer, judged.state, judged.left
