"""The numbers that earlier attempts of a trial have reported, for an attempt that goes on where they ended.

The best epoch may lie before a kill, and so may most of a curve.
"""

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ablate.base.scratch import scratch
from ablate.external.reading import Reading
from ablate.external.undeclared import STEP


@dataclass(frozen=True)
class Attempts:
    """The numbers that a trial has printed and the files that it has written, over all of its attempts."""

    # The folder that lasts until the trial succeeds; None where each attempt begins anew.
    folder: Path | None = None

    @contextmanager
    def files(self) -> Iterator[str]:
        """Yields the folder to which the trial writes its numbers."""
        if self.folder is None:
            with scratch("trial") as place:
                yield place
            return
        place_of_all = self.folder / "files"
        place_of_all.mkdir(exist_ok=True)
        yield str(place_of_all)

    def restore(self, reading: Reading) -> None:
        """Gives a reading the numbers that earlier attempts printed."""
        if self.folder is None or not self._printed(self.folder).is_file():
            return
        for line in self._printed(self.folder).read_text().splitlines():
            try:
                name, step, value = json.loads(line)
            except ValueError:  # It is blank, or a kill has cut it.
                continue
            if name in reading.metrics:
                reading.values.setdefault(name, []).append((step, value))
                reading.matched |= {name, STEP}

    def append(self, reading: Reading, names: Iterable[str]) -> None:
        """Appends the number that each of these metrics has just got to those of all attempts."""
        if self.folder is None:
            return
        lines = [json.dumps([name, *reading.values[name][-1]]) for name in names]
        with self._printed(self.folder).open("a") as file:
            # The first newline ends a line that a kill has cut.
            file.write("".join(f"\n{line}\n" for line in lines))

    @staticmethod
    def _printed(folder: Path) -> Path:
        """Returns the file of the numbers that the trial has printed."""
        return folder / "printed.jsonl"
