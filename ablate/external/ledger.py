"""What has been found so far, a JSON object a line: a file that a kill leaves whole and one process at a time holds."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ablate.base.errors import AblateError
from ablate.base.files import write_text
from ablate.base.locks import exclusive
from ablate.base.process import interruptible
from ablate.base.wording import counted


@dataclass(frozen=True)
class Ledger:
    """The lines of a file, in order."""

    path: Path
    lines: list[dict[str, Any]]

    @classmethod
    @contextmanager
    def held(cls, path: Path, say: Callable[[str], None]) -> Iterator[Ledger]:
        """That of a file, or an empty one; waits, and says so, while another process has it."""
        with exclusive(path.parent, path.name, say), interruptible():
            try:
                text = path.read_text() if path.exists() else ""
                ledger = cls(path, [dict(json.loads(line)) for line in text.splitlines()])
            except (OSError, ValueError, TypeError) as error:
                raise AblateError(f"{path}: is no ledger: {error}; name another file") from None
            try:
                yield ledger
            except KeyboardInterrupt:
                known = sum("value" in line for line in ledger.lines)
                raise KeyboardInterrupt(counted(known, "finished run")) from None

    def add(self, **line: Any) -> dict[str, Any]:
        """Writes a line, whole or not at all, and returns it."""
        self.lines.append(line)
        write_text(self.path, "".join(f"{json.dumps(each)}\n" for each in self.lines))
        return line
