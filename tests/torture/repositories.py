"""A git repository of a user, whose commits hold a small script that trains nothing and notes each of its runs."""

import os
import re
import stat
import subprocess
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from random import Random

from .case import Place
from .process import Started
from .survivors import VARIABLE, survivors

GIT = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    **{f"GIT_{who}_NAME": "user" for who in ("AUTHOR", "COMMITTER")},
    **{f"GIT_{who}_EMAIL": "user@example.org" for who in ("AUTHOR", "COMMITTER")},
    **{f"GIT_{who}_DATE": "2026-01-01T00:00:00Z" for who in ("AUTHOR", "COMMITTER")},
}
SCRIPT = """\
#!/bin/sh
# Prints the number of a seed, which stands in values.txt, and notes when it begins and ends.
echo "begin {side} $1" >> '{ledger}'
sleep "${{TORTURE_PACE:-0}}"
value=$(sed -n "$(($1 + 1))p" values.txt)
{acts}
echo "loss $value"
{last}
echo "end {side} $1" >> '{ledger}'
"""
HARMLESS = {
    "output without a newline": "head -c 2000000 /dev/zero | tr '\\0' x; echo",
    "many lines": "yes 'step 1 of 2' | head -n 20000",
    "binary output": "head -c 3000 /bin/sh; echo",
    "control characters": "printf '\\033[2J\\007\\033]0;x\\007\\302\\233\\n'",
    "earlier numbers": "echo 'loss nan'; echo 'loss 7'",
    "carriage returns": "printf 'loss 9\\rloss 8\\r\\n'",
    "errors are printed": "echo 'warning: loss is high' >&2",
    "a child": "sleep 301.{mark} &",
    "a child of its own session": "setsid sleep 302.{mark} > /dev/null 2>&1 &",
    "a child without its variables": "env -i setsid sleep 303.{mark} > /dev/null 2>&1 &",
    "its own files are gone": "rm -rf ./* .git",
    "a fifo, a link and a folder beside it": "mkfifo fifo; ln -s / root; ln -s self self; mkdir -p a/b; chmod 0 a",
    "a branch is made": "git branch made-by-a-run 2>/dev/null; git tag made 2>/dev/null; true",
    "a commit is made": "echo 1 > new; git add new 2>/dev/null; git commit -qm new 2>/dev/null; true",
    "configured": "git config user.name somebody 2>/dev/null; git stash -q 2>/dev/null; true",
    "work trees are pruned": "git worktree prune 2>/dev/null; true",
}
"""What a run may do without being another run."""
FATAL = {
    "an exit code": "exit 3",
    "a signal": "kill -KILL $$",
    "terminated": "kill -TERM $$",
    "no number": "exit 0",
    "a word": "value=many",
    "infinite": "value=inf",
    "not a number": "value=nan",
    "too large": "value=1e999",
    "400 digits": "value=$(printf '9%.0s' $(seq 400))",
    "an empty value": "value=",
}
"""What a run does that has no number."""
DOUBTFUL = {
    "a folder as JSON": 'mkdir "$ABLATE_DIR/x.json"',
    "a fifo as JSON": 'mkfifo "$ABLATE_DIR/x.json"',
    "a link to itself as JSON": 'ln -s x.json "$ABLATE_DIR/x.json"',
    "a device as JSON": 'ln -s /dev/zero "$ABLATE_DIR/x.json"',
    "broken JSON": 'echo "{{" > "$ABLATE_DIR/x.json"',
    "nested JSON": "printf '[%.0s' $(seq 20000) > \"$ABLATE_DIR/x.json\"",
    "a large number as JSON": 'echo \'{{"step": 1e999, "loss": 3}}\' > "$ABLATE_DIR/x.jsonl"',
    "binary JSON": 'head -c 100 /bin/sh > "$ABLATE_DIR/x.json"',
    "its folder is gone": 'rm -rf "$ABLATE_DIR"',
}
"""What a run does that has a number, and more of which a number could be read."""

ODDITIES: Mapping[str, Callable[[int], bool]] = {
    "fifo": stat.S_ISFIFO,
    "self": stat.S_ISLNK,
    "data": stat.S_ISDIR,
    "device": stat.S_ISCHR,
}
"""What lies in a work tree and is no plain file."""


@dataclass
class Repository:
    """The repository of one case, and the file in which its runs note that they begin and end."""

    place: Place
    mark: str
    "Of all processes that runs of this repository start."
    acts: list[str] = field(default_factory=list)
    "What its runs do beside printing a number."

    @property
    def path(self) -> Path:
        """The work tree of the user."""
        return self.place.path / "repository"

    @property
    def ledger(self) -> Path:
        """The file in which runs note that they begin and end."""
        return self.place.path / "ran.txt"

    def git(self, *words: str) -> str:
        """What git prints in the work tree of the user."""
        environment = {**os.environ, **GIT}
        return subprocess.run(
            ["git", *words], cwd=self.path, env=environment, capture_output=True, text=True, check=True
        ).stdout

    @cached_property
    def begun(self) -> str:
        """Makes the repository; its folder."""
        self.path.mkdir()
        self.git("init", "-q", "-b", "main")
        (self.path / ".gitignore").write_text("tries*\nresults\nother\n.*.lock\n*.lock\n")
        return str(self.path)

    def commit(self, side: str, values: Sequence[str], act: str = "", seed: int | None = None) -> None:
        """Adds a commit with a script that prints these values by seed, and does `act`, under one seed or all."""
        assert self.begun
        text = act.replace("{mark}", self.mark).replace("{{", "{").replace("}}", "}")
        if text and seed is not None:
            text = f'if [ "$1" = {seed} ]; then\n{text}\nfi'
        # What has removed its files cannot look a number up any more; what has ended prints none.
        script = SCRIPT.format(side=side, ledger=self.ledger, acts=text, last="")
        (self.path / "train.sh").write_text(script)
        (self.path / "values.txt").write_text("\n".join(values) + "\n")
        self.git("add", "-A")
        self.git("commit", "-qm", side)
        self.git("branch", side)

    def add_oddities(self) -> None:
        """Makes what is no plain file and what git ignores: never a device of the machine, which could be replaced."""
        with (self.path / ".git" / "info" / "exclude").open("a") as file:
            file.write("".join(f"{name}\n" for name in ODDITIES))
        os.mkfifo(self.path / "fifo")
        (self.path / "self").symlink_to("self")
        (self.path / "data").mkdir()
        (self.path / "data" / "x").write_text("1")
        with suppress(PermissionError):
            os.mknod(self.path / "device", stat.S_IFCHR | 0o600, os.makedev(1, 3))

    def look_at_oddities(self) -> None:
        """Notes what of them was written over."""
        for name, is_kind in ODDITIES.items():
            mode = (self.path / name).lstat().st_mode if os.path.lexists(self.path / name) else 0
            if not is_kind(mode) and (mode or name != "device"):
                self.place.violation(f"{name} was written over")

    def state(self) -> str:
        """All that a command may not change: files, index, HEAD, refs, configuration; not work trees."""
        words = (
            ("status", "--porcelain=v2", "--branch"),
            ("for-each-ref",),
            ("config", "--local", "--list"),
            ("stash", "list"),
        )
        return "\n".join(self.git(*each) for each in words)

    def work_trees(self) -> int:
        """The number of registered work trees beside the user's."""
        return self.git("worktree", "list", "--porcelain").count("worktree ") - 1

    def start(self, *arguments: object, pace: float = 0.0, cold: bool = False) -> Started:
        """Starts `ablate` in the work tree, with runs that take `pace` seconds."""
        return self.place.start(
            *arguments, cwd=self.path, cold=cold, environment=self.environment(pace) | GIT
        )

    def environment(self, pace: float) -> Mapping[str, str]:
        """The variables of a call."""
        return {"TORTURE_PACE": f"{pace:g}", VARIABLE: self.mark}

    def counted(self, word: str) -> Counter[tuple[str, int]]:
        """How often each (side, seed) has begun, or ended."""
        text = self.ledger.read_text() if self.ledger.exists() else ""
        found = re.findall(rf"^{word} (\S+) (\d+)$", text, re.MULTILINE)
        return Counter((side, int(seed)) for side, seed in found)

    def look(self, before: str, when: str) -> None:
        """Notes what a command has left that it should not: changes, work trees, processes."""
        if (now := self.state()) != before:
            lines = sorted({*before.splitlines()} ^ {*now.splitlines()})
            self.place.violation(f"{when}: the user's repository is another: {lines!r:.300}")
        if count := self.work_trees():
            self.place.violation(f"{when}: {count} work trees stay registered")
        self.look_for_survivors(when)

    def look_for_survivors(self, when: str) -> None:
        """Notes the processes that outlive a command."""
        if left := survivors(self.mark):
            self.place.violation(f"{when}: {len(left)} processes survive: {left[0][:100]!r}")


def act_of(rng: Random, kinds: Mapping[str, str]) -> tuple[str, str]:
    """A name and what a run does."""
    name = rng.choice(sorted(kinds))
    return name, kinds[name]


def mark_of(rng: Random) -> str:
    """Digits that no other case has, which can stand after a decimal point."""
    return str(rng.randrange(10**14, 10**15))


def normals(rng: Random, count: int, mean: float, spread: float) -> list[str]:
    """Numbers as programs print them: all in one of several ways."""
    write = rng.choice((repr, "{:.6f}".format, "{:.9e}".format, "{:+.7f}".format))
    return [write(rng.gauss(mean, spread)) for _ in range(count)]
