"""The files of an export, which are known again: what a user has put or changed there is not written over."""

import json
from collections.abc import Mapping
from pathlib import Path

from ablate.base.errors import AblateError, listed
from ablate.base.files import NotReadableError, destination, digest_of, read_plain, write_text, write_whole
from ablate.external.kinds import EXPORT_DIGESTS

MAX_BYTES = 100_000_000  # Of a file that is compared.


def write_exported(
    out: Path, files: Mapping[str, str | bytes], study: str, *, overwrite: bool = False
) -> None:
    """Writes the files of an export of a study, name → content, into a folder; follows links.

    Raises `AblateError` before the first is written where a file is there that no export of this study has written, or
    that has changed since. `overwrite` writes over it.
    """
    contents: dict[str, bytes] = {}
    for name, content in files.items():
        contents[name] = content.encode() if isinstance(content, str) else content
    targets = {name: destination(out / name) for name in contents}
    recorded = _recorded_digests(out / EXPORT_DIGESTS)
    foreign: list[str] = []
    for name, target in targets.items():
        if target.exists() and not _is_ours(target, contents[name], recorded.get(name), study):
            foreign.append(name)
    if foreign and not overwrite:
        raise AblateError(
            f"{out}: these files are not as an export of {study} left them: {listed(foreign, 6)}; nothing was written. "
            "Name another folder with --out, or write over these files with --overwrite"
        )
    for name, target in targets.items():
        write_whole(target, contents[name])
    digests = {name: _digest(study, content) for name, content in contents.items()}
    write_text(out / EXPORT_DIGESTS, json.dumps(recorded | digests, indent=1, sort_keys=True) + "\n")


def _is_ours(file: Path, content: bytes, digest: object, study: str) -> bool:
    """Returns whether a file may be written over with a content: it has that already, or is as an export left it."""
    try:
        present = read_plain(file, MAX_BYTES)
    except NotReadableError:
        return False
    return present == content or _digest(study, present) == digest


def _digest(study: str, content: bytes) -> str:
    return digest_of(study.encode(), b"\0", content)


def _recorded_digests(file: Path) -> dict[str, object]:
    """Returns name → digest of the files that exports have left; none where that cannot be read."""
    try:
        digests = json.loads(read_plain(file, MAX_BYTES))
    except (NotReadableError, ValueError, RecursionError):
        return {}
    return digests if isinstance(digests, dict) else {}
