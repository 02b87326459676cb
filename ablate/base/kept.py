"""Files that this package has written and reads again: JSON of a strict schema, refused by file, line and field."""

import functools
import json
from pathlib import Path
from typing import Generic, TypeVar

from pydantic import ConfigDict, TypeAdapter, ValidationError

from ablate.base.errors import NOT_GIVEN, AblateError, Problem
from ablate.base.files import NotReadableError, digest_of_data, read_plain, write_text

STRICT = ConfigDict(extra="forbid", strict=True, defer_build=True)
"""The settings of every schema of kept files: no other fields, no other types. It is built when it is first used."""
FINITE = ConfigDict(**STRICT, allow_inf_nan=False)
"""The settings of a schema that allows finite numbers alone."""
MAX_BYTES = 2**30
"""The largest kept file that is read; the list of 100,000 trials takes a twentieth."""
_DIGEST = "digest"
_OF_UNION = ("missing", "union_tag_invalid", "union_tag_not_found")

OBJECT: TypeAdapter[dict[str, object]] = TypeAdapter(dict[str, object])
"""The schema of any JSON object."""

Content = TypeVar("Content")


def schema_of(kind: type[Content]) -> TypeAdapter[Content]:
    """Returns the schema of a class, which is built once."""
    # To mypy, a class is not hashable.
    return _schema_of(kind)  # type: ignore[arg-type]


@functools.cache
def _schema_of(kind: type[Content]) -> TypeAdapter[Content]:
    return TypeAdapter(kind)


def content_of(path: Path, remedy: str) -> bytes | None:
    """Returns the bytes of a kept file; None where there is none.

    Raises `AblateError`, with the `remedy`, for what is no plain file of at most `MAX_BYTES`.
    """
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError:
        pass  # What is wrong is said below.
    try:
        return read_plain(path, MAX_BYTES)
    except NotReadableError as error:
        raise AblateError(str(Problem(str(error), hint=remedy, source=str(path)))) from None


def validated(
    schema: TypeAdapter[Content], text: bytes, path: Path, remedy: str, line: int | None = None
) -> Content:
    """Returns what a kept JSON text says. Raises `AblateError` for the first field that its schema does not allow."""
    try:
        return schema.validate_json(text, strict=True)
    except ValidationError as error:
        raise AblateError(str(problem_of(error, path, remedy, line))) from None


def problem_of(error: ValidationError, path: Path | str, remedy: str, line: int | None = None) -> Problem:
    """Returns the first mistake in a file, named by its path or in words, that its schema does not allow."""
    first = error.errors(include_url=False)[0]
    given = NOT_GIVEN if first["type"] in (*_OF_UNION, "json_invalid") else first["input"]
    rule = first["msg"][0].lower() + first["msg"][1:]
    return Problem(rule, first["loc"], given, hint=remedy, line=line, source=str(path))


class Journal(Generic[Content]):
    """A file of JSON lines, each with a digest over itself and all lines before it.

    An edited, moved or inserted line is noticed, and so is a gap; lines missing at the end are not. The first lines may
    be of an older version, and have no digests. The digests tell of accidents, and are no signature.
    """

    def __init__(self, path: Path, schema: TypeAdapter[Content], remedy: str) -> None:
        """Reads the lines, none where there is no file. Raises `AblateError`, with the `remedy`.

        schema: of one line.
        remedy: what to do with a file that is refused.
        """
        self.path = path
        self.schema = schema
        self.remedy = remedy
        self.lines: list[Content] = []
        self._texts: list[str] = []
        self._chain = ""  # The digest of all lines.
        has_digests = False
        for number, text in enumerate((content_of(path, remedy) or b"").splitlines(), 1):
            data, digest = self._read(text, number)
            self._chain = digest_of_data([self._chain, data])
            may_lack_digest = digest is None and not has_digests
            if digest != self._chain and not may_lack_digest:
                rule = "does not fit its digest: this line, or one before it, was edited, moved or removed"
                raise AblateError(str(Problem(rule, hint=remedy, line=number, source=str(path))))
            has_digests = digest is not None
            self._texts.append(text.decode())

    def _read(self, text: bytes, number: int) -> tuple[dict[str, object], str | None]:
        """Keeps what a line says, and returns its data and its digest. Raises `AblateError`."""
        data = validated(OBJECT, text, self.path, self.remedy, number)
        digest = data.pop(_DIGEST, None)
        line = validated(self.schema, json.dumps(data).encode(), self.path, self.remedy, number)
        self.lines.append(line)
        return data, None if digest is None else str(digest)

    def add(self, *lines: Content) -> None:
        """Writes lines at the end; a kill leaves the file whole."""
        for line in lines:
            data = json.loads(self.schema.dump_json(line))
            self._chain = digest_of_data([self._chain, data])
            self.lines.append(line)
            self._texts.append(json.dumps({**data, _DIGEST: self._chain}))
        write_text(self.path, "".join(f"{text}\n" for text in self._texts))
