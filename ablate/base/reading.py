"""Files of the user: read only if plain and of a bounded size, since a pipe or a device may never end."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from ablate.base.wording import size

MISNAMED = (errno.ENAMETOOLONG, errno.ELOOP)
"""What the system says of a name that no file can have."""


def unreadable(path: Path, limit: int) -> str | None:
    """Why `path` is not read as a file of at most `limit` bytes, to follow its name; None where it can be."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return "does not exist"
    except ValueError:  # A NUL, or half of a surrogate pair.
        return "cannot be the name of a file"
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    if stat.S_ISDIR(found.st_mode):
        return "is a folder, not a file"
    if not stat.S_ISREG(found.st_mode):
        return "is a pipe, a socket or a device, not a file"
    if found.st_size > limit:
        return f"is too large: {size(found.st_size)}, and at most {size(limit)} are read"
    return None
