"""Files of data that a part reads: found by their type, known by their content."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import PydanticCustomError, core_schema

FOLDER = "folder"  # The key of the validation context that holds the folder to which paths are relative.


class DataFile(str):
    """The absolute path of a file that a part reads, as a type of a field of its config.

        class Config(PartConfig):
            words: DataFile
            "Table of words."

    A study gives it relative to its own folder. The digest of the file is part of a trial's id, and its place is not:
    an edit of the file trains anew, a move does not.
    """

    written: str  # As the study gives it.

    def __new__(cls, path: str, written: str | None = None) -> DataFile:
        """Makes the file of a path, which is also how it was `written` unless that is given."""
        self = super().__new__(cls, path)
        self.written = path if written is None else written
        return self

    def __reduce__(self) -> tuple[type[DataFile], tuple[str, str]]:
        return DataFile, (str(self), self.written)

    @classmethod
    def __get_pydantic_core_schema__(
        cls, source: Any, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        def validate(value: Any, info: core_schema.ValidationInfo) -> DataFile:
            if isinstance(value, DataFile):
                return value
            if not isinstance(value, str):
                raise PydanticCustomError("string_type", "not text")
            path = os.path.abspath(Path((info.context or {}).get(FOLDER, "."), value))
            if "\0" in value or not os.path.isfile(path):
                rule = "must be a file that can be read" if os.path.lexists(path) else "does not exist"
                raise PydanticCustomError("rule", rule, {"allowed": "a path relative to the study"})
            return cls(path, value)

        return core_schema.with_info_plain_validator_function(
            validate, serialization=core_schema.plain_serializer_function_ser_schema(lambda path: path)
        )

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        return {"type": "string"}
